#include "client/show/screen/top_view.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "client/show/screen/fit.h"
#include "client/show/screen/live_words.h"
#include "client/show/screen/table.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr char kKeys[] = "q quit  R reverse  devices: d a core h HBM m mem  processes: c CPU r mem p pid";

using live_words::Bytes;
using live_words::BytesPerSecond;
using live_words::Count;
using live_words::Percent;
using live_words::StepTime;
using live_words::Use;

std::string Host() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return OneLine(name);
}

std::string_view StatusName(int status) {
  constexpr std::string_view kNames[] = {"starting", "ok", "exception", "asleep", "lost"};
  return status >= 0 && status < static_cast<int>(std::size(kNames)) ? kNames[status] : "no answer";
}

uint64_t Number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

}  // namespace

base::Status TopView::SortBy(const std::string& what) {
  if (what == "device" || what == "aicore" || what == "hbm" || what == "memory") {
    device_sort_ = what;
  } else if (what == "cpu" || what == "rss" || what == "pid") {
    process_sort_ = what;
  } else {
    return {base::Code::kInvalidArgument,
            "--sort '" + what + "' is not one of device, aicore, hbm, memory, cpu, rss and pid"};
  }
  return base::Status::Ok();
}

bool TopView::OnKey(char key) {
  const std::map<char, const char*> sorts = {{'d', "device"}, {'a', "aicore"}, {'h', "hbm"}, {'m', "memory"},
                                             {'c', "cpu"},    {'r', "rss"},    {'p', "pid"}};
  if (key == 'R') {
    reversed_ = !reversed_;
    return true;
  }
  const auto found = sorts.find(key);
  return found != sorts.end() && SortBy(found->second).ok();
}

namespace {
// Three digits are enough of what changes with every look.
std::string PerSecond(std::optional<double> rate) {
  if (!rate) return "-";
  char number[32];
  std::snprintf(number, sizeof number, *rate < 1000 ? "%.3g" : "%.0f", *rate);
  return number;
}
}  // namespace

void TopView::AddHead(std::string* text, const Look& look) const {
  *text += Wrapped(HostLine(), look.columns) + "\n" + Wrapped(OwnLine(), look.columns) + "\n";
}

std::string TopView::HostLine() const {
  const auto total = live_.Now("profd_host_memory_bytes", {{"part", "total"}});
  const auto available = live_.Now("profd_host_memory_bytes", {{"part", "available"}});
  const auto load = live_.Now("profd_host_load", {{"minutes", "1"}});
  std::string line = Host() + "  " + FormatWallTime(live_.wall_ns()) + "  CPU " +
                     Percent(live_.Now("profd_host_cpu_utilization_ratio")) + " of " +
                     Count(live_.Now("profd_host_cpus"));
  if (total && available)
    line += "  memory " + FormatBytes(*total - *available) + " of " + FormatBytes(*total);
  if (load) {
    char number[32];
    std::snprintf(number, sizeof number, "  load %.2f", *load);
    line += number;
  }
  return line;
}

std::string TopView::OwnLine() const {
  std::string line = "profd  CPU " + Percent(live_.Rate("profd_self_cpu_seconds_total")) + "  memory " +
                     Bytes(live_.Now("profd_self_resident_memory_bytes")) + "  agents " +
                     Count(live_.Now("profd_agents")) + "  queue " + Bytes(live_.Now("profd_queue_bytes")) +
                     "  lost " + Count(live_.Now("profd_lost_records_total")) + " (" +
                     PerSecond(live_.Rate("profd_lost_records_total")) + "/s)";
  const auto level = live_.Now("profd_limits_level");
  if (level && *level > 0) line += "  saving: level " + Count(level);
  return line;
}

std::string TopView::SumLine() const {
  const DevicesSum sum = SumOfDevices(live_);
  std::string line = std::to_string(sum.devices) + " devices, " +
                     (sum.working == sum.devices ? "all" : std::to_string(sum.working)) + " ok";
  if (sum.mean)
    line += "; AI core " + Percent(sum.mean) + " (" + Percent(sum.least) + " to " + Percent(sum.most) + ")";
  if (const auto bytes = live_.Now("profd_device_hbm_bytes_per_second"))
    line += "; HBM " + BytesPerSecond(bytes);
  return line;
}

