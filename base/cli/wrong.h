// What a command line has wrong, for people.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace profd::cli {

// In the parser's words, but for what these do not say well. `app` has tried to parse it.
std::string WhatIsWrong(const CLI::App& app, const CLI::ParseError& error);

}  // namespace profd::cli
