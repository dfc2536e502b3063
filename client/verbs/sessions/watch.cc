#include "client/verbs/sessions/watch.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "base/join.h"
#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/user_presets.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/entities.h"

namespace profd::client {

using base::Code;
using base::Status;

namespace {

Status DevicesAreThere(const std::vector<std::string>& wanted, ControlClient& control) {
  if (wanted.empty()) return {};
  PROFD_ASSIGN_OR_RETURN(const v1::DevicesReply reply, control.Devices().Now());
  std::vector<uint32_t> known;
  for (const v1::Device& device : reply.devices()) known.push_back(device.device());
  for (const std::string& text : wanted) {
    PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(text));
    for (const uint32_t device : list.devices) {
      if (std::ranges::count(known, device) > 0) continue;
      const std::string there = known.empty() ? "no devices" : "devices " + base::Joined(known, ",");
      return {Code::kNotFound, "device " + std::to_string(device) + " does not exist: this node has " +
                                   there + "; check --devices"};
    }
  }
  return {};
}

Status ProcessesAreThere(const std::vector<std::string>& wanted, ControlClient& control) {
  if (wanted.empty()) return {};
  PROFD_ASSIGN_OR_RETURN(const v1::TargetsReply reply, control.Targets().Now());
  for (const std::string& text : wanted) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> pids, ParsePids(text));
    for (const int32_t pid : pids) {
      const bool has_agent = std::ranges::any_of(reply.targets(), [pid](const v1::Target& target) {
        return target.pid() == pid && !target.agent_version().empty();
      });
      if (has_agent) continue;
      return {Code::kNotFound,
              "process " + std::to_string(pid) +
                  " has no live values: only processes with an agent have; profctl targets shows them"};
    }
  }
  return {};
}

}  // namespace

Status AreThere(const std::vector<std::string>& devices, const std::vector<std::string>& pids,
                ControlClient& control) {
  PROFD_RETURN_IF_ERROR(DevicesAreThere(devices, control));
  return ProcessesAreThere(pids, control);
}

namespace {

struct Options {
  std::vector<std::string> kinds;
  std::string interval, since;
  std::string count;
  std::vector<std::string> devices, pids;
};

constexpr size_t kMostSets = 1'000'000'000;
constexpr uint64_t kFirstSets = 2;  // rates need two readings

// 0 of none.
base::Result<uint32_t> Milliseconds(std::string_view option, const std::string& text) {
  if (text.empty()) return uint32_t{0};
  PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs(option, text));
  return static_cast<uint32_t>(ns / 1'000'000);  // 30 days at most
}

base::Result<v1::LiveRequest> Request(const Options& options) {
  v1::LiveRequest request;
  for (const std::string& words : options.kinds) {
    // "hbm,pcie" is hbm and pcie, as behind --collect.
    for (size_t at = 0; at <= words.size();) {
      const size_t end = std::min(words.find(',', at), words.size());
      const std::string word = words.substr(at, end - at);
      PROFD_ASSIGN_OR_RETURN(const std::vector<v1::KindRequest> of_preset, KindsOfUserPreset(word));
      for (const v1::KindRequest& kind : of_preset) request.add_kinds(kind.kind());
      if (of_preset.empty()) request.add_kinds(word);
      at = end + 1;
    }
  }
  PROFD_ASSIGN_OR_RETURN(const uint32_t period_ms, Milliseconds("--interval", options.interval));
  PROFD_ASSIGN_OR_RETURN(const uint32_t since_ms, Milliseconds("--since", options.since));
  request.set_period_ms(period_ms);
  request.set_since_ms(since_ms);
  return request;
}

ExitCode Run(const Context& context, const Options& options) {
  const base::Result<v1::LiveRequest> request = Request(options);
  if (!request.ok()) return context.Fail(request.status());
  const base::Result<Entities> entities = Entities::Parse(options.devices, options.pids);
  if (!entities.ok()) return context.Fail(entities.status());
  uint64_t count = 0;  // 0 = without end
  if (!options.count.empty()) {
    const auto given = ParseCount("--count", options.count, kMostSets);
    if (!given.ok()) return context.Fail(given.status());
    count = *given;
  }
  base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  if (const base::Status there = AreThere(options.devices, options.pids, *connection->control); !there.ok())
    return context.Fail(there);
  uint64_t sets = 0;
  std::set<std::string> had;
  const base::Status status = connection->control->Live(*request, [&](const v1::LiveValues& all) {
    const v1::LiveValues values = entities->Only(all);
    context.Print(context.json ? LiveJson(values) : RenderLive(values, OwnLook()));
    // A reader that has gone (`| head`) ends it.
    if (std::fflush(stdout) != 0) return false;
    for (const v1::LiveMetric& metric : values.metrics()) had.insert(metric.kind());
    if (++sets == (count == 1 ? 1 : kFirstSets)) {
      for (const v1::LiveLack& lack : values.lacks()) {
        if (!had.contains(lack.kind())) context.Note(lack.kind() + ": no values yet: " + lack.text());
      }
    }
    return sets != count;
  });
  return status.ok() ? ExitCode::kOk : context.Fail(status);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.List("kinds", &options->kinds,
                 "KIND…: hbm, device, host-cpu, process, profd …, or a --user-preset; default all");
  arguments.Text("--interval", &options->interval,
                 "time between two sets of values, e.g. 5s or 200ms; default profd's");
  arguments.Text("--since", &options->since,
                 "first print the values that profd still has of this time, e.g. 30s (live.history_s)");
  arguments.Text("--count", &options->count,
                 "end after so many sets of values; without it, run until Ctrl-C");
  arguments.List("--devices", &options->devices, "only values of these devices: 0,1");
  arguments.List("--pid", &options->pids, "only values of these processes: N,…");
  return {.run = [options](const Context& context) { return Run(context, *options); },
          .against_many =
              [options] { return options->count.empty() ? "watch: with --hosts it needs --count" : ""; }};
}

}  // namespace

namespace verbs {
Verb Watch() {
  return {"watch", "live values of devices, host, processes and profd", Reach::kStreams, Define};
}
}  // namespace verbs

}  // namespace profd::client