void TopView::AddDevices(std::string* text, const Look& look) const {
  std::vector<Labels> devices = live_.Of("profd_device_status", {"device", "chip"});
  if (devices.empty()) {
    *text += "\nno devices\n";
    return;
  }
  const auto by = [&](const Labels& labels) -> double {
    const Labels device = {{"device", labels.at("device")}};
    if (device_sort_ == "aicore")
      return -live_.Now("profd_device_aicore_utilization_ratio", device).value_or(-1);
    if (device_sort_ == "hbm") return -live_.Now("profd_device_hbm_bytes_per_second", device).value_or(-1);
    if (device_sort_ == "memory") return -live_.Now("profd_device_memory_used_bytes", device).value_or(-1);
    return static_cast<double>(Number(labels.at("device")));
  };
  std::ranges::stable_sort(devices, [&](const Labels& a, const Labels& b) { return by(a) < by(b); });
  if (reversed_) std::ranges::reverse(devices);
  Table table({">DEV", "CHIP", "STATE", ">AI CORE", "?>MHZ", ">HBM RD", ">HBM WR", "?>LLC", "?>PCIE",
               "?>HCCS", "?>ROCE", "?>DVPP", ">MEMORY"});
  for (const Labels& labels : devices) {
    const Labels device = {{"device", labels.at("device")}};
    const auto with = [&](const char* key, const char* value) {
      Labels more = device;
      more[key] = value;
      return more;
    };
    const int status = static_cast<int>(live_.Now("profd_device_status", device).value_or(-1));
    const auto hertz = live_.Now("profd_device_aicore_frequency_hertz", device);
    Labels memory = with("scope", "device");
    memory["memory"] = "hbm";
    auto used = live_.Now("profd_device_memory_used_bytes", memory);
    memory["memory"] = "ddr";
    const auto ddr = live_.Now("profd_device_memory_used_bytes", memory);
    if (ddr) used = used.value_or(0) + *ddr;
    const auto engines = live_.Of("profd_device_dvpp_utilization_ratio", {"device", "engine"});
    const auto busy = live_.Now("profd_device_dvpp_utilization_ratio", device);
    const auto count = std::ranges::count_if(
        engines, [&](const Labels& engine) { return engine.at("device") == labels.at("device"); });
    table.Add({labels.at("device"),
               OneLine(labels.at("chip")),
               {std::string(StatusName(status)), status == 1 ? Colour::kGood : Colour::kBad},
               Use(live_.Now("profd_device_aicore_utilization_ratio", device)),
               hertz ? Count(std::round(*hertz / 1e6)) : "-",
               BytesPerSecond(live_.Now("profd_device_hbm_bytes_per_second", with("direction", "read"))),
               BytesPerSecond(live_.Now("profd_device_hbm_bytes_per_second", with("direction", "write"))),
               BytesPerSecond(live_.Now("profd_device_llc_bytes_per_second", device)),
               BytesPerSecond(live_.Now("profd_device_pcie_bytes_per_second", device)),
               BytesPerSecond(live_.Now("profd_device_hccs_bytes_per_second", device)),
               BytesPerSecond(live_.Now("profd_device_roce_bytes_per_second", device)),
               Percent(busy && count > 0 ? std::optional(*busy / static_cast<double>(count)) : std::nullopt),
               Bytes(used)});
  }
  // Those that do nothing; others are alike by accident.
  const auto is_idle = [](const std::vector<Table::Cell>& row) {
    return row[3].text == "-" || row[3].text == Percent(0);
  };
  if (!look.all) table.Fold(is_idle);
  if (devices.size() > 1) *text += "\n" + Wrapped(SumLine(), look.columns);
  *text += "\n" + table.Text(look);
}

void TopView::AddSessions(std::string* text, const Look& look) const {
  const std::vector<Labels> sessions = live_.Of("profd_session_stored_bytes", {"session", "user"});
  if (sessions.empty()) return;
  Table table({"SESSION", "USER", "?>ELAPSED", ">KINDS", ">STORED", ">RATE", ">LOST"});
  for (const Labels& labels : sessions) {
    const auto lost = live_.Now("profd_session_lost_records", labels);
    const auto elapsed = live_.Now("profd_session_elapsed_seconds", labels);
    table.Add({OneLine(labels.at("session")),
               OneLine(labels.at("user")),
               elapsed ? FormatDuration(static_cast<uint64_t>(*elapsed * 1e9)) : "-",
               Count(live_.Now("profd_session_kinds", labels)),
               Bytes(live_.Now("profd_session_stored_bytes", labels)),
               BytesPerSecond(live_.Rate("profd_session_stored_bytes", labels)),
               {Count(lost), lost && *lost > 0 ? Colour::kBad : Colour::kNone}});
  }
  *text += "\n" + table.Text(look);
}

void TopView::AddProcesses(std::string* text, const Look& look) const {
  std::vector<Labels> processes =
      live_.Of("profd_process_resident_memory_bytes", {"pid", "name", "user", "job", "rank"});
  if (processes.empty()) return;
  const auto by = [&](const Labels& labels) -> double {
    const Labels pid = {{"pid", labels.at("pid")}};
    if (process_sort_ == "cpu") return -live_.Now("profd_process_cpu_utilization_ratio", pid).value_or(0);
    if (process_sort_ == "rss") return -live_.Now("profd_process_resident_memory_bytes", pid).value_or(0);
    return static_cast<double>(Number(labels.at("pid")));
  };
  std::ranges::stable_sort(processes, [&](const Labels& a, const Labels& b) { return by(a) < by(b); });
  if (reversed_) std::ranges::reverse(processes);
  Table table({">PID", "USER", "?JOB", ">RANK", ">CPU", ">MEMORY", "?>STEP", "?>THREADS", "NAME"});
  for (const Labels& labels : processes) {
    const Labels pid = {{"pid", labels.at("pid")}};
    table.Add({labels.at("pid"), OneLine(labels.at("user")), OneLine(labels.at("job")),
               OneLine(labels.at("rank")), Percent(live_.Now("profd_process_cpu_utilization_ratio", pid)),
               Bytes(live_.Now("profd_process_resident_memory_bytes", pid)),
               StepTime(live_.Now("profd_process_step_seconds", pid)),
               Count(live_.Now("profd_process_threads", pid)), OneLine(labels.at("name"))});
  }
  *text += "\n" + table.Text(look);
}

std::string TopView::Text(size_t rows, const Look& look) const {
  std::string text;
  AddHead(&text, look);
  AddDevices(&text, look);
  AddSessions(&text, look);
  AddProcesses(&text, look);
  return FitScreen(text, rows, look, kKeys);
}

}  // namespace profd::client
