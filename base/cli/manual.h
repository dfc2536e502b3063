// What a program's command line says about itself, for man(1) and for shells: made from the definition that
// parses it, so that they cannot differ. CLI11 writes help only; help2man would guess them out of that text.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace profd::cli {

struct ManText {
  int section = 1;
  std::string version;
  std::string description;  // paragraphs, one a line
  std::string files;        // "path<TAB>what it is", one a line
  std::string see_also;     // "profd.yaml(5), profctl(1)"
};

// A page in man(7): every option, every verb with its own.
std::string ManPage(const CLI::App& app, const ManText& text);

// A script that completes verbs and options; files elsewhere. "" for a shell that is neither bash nor zsh.
std::string Completion(const CLI::App& app, std::string_view shell);

}  // namespace profd::cli
