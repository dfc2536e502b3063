// What a verb takes: the door to the parser of command lines, whose header no verb needs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace profd::cli {

// One option of a verb. **Owns:** nothing: it is the parser's.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}
  Argument& Required();
  Argument& Joined();                           // given several times means the same as once with commas
  Argument& OneEach();                          // of a list: what follows its value is no other
  Argument& Newest();                           // given several times the last one counts
  Argument& MayBeBare(const char* is_then);     // "--wait-lease" is "--wait-lease=24h"
  Argument& InGroup(const std::string& group);  // under a heading of its own in --help; "" = not shown
  bool IsGiven() const;

 private:
  CLI::Option* option_;
};

// The options of one verb. Values must outlive the parser; a name without dashes is one by its place.
class Arguments {
 public:
  explicit Arguments(CLI::App* verb) : verb_(verb) {}

  Argument Text(const std::string& name, std::string* value, const std::string& what);
  Argument List(const std::string& name, std::vector<std::string>* values, const std::string& what);
  Argument Number(const std::string& name, uint64_t* value, const std::string& what);
  Argument Flag(const std::string& name, bool* value, const std::string& what);
  // `take` gets the value.
  Argument Each(const std::string& name, const std::function<void(const std::string&)>& take,
                const std::string& what);
  // Shows the help instead of running the verb, once `before` is done.
  void HelpFlag(const std::string& name, std::function<void()> before, const std::string& what);

  // Verbs of this verb, of which one must be given.
  Arguments Sub(const std::string& name, const std::string& what);
  bool IsGiven() const;
  // Moves an option to another group of --help.
  void Regroup(const std::string& name, const std::string& group);
  void Hide();  // in no list of verbs
  const CLI::App& program() const;

 private:
  CLI::App* verb_;
};

}  // namespace profd::cli
