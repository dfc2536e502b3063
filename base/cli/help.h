// How --help looks: CLI11's lines are as long as what is said in them.
#pragma once

#include <CLI/CLI.hpp>

namespace profd::cli {

// --help of `app` and of every verb that it has by then fits the terminal; 80 columns where there is none.
void FitHelp(CLI::App& app);

}  // namespace profd::cli
