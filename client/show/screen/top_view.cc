#include "client/show/screen/top_view.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "client/show/screen/table.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr double kBusy = 0.9;
constexpr char kKeys[] =
    "q quit  devices: d number  a AI core  h HBM  m memory   processes: c CPU  r memory  p pid   R reverse";

std::string Percent(std::optional<double> ratio) { return ratio ? FormatValue(*ratio, "1", true) : "-"; }
std::string Bytes(std::optional<double> bytes) { return bytes ? FormatBytes(*bytes) : "-"; }
std::string BytesPerSecond(std::optional<double> rate) {
  return rate ? FormatValue(*rate, "By/s", false) : "-";
}
std::string Count(std::optional<double> value) { return value ? FormatValue(*value, "1", false) : "-"; }

Table::Cell Use(std::optional<double> ratio) {
  return {Percent(ratio), ratio && *ratio >= kBusy ? Colour::kWarn : Colour::kNone};
}

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

// At most so many columns of a line that may hold colours.
std::string Clip(std::string_view line, size_t columns) {
  std::string out;
  size_t width = 0;
  bool escaped = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\033') escaped = true;
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (!escaped && begins && ++width > columns) break;
    out += c;
    if (escaped && c == 'm') escaped = false;
  }
  if (out.find('\033') != std::string::npos) out += "\033[0m";
  return out;
}

}  // namespace

void TopView::Take(const v1::LiveValues& values) {
  before_ = std::exchange(now_, {});
  before_wall_ns_ = std::exchange(wall_ns_, values.wall_ns());
  for (const v1::LiveMetric& metric : values.metrics()) {
    std::vector<Value>& set = now_[metric.name()];
    for (const v1::LiveValue& value : metric.values()) {
      Value& kept = set.emplace_back();
      for (const v1::LiveLabel& label : value.labels()) kept.labels[label.name()] = label.value();
      kept.value = value.value();
    }
  }
}

