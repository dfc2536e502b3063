#include <cstdlib>
#include <filesystem>

#include "client/node/authority.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Result;

struct Options {
  std::string folder;
  std::string name = "profd authority";
  std::vector<std::string> names;
  std::string client;
  std::string days;
};

constexpr unsigned kAuthorityDays = 3650, kOthersDays = 365;
constexpr size_t kMostDays = 36'500;

Result<std::string> FolderOf(const Options& options) {
  if (!options.folder.empty()) return std::filesystem::absolute(options.folder).lexically_normal().string();
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    return base::Status(base::Code::kInvalidArgument, "there is no HOME: say with --dir where the files are");
  return std::string(home) + "/.config/profd/tls";
}

Result<unsigned> DaysOf(const Options& options, unsigned usual) {
  if (options.days.empty()) return usual;
  PROFD_ASSIGN_OR_RETURN(const size_t days, ParseCount("--days", options.days, kMostDays));
  return static_cast<unsigned>(days);
}

std::string Made(const Issued& files) {
  return "made " + OneLine(files.certificate) + "\nmade " + OneLine(files.key) + " (keep it to yourself)\n";
}

ExitCode Init(const Context& context, const Options& options) {
  const Result<std::string> folder = FolderOf(options);
  if (!folder.ok()) return context.Fail(folder.status());
  const Result<unsigned> days = DaysOf(options, kAuthorityDays);
  if (!days.ok()) return context.Fail(days.status());
  const Result<Issued> made = MakeAuthority(*folder, options.name, *days);
  if (!made.ok()) return context.Fail(made.status());
  context.Print(Made(*made) + "next: profctl tls node HOSTNAME, profctl tls client YOURNAME\n");
  return ExitCode::kOk;
}

ExitCode IssueFor(const Context& context, const Options& options, Purpose purpose) {
  const Result<std::string> folder = FolderOf(options);
  if (!folder.ok()) return context.Fail(folder.status());
  const Result<unsigned> days = DaysOf(options, kOthersDays);
  if (!days.ok()) return context.Fail(days.status());
  const bool is_node = purpose == Purpose::kNode;
  const Result<Issued> made =
      Issue(*folder, purpose, is_node ? options.names : std::vector{options.client}, *days);
  if (!made.ok()) {
    const std::string missing = *folder + "/ca.pem";
    if (!std::filesystem::exists(missing)) {
      return context.Fail(
          {base::Code::kNotFound, missing + ": there is no authority yet; profctl tls init makes one"});
    }
    return context.Fail(made.status());
  }
  const std::string ca = OneLine(*folder + "/ca.pem");
  context.Print(Made(*made));
  if (is_node) {
    context.Print("copy them and " + ca +
                  " to /etc/profd/tls/ of the node; in its profd.yaml:\n"
                  "  remote:\n"
                  "    listen: \"0.0.0.0:9478\"\n"
                  "    cert: \"/etc/profd/tls/" +
                  options.names.front() +
                  ".pem\"\n"
                  "    key: \"/etc/profd/tls/" +
                  options.names.front() +
                  ".key\"\n"
                  "    client_ca: \"/etc/profd/tls/ca.pem\"\n"
                  "    operators: \"NAMES OF CLIENTS\"\n");
  } else {
    context.Print(
        "whoever has these files puts into ~/.config/profd/profctl.conf:\n"
        "  tls-ca = \"" +
        ca +
        "\"\n"
        "  tls-cert = \"" +
        OneLine(made->certificate) +
        "\"\n"
        "  tls-key = \"" +
        OneLine(made->key) +
        "\"\n"
        "nodes accept it when their profd.yaml has " +
        OneLine(options.client) + " in remote.viewers, operators, admins or users\n");
  }
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  cli::Arguments init = arguments.Sub("init", "make an authority: ca.pem and ca.key");
  init.Text("--name", &options->name, "what it is called");
  cli::Arguments node = arguments.Sub("node", "make a certificate for a node's profd");
  node.List("NAME", &options->names, "its host names and addresses: all that callers connect to").Required();
  cli::Arguments client = arguments.Sub("client", "make a certificate for one who asks");
  client.Text("NAME", &options->client, "what nodes know the caller by").Required();
  for (cli::Arguments* of : {&init, &node, &client}) {
    of->Text("--dir", &options->folder, "where the files are; default ~/.config/profd/tls");
    of->Text("--days", &options->days, "how long it holds; default 3650 for the authority, 365 for others");
  }
  return {.run = [options, init, node](const Context& context) {
    if (init.IsGiven()) return Init(context, *options);
    return IssueFor(context, *options, node.IsGiven() ? Purpose::kNode : Purpose::kClient);
  }};
}

}  // namespace

namespace verbs {
Verb Tls() {
  return {"tls", "make certificates for profctl and profd to meet over the network", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
