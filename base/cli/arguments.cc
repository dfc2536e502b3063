#include "base/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace profd::cli {

Argument& Argument::Required() {
  option_->required();
  return *this;
}
Argument& Argument::Joined() {
  option_->join(',');
  return *this;
}
Argument& Argument::OneEach() {
  option_->allow_extra_args(false);
  return *this;
}
Argument& Argument::Newest() {
  option_->take_last();
  return *this;
}
Argument& Argument::MayBeBare(const char* is_then) {
  option_->expected(0, 1)->default_str(is_then);
  return *this;
}
Argument& Argument::InGroup(const std::string& group) {
  option_->group(group);
  return *this;
}
bool Argument::IsGiven() const { return option_->count() > 0; }

Argument Arguments::Text(const std::string& name, std::string* value, const std::string& what) {
  return Argument(verb_->add_option(name, *value, what));
}
Argument Arguments::List(const std::string& name, std::vector<std::string>* values, const std::string& what) {
  return Argument(verb_->add_option(name, *values, what));
}
Argument Arguments::Number(const std::string& name, uint64_t* value, const std::string& what) {
  return Argument(verb_->add_option(name, *value, what));
}
Argument Arguments::Flag(const std::string& name, bool* value, const std::string& what) {
  return Argument(verb_->add_flag(name, *value, what));
}
Argument Arguments::Each(const std::string& name, const std::function<void(const std::string&)>& take,
                         const std::string& what) {
  return Argument(verb_->add_option_function<std::string>(name, take, what));
}
void Arguments::HelpFlag(const std::string& name, std::function<void()> before, const std::string& what) {
  verb_->add_flag_callback(
      name,
      [before = std::move(before)] {
        before();
        throw CLI::CallForHelp();
      },
      what);
}

Arguments Arguments::Sub(const std::string& name, const std::string& what) {
  verb_->require_subcommand(1);
  return Arguments(verb_->add_subcommand(name, what));
}
bool Arguments::IsGiven() const { return verb_->parsed(); }
void Arguments::Regroup(const std::string& name, const std::string& group) {
  if (CLI::Option* option = verb_->get_option_no_throw(name)) option->group(group);
}
void Arguments::Hide() { verb_->group(""); }
const CLI::App& Arguments::program() const { return *verb_->get_parent(); }

}  // namespace profd::cli
