// What a program's command line says about itself, for man(1) and for shells: made from the definition that
// parses it, so that they cannot differ. CLI11 writes help only; help2man would guess them out of that text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// What a program itself says about values: `PROGRAM completion values WHAT` prints them, a word a line.
struct Completed {
  std::string where;  // an option that they belong to, or the name of a word by its place
  std::string what;
  bool list = false;   // joined by commas
  bool files = false;  // or a file
};

// A script that completes verbs, options and the values of `values`; files elsewhere. "" for a shell that is
// neither bash nor zsh.
std::string Completion(const CLI::App& app, std::string_view shell, const std::vector<Completed>& values);

}  // namespace profd::cli
