#include "base/cli/manual.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

Action Define(cli::Arguments arguments) {
  const auto shell = std::make_shared<std::string>();
  arguments.Hide();
  arguments.Text("shell", shell.get(), "bash or zsh").Required();
  return {.run = [shell, arguments](const Context& context) {
    const std::string script = cli::Completion(arguments.program(), *shell);
    if (script.empty())
      return context.Fail({base::Code::kInvalidArgument,
                           "completion '" + *shell + "': expected bash or zsh; see profctl --help"});
    context.Print(script);
    return ExitCode::kOk;
  }};
}

}  // namespace

namespace verbs {
Verb Completion() {
  return {"completion", "print what completes command lines in a shell", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
