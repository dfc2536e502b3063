#include "cli/wrong.h"

#include <string_view>

namespace profd::cli {

std::string WhatIsWrong(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (!text.starts_with('-')) return text;
  const std::string name = text.substr(0, text.find(':'));
  const std::string_view what = std::string_view(text).substr(name.size());
  if (what.starts_with(": At Most 1 required but received ")) {
    return name + ": given " + text.substr(text.rfind(' ') + 1) + " times, takes one value";
  }
  if (!what.ends_with(" missing")) return text;  // ": 1 required TEXT missing"
  const CLI::Option* option = nullptr;
  for (const CLI::App* verb = &app; verb != nullptr && option == nullptr;) {
    option = verb->get_option_no_throw(name);
    const auto inner = verb->get_subcommands();
    verb = inner.empty() ? nullptr : inner.front();
  }
  const std::string about = option == nullptr ? "" : " (" + option->get_description() + ")";
  return name + ": its value is missing" + about;
}

}  // namespace profd::cli