base::Status TopView::SortBy(const std::string& what) {
  if (what == "device" || what == "aicore" || what == "hbm" || what == "memory") {
    device_sort_ = what;
  } else if (what == "cpu" || what == "rss" || what == "pid") {
    process_sort_ = what;
  } else {
    return {base::Code::kInvalidArgument,
            "--sort '" + what + "' is none of device, aicore, hbm, memory, cpu, rss and pid"};
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

std::optional<double> TopView::Sum(const Set& set, const std::string& metric, const Labels& labels) const {
  const auto found = set.find(metric);
  if (found == set.end()) return {};
  std::optional<double> sum;
  for (const Value& value : found->second) {
    const bool matches = std::ranges::all_of(labels, [&](const auto& label) {
      const auto has = value.labels.find(label.first);
      return has != value.labels.end() && has->second == label.second;
    });
    if (matches) sum = sum.value_or(0) + value.value;
  }
  return sum;
}

std::optional<double> TopView::Rate(const std::string& metric, const Labels& labels) const {
  const auto now = Now(metric, labels), before = Sum(before_, metric, labels);
  if (!now || !before || wall_ns_ <= before_wall_ns_ || *now < *before) return {};
  return (*now - *before) * 1e9 / static_cast<double>(wall_ns_ - before_wall_ns_);
}

std::vector<TopView::Labels> TopView::Of(const std::string& metric,
                                         const std::vector<std::string>& keys) const {
  std::vector<Labels> all;
  const auto found = now_.find(metric);
  if (found == now_.end()) return all;
  for (const Value& value : found->second) {
    Labels labels;
    for (const std::string& key : keys) {
      const auto has = value.labels.find(key);
      labels[key] = has == value.labels.end() ? "" : has->second;
    }
    all.push_back(std::move(labels));
  }
  return all;
}

void TopView::AddHead(std::string* text, const Look& look) const {
  *text += Wrapped(HostLine(), look.columns) + "\n" + Wrapped(OwnLine(), look.columns) + "\n";
}

std::string TopView::HostLine() const {
  const auto total = Now("profd_host_memory_bytes", {{"part", "total"}});
  const auto available = Now("profd_host_memory_bytes", {{"part", "available"}});
  const auto load = Now("profd_host_load", {{"minutes", "1"}});
  std::string line = Host() + "  " + FormatWallTime(wall_ns_) + "  CPU " +
                     Percent(Now("profd_host_cpu_utilization_ratio")) + " of " +
                     Count(Now("profd_host_cpus"));
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
  std::string line = "profd  CPU " + Percent(Rate("profd_self_cpu_seconds_total")) + "  memory " +
                     Bytes(Now("profd_self_resident_memory_bytes")) + "  agents " +
                     Count(Now("profd_agents")) + "  queue " + Bytes(Now("profd_queue_bytes")) + "  lost " +
                     Count(Now("profd_lost_records_total")) + " (" + Count(Rate("profd_lost_records_total")) +
                     "/s)";
  const auto level = Now("profd_limits_level");
  if (level && *level > 0) line += "  saving: level " + Count(level);
  return line;
}

std::string TopView::SumLine(const std::vector<Labels>& devices) const {
  std::optional<double> sum, least, most;
  size_t working = 0;
  for (const Labels& labels : devices) {
    const Labels device = {{"device", labels.at("device")}};
    working += Now("profd_device_status", device).value_or(-1) == 1 ? 1 : 0;
    const auto busy = Now("profd_device_aicore_utilization_ratio", device);
    if (!busy) continue;
    sum = sum.value_or(0) + *busy;
    least = std::min(least.value_or(*busy), *busy);
    most = std::max(most.value_or(*busy), *busy);
  }
  std::string line = std::to_string(devices.size()) + " devices, " +
                     (working == devices.size() ? "all" : std::to_string(working)) + " ok";
  if (sum) {
    line += "; AI core " + Percent(*sum / static_cast<double>(devices.size())) + " (" + Percent(least) +
            " to " + Percent(most) + ")";
  }
  if (const auto bytes = Now("profd_device_hbm_bytes_per_second")) line += "; HBM " + BytesPerSecond(bytes);
  return line;
}

void TopView::AddDevices(std::string* text, const Look& look) const {
  std::vector<Labels> devices = Of("profd_device_status", {"device", "chip"});
  if (devices.empty()) {
    *text += "\nno devices\n";
    return;
  }
  const auto by = [&](const Labels& labels) -> double {
    const Labels device = {{"device", labels.at("device")}};
    if (device_sort_ == "aicore") return -Now("profd_device_aicore_utilization_ratio", device).value_or(-1);
    if (device_sort_ == "hbm") return -Now("profd_device_hbm_bytes_per_second", device).value_or(-1);
    if (device_sort_ == "memory") return -Now("profd_device_memory_used_bytes", device).value_or(-1);
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
    const int status = static_cast<int>(Now("profd_device_status", device).value_or(-1));
    const auto hertz = Now("profd_device_aicore_frequency_hertz", device);
    Labels memory = with("scope", "device");
    memory["memory"] = "hbm";
    auto used = Now("profd_device_memory_used_bytes", memory);
    memory["memory"] = "ddr";
    const auto ddr = Now("profd_device_memory_used_bytes", memory);
    if (ddr) used = used.value_or(0) + *ddr;
    const auto engines = Of("profd_device_dvpp_utilization_ratio", {"device", "engine"});
    const auto busy = Now("profd_device_dvpp_utilization_ratio", device);
    const auto count = std::ranges::count_if(
        engines, [&](const Labels& engine) { return engine.at("device") == labels.at("device"); });
    table.Add({labels.at("device"),
               OneLine(labels.at("chip")),
               {std::string(StatusName(status)), status == 1 ? Colour::kGood : Colour::kBad},
               Use(Now("profd_device_aicore_utilization_ratio", device)),
               hertz ? Count(std::round(*hertz / 1e6)) : "-",
               BytesPerSecond(Now("profd_device_hbm_bytes_per_second", with("direction", "read"))),
               BytesPerSecond(Now("profd_device_hbm_bytes_per_second", with("direction", "write"))),
               BytesPerSecond(Now("profd_device_llc_bytes_per_second", device)),
               BytesPerSecond(Now("profd_device_pcie_bytes_per_second", device)),
               BytesPerSecond(Now("profd_device_hccs_bytes_per_second", device)),
               BytesPerSecond(Now("profd_device_roce_bytes_per_second", device)),
               Percent(busy && count > 0 ? std::optional(*busy / static_cast<double>(count)) : std::nullopt),
               Bytes(used)});
  }
  // Those that do nothing; others are alike by accident.
  const auto is_idle = [](const std::vector<Table::Cell>& row) {
    return row[3].text == "-" || row[3].text == Percent(0);
  };
  if (!look.all) table.Fold(is_idle);
  if (devices.size() > 1) *text += "\n" + Wrapped(SumLine(devices), look.columns);
  *text += "\n" + table.Text(look);
}

void TopView::AddSessions(std::string* text, const Look& look) const {
  const std::vector<Labels> sessions = Of("profd_session_stored_bytes", {"session", "user"});
  if (sessions.empty()) return;
  Table table({"SESSION", "USER", "?>ELAPSED", ">KINDS", ">STORED", ">RATE", ">LOST"});
  for (const Labels& labels : sessions) {
    const auto lost = Now("profd_session_lost_records", labels);
    const auto elapsed = Now("profd_session_elapsed_seconds", labels);
    table.Add({OneLine(labels.at("session")),
               OneLine(labels.at("user")),
               elapsed ? FormatDuration(static_cast<uint64_t>(*elapsed * 1e9)) : "-",
               Count(Now("profd_session_kinds", labels)),
               Bytes(Now("profd_session_stored_bytes", labels)),
               BytesPerSecond(Rate("profd_session_stored_bytes", labels)),
               {Count(lost), lost && *lost > 0 ? Colour::kBad : Colour::kNone}});
  }
  *text += "\n" + table.Text(look);
}

void TopView::AddProcesses(std::string* text, const Look& look) const {
  std::vector<Labels> processes =
      Of("profd_process_resident_memory_bytes", {"pid", "name", "user", "job", "rank"});
  if (processes.empty()) return;
  const auto by = [&](const Labels& labels) -> double {
    const Labels pid = {{"pid", labels.at("pid")}};
    if (process_sort_ == "cpu") return -Now("profd_process_cpu_utilization_ratio", pid).value_or(0);
    if (process_sort_ == "rss") return -Now("profd_process_resident_memory_bytes", pid).value_or(0);
    return static_cast<double>(Number(labels.at("pid")));
  };
  std::ranges::stable_sort(processes, [&](const Labels& a, const Labels& b) { return by(a) < by(b); });
  if (reversed_) std::ranges::reverse(processes);
  Table table({">PID", "USER", "?JOB", ">RANK", ">CPU", ">MEMORY", "?>THREADS", "NAME"});
  for (const Labels& labels : processes) {
    const Labels pid = {{"pid", labels.at("pid")}};
    table.Add({labels.at("pid"), OneLine(labels.at("user")), OneLine(labels.at("job")),
               OneLine(labels.at("rank")), Percent(Now("profd_process_cpu_utilization_ratio", pid)),
               Bytes(Now("profd_process_resident_memory_bytes", pid)),
               Count(Now("profd_process_threads", pid)), OneLine(labels.at("name"))});
  }
  *text += "\n" + table.Text(look);
}

std::string TopView::Text(size_t rows, const Look& look) const {
  std::string text;
  AddHead(&text, look);
  AddDevices(&text, look);
  AddSessions(&text, look);
  AddProcesses(&text, look);
  if (rows == 0) return text;
  std::string screen;
  size_t line = 0, from = 0;
  for (; line + 1 < rows && from < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', from), text.size());
    screen += Clip(std::string_view(text).substr(from, end - from), look.columns) + "\n";
    from = end + 1;
  }
  for (; line + 1 < rows; ++line) screen += "\n";
  return screen + Clip(kKeys, look.columns);  // no line end: it would scroll
}

}  // namespace profd::client
