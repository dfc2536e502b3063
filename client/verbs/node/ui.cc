#include "client/show/interrupt.h"
#include "client/ui/answers.h"
#include "client/ui/server.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

constexpr uint64_t kMostPort = 65535;

ExitCode Run(const Context& context, uint64_t port) {
  if (!context.host.empty()) {
    return context.Fail(
        {base::Code::kInvalidArgument,
         "ui: shows this node: run it there, and reach it with ssh -L (profctl ui says how)"});
  }
  if (port > kMostPort)
    return context.Fail({base::Code::kInvalidArgument, "--port: expected 1 to 65535, or 0 for any"});
  ui::Answers answers(context);
  const auto server = ui::Server::Listen(
      static_cast<uint16_t>(port), [&answers](const ui::Question& question) { return answers.To(question); });
  if (!server.ok()) return context.Fail(server.status());
  const InterruptWatch interrupts([&server](int) { (*server)->Stop(); });  // before gRPC's threads
  if (const base::Result<Connection> there = Connect(context); !there.ok())
    return context.Fail(there.status());
  const std::string number = std::to_string((*server)->port());
  context.Print((*server)->address() +
                "\nThis address is as good as your login: keep it to yourself. Ctrl-C ends the page.\n"
                "No browser on this node? On your own machine:\n"
                "  ssh -L " +
                number + ":127.0.0.1:" + number +
                " THIS-NODE\n"
                "and open the same address there.\n");
  std::fflush(stdout);
  (*server)->Run();
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto port = std::make_shared<uint64_t>(0);
  arguments.Number("--port", port.get(), "of 127.0.0.1; default one that is free");
  return {.run = [port](const Context& context) { return Run(context, *port); }};
}

}  // namespace

namespace verbs {
Verb Ui() {
  return {"ui", "a page in your browser: sessions with findings, live values, start and stop",
          Reach::kOneNode, Define};
}
}  // namespace verbs

}  // namespace profd::client
