#include "daemon/session/node/doctor.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <utility>

#include "base/join.h"
#include "base/status.h"
#include "daemon/auth/tickets.h"
#include "daemon/session/node/node_report.h"
#include "format/directory/rows_file.h"

namespace profd::session {

using auth::Action;
using base::Status;
using Outcome = Check::Outcome;

namespace {

constexpr size_t kMostCollectors = 5;  // named: programs, and processes of each

// "a, b, c, d, e and 21 more"
std::string FirstOf(const std::vector<std::string>& texts) {
  std::string text;
  for (size_t i = 0; i < std::min(texts.size(), kMostCollectors); ++i)
    text += (i == 0 ? "" : ", ") + texts[i];
  if (texts.size() > kMostCollectors)
    text += " and " + std::to_string(texts.size() - kMostCollectors) + " more";
  return text;
}

// The driver library and the devices.
std::vector<Check> CheckLibrary(const Node& node) {
  const driver::Driver* driver = node.driver();
  if (driver == nullptr) {
    return {{"driver library", Outcome::kWarn, node.library_error(),
             "on a node with NPUs install the driver, or name the library: profd --hal PATH; without it host "
             "kinds only"}};
  }
  std::vector<Check> checks;
  char version[32];
  std::snprintf(version, sizeof version, ", API 0x%06x", driver->api_version());
  checks.push_back({"driver library", Outcome::kOk, driver->path() + version, ""});
  const std::vector<std::string> missing = driver->missing_symbols();
  checks.push_back({"symbols", missing.empty() ? Outcome::kOk : Outcome::kWarn,
                    missing.empty() ? "all there" : "missing: " + base::Joined(missing),
                    missing.empty() ? "" : "an older driver; what needs them is skipped"});
  if (node.devices().empty()) {
    checks.push_back({"devices", Outcome::kBroken,
                      node.library_error().empty() ? "the driver lists no device" : node.library_error(),
                      "check `npu-smi info`, the permissions of /dev/davinci* and the driver's log"});
  }
  for (const driver::DeviceFacts& device : node.devices()) {
    const bool works = device.status == 1 && device.error.empty();
    size_t kinds = 0;
    for (const KindOffer& offer : DeviceKinds(device, driver->api_version()))
      kinds += offer.available ? 1 : 0;
    checks.push_back({"device " + std::to_string(device.id), works ? Outcome::kOk : Outcome::kBroken,
                      device.chip_name + ", " + std::to_string(kinds) + " kinds" +
                          (works ? "" : ", status " + std::to_string(device.status) + " " + device.error),
                      works ? "" : "the device does not work (1 = working, 4 = lost): see the driver's log"});
  }
  return checks;
}

Check CheckRights(const auth::Caller& caller) {
  const Status device_kinds = auth::May(caller, Action::kCollectDevice);
  if (device_kinds.ok()) return {"rights", Outcome::kOk, caller.user + " may collect every kind", ""};
  const std::string leased = base::Joined(caller.leased);
  return {"rights", Outcome::kWarn,
          leased.empty() ? device_kinds.message() : "leased to " + caller.user + ": device " + leased,
          "ask root, or collect host kinds of your own processes"};
}

Check CheckAgents(const agent::Registry::Counts& agents) {
  const bool room = agents.turned_away == 0;
  return {
      "agents", room ? Outcome::kOk : Outcome::kWarn,
      std::to_string(agents.seats) + " of at most " + std::to_string(agents.max_seats) +
          " processes with an agent" +
          (room ? ""
                : ", turned away " + std::to_string(agents.turned_away) + " times because there was no room"),
      room ? "" : "raise agent.max_agents or agent.max_agents_per_user in profd's settings"};
}

}  // namespace

std::string Describe(const auth::Caller& caller, const host::Collector& collector) {
  std::string text = collector.name + " of user " + auth::UserName(collector.uid);
  if (auth::May(caller, Action::kSeeProcess, {.owner = collector.uid}).ok())
    text += " (pid " + std::to_string(collector.pid) + ")";
  return text;
}

std::string OtherCollectors(const auth::Caller& caller) {
  std::map<std::pair<std::string, uid_t>, std::vector<pid_t>> programs;
  for (const host::Collector& collector : host::FindCollectors())
    programs[{collector.name, collector.uid}].push_back(collector.pid);
  std::vector<std::string> texts;
  for (const auto& [program, pids] : programs) {
    std::string text = program.first + " of user " + auth::UserName(program.second);
    if (auth::May(caller, Action::kSeeProcess, {.owner = program.second}).ok()) {
      std::vector<std::string> numbers;
      for (const pid_t pid : pids) numbers.push_back(std::to_string(pid));
      text += (pids.size() == 1 ? " (pid " : " (pids ") + FirstOf(numbers) + ")";
    } else if (pids.size() > 1) {
      text += " (" + std::to_string(pids.size()) + " processes)";
    }
    texts.push_back(std::move(text));
  }
  return FirstOf(texts);
}

namespace {

Check CheckCollectors(const auth::Caller& caller) {
  const std::string others = OtherCollectors(caller);
  return {"other collectors", others.empty() ? Outcome::kOk : Outcome::kWarn,
          others.empty() ? "none known" : others,
          others.empty() ? ""
                         : "a channel that another one holds is refused (-10): stop it, or wait for it with "
                           "profctl start --wait-lease"};
}

Check CheckHostKinds() {
  std::vector<KindOffer> kinds = HostKinds();
  CheckOffers(kinds);
  std::map<std::string, std::string> missing;  // by reason
  for (const KindOffer& offer : kinds) {
    if (offer.available) continue;
    base::AddTo(missing[offer.reason], NameOf(offer.kind));
  }
  if (missing.empty()) return {"host kinds", Outcome::kOk, "all " + std::to_string(kinds.size()), ""};
  std::string detail;
  for (auto& [reason, names] : missing) base::AddTo(detail, names.append(": ").append(reason), "; ");
  return {"host kinds", Outcome::kWarn, "not available: " + detail,
          "do what is said there, or collect only the other kinds"};
}

Check CheckSpool(const std::string& spool) {
  struct statvfs disk {};
  if (::statvfs(spool.c_str(), &disk) != 0 && errno == ENOENT) {
    return {"spool", Outcome::kOk, spool + ", not there yet: the first session creates it", ""};
  }
  if (::statvfs(spool.c_str(), &disk) != 0) {
    return {"spool", Outcome::kWarn, Status::FromErrno(spool).message(), "check store.spool"};
  }
  const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  const bool enough = free >= (1ull << 30);
  // Some file systems have no fixed number of them, and say 0.
  const bool files = disk.f_files == 0 || disk.f_favail >= disk.f_files / 100;
  return {"spool", enough && files ? Outcome::kOk : Outcome::kWarn,
          spool + ", " + std::to_string(free >> 20) + " MiB free" +
              (files ? "" : ", room for " + std::to_string(disk.f_favail) + " more files"),
          !enough ? "free some space or set store.spool"
          : files
              ? ""
              : "remove files, or set store.spool: without room for files, sessions lose their oldest data"};
}

// Rows that nobody ships go one day.
Check CheckSummary(const config::Config::Summary& summary) {
  constexpr int64_t kLongS = 3600;
  if (summary.folder.empty()) return {"summary", Outcome::kOk, "off", ""};
  std::error_code error;
  uint64_t files = 0, bytes = 0;
  int64_t oldest_s = 0;
  for (std::filesystem::directory_iterator at(summary.folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat found {};
    const bool is_closed =
        at->path().extension() == format::kRowsEnd && !at->path().filename().string().starts_with('.');
    if (!is_closed || ::lstat(at->path().c_str(), &found) != 0) continue;
    ++files;
    bytes += static_cast<uint64_t>(found.st_size);
    oldest_s = std::max(oldest_s, static_cast<int64_t>(::time(nullptr)) - found.st_mtime);
  }
  if (error)
    return {"summary", Outcome::kWarn, summary.folder + ": " + error.message(), "check summary.folder"};
  const std::string detail =
      summary.folder + ", " + std::to_string(files) + " closed files, " + std::to_string(bytes >> 20) +
      " MiB" + (files > 0 ? ", the oldest of " + std::to_string(oldest_s / 60) + " min ago" : "");
  if (oldest_s < kLongS) return {"summary", Outcome::kOk, detail, ""};
  return {"summary", Outcome::kWarn, detail,
          "nobody ships them: enable profd-ship.timer, or run profctl ship --summary; see journalctl -u "
          "profd-ship"};
}

}  // namespace

std::vector<Check> CheckOwn(const Node& node, const auth::Caller& caller,
                            const agent::Registry::Counts& agents, fabric::Service& fabric) {
  std::vector<Check> checks = CheckLibrary(node);
  checks.push_back(CheckRights(caller));
  checks.push_back(CheckAgents(agents));
  checks.push_back({"dynolog fabric", Check::Outcome::kOk, fabric.Describe(), ""});
  return checks;
}

std::vector<Check> CheckMachine(const auth::Caller& caller, const config::Config& config) {
  return {CheckHostKinds(), CheckCollectors(caller), CheckSpool(config.store.spool),
          CheckSummary(config.summary)};
}

}  // namespace profd::session
