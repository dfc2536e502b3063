// What the driver of this node does, as evidence for others.
#include "client/hardware/capture_file.h"
#include "client/node/connection.h"
#include "client/verbs/node/device_choice.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

struct Options {
  std::string output;
  DeviceChoice choice;
  bool keep = false, dry_run = false, without_processes = false;
};

// Of what it may take, the calls' share: they are written as text.
constexpr uint64_t kMostCalls = kMostCaptureBytes / 5 * 4;

std::string Listed(const std::vector<CaptureMember>& members) {
  std::string text = "in it:\n";
  for (const CaptureMember& member : members) {
    text += "  " + member.name + "  " + FormatBytes(static_cast<double>(member.bytes.size())) + "  " +
            member.what + "\n";
  }
  return text;
}

ExitCode Run(const Context& context, const Options& options) {
  if (!context.host.empty()) {
    return context.Fail({Code::kInvalidArgument,
                         "capture: not with --host: it tells of the machine that it runs on; run it there"});
  }
  if (options.output.empty() && !options.dry_run) {
    return context.Fail({Code::kInvalidArgument, "capture: name the file with -o, or say --dry-run"});
  }
  const Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  ControlClient& control = *connection->control;
  const Result<ChosenDevices> chosen = Choose(control, options.choice).Now();
  if (!chosen.ok()) return context.Fail(chosen.status());
  const Result<NodeEvidence> heard =
      Hear(control, chosen->devices,
           {.for_ns = chosen->for_ns,
            .most_bytes = kMostCalls / chosen->devices.size(),
            .keeps_sessions = options.keep,
            .with_processes = !options.without_processes,
            .says = [&context](const std::string& line) { context.Note(line); }})
          .Now();
  if (!heard.ok()) return context.Fail(heard.status());
  Scrubber scrubber = Scrubber::OfThisMachine();
  const std::vector<CaptureMember> members = MakeCapture(*heard, ReadNodeFacts(), &scrubber);
  const uint64_t bytes = SizeOf(members);
  context.Print(Listed(members));
  context.Print(
      "names of this machine, its users and addresses: " +
      std::string(scrubber.places() == 0 ? "none in it" : std::to_string(scrubber.places()) + " taken out") +
      "\n");
  if (bytes > kMostCaptureBytes) {
    return context.Fail(
        {Code::kResourceExhausted,
         "that is " + FormatBytes(static_cast<double>(bytes)) + ", more than the " +
             FormatBytes(static_cast<double>(kMostCaptureBytes)) +
             " that a capture may have: take fewer devices (--devices) or less time (--for)"});
  }
  if (options.dry_run) return ExitCode::kOk;
  if (const Status written = WriteCapture(options.output, members); !written.ok())
    return context.Fail(written);
  context.Print(options.output + "  " + FormatBytes(static_cast<double>(bytes)) + "\n");
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("-o,--output", &options->output, "the file; none of that name may be there");
  DefineDeviceChoice(arguments, &options->choice);
  arguments.Flag("--keep", &options->keep, "with --hardware: keep its sessions in profd's spool");
  arguments.Flag("--without-processes", &options->without_processes,
                 "leave out what names the processes of the device's own system");
  arguments.Flag("--dry-run", &options->dry_run, "only say what would be in it");
  return {.run = [options](const Context& context) { return Run(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Capture() {
  return {"capture", "record what the driver does and delivers, as evidence in a file", Reach::kOneNode,
          Define};
}
}  // namespace verbs

}  // namespace profd::client
