#include "client/verify/verify_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "format/check/stream_check.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"

namespace profd::client {

namespace {

// A clock of a device is at most some 100 ppm off; a wrong pair is off by far more.
constexpr double kMaxDrift = 1e-3;
constexpr double kMaxWallStepNs = 1e9;

std::string Differ(const std::string& stream, const char* what, uint64_t says, uint64_t has) {
  return stream + ": says " + std::to_string(says) + " " + what + ", the files have " + std::to_string(has);
}

}  // namespace

std::vector<std::string> CheckControlFile(std::string_view name, std::string_view text,
                                          std::optional<int> device) {
  if (name.starts_with("start_info") || name.starts_with("end_info")) {
    const auto times = format::ParseCollectionTime(text);
    if (!times.ok()) return {times.status().message()};
    if (times->is_end != name.starts_with("end_info")) return {"has the time of the other end"};
    return {};
  }
  if (name.starts_with("host_start.log") || name.starts_with("dev_start.log")) {
    const auto logs = format::ParseStartLog(text);
    if (!logs.ok()) return {logs.status().message()};
    const std::string section = device ? "Device" + std::to_string(*device) : "Host";
    if (name.starts_with("host_start") && logs->section != section) {
      return {"has the section [" + logs->section + "] instead of [" + section + "]"};
    }
    return {};
  }
  // The vendor's reader looks at the first line only.
  const nlohmann::json json = nlohmann::json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (!json.is_object()) return {"the first line is not a JSON object"};
  if (name.starts_with("info.json") && !format::ChipOf(text))
    return {"platform_version is not a number in text"};
  return {};
}

std::vector<std::string> CheckCounts(const format::Manifest& manifest, const std::string& own,
                                     const FoundStreams& found) {
  std::vector<std::string> wrong;
  if (manifest.state != "sealed") return wrong;
  struct Sum {
    uint64_t bytes = 0, records = 0, slices = 0, aged_slices = 0;
  };
  std::map<std::string, Sum> says;  // streams may share a file
  for (const format::ManifestStream& stream : manifest.streams) {
    Sum& sum = says[(format::IsOwnFolder(stream.folder) ? own : stream.folder) + "/" + stream.file];
    // What has aged was stored, and is gone.
    sum.bytes += stream.bytes - std::min(stream.bytes, stream.aged.bytes);
    sum.records += stream.records - std::min(stream.records, stream.aged.records);
    sum.slices = std::max(sum.slices, stream.slices);
    sum.aged_slices = std::max(sum.aged_slices, stream.aged.slices);
  }
  for (const auto& [stream, sum] : says) {
    const auto files = found.find(stream);
    FoundStream has;  // nothing, or nothing any more
    has.records = 0;
    has.next_slice = sum.aged_slices;
    if (files != found.end()) has = files->second;
    if (has.bytes && *has.bytes != sum.bytes) wrong.push_back(Differ(stream, "bytes", sum.bytes, *has.bytes));
    if (has.records && *has.records != sum.records)
      wrong.push_back(Differ(stream, "records", sum.records, *has.records));
    if (has.next_slice != sum.slices) wrong.push_back(Differ(stream, "slices", sum.slices, has.next_slice));
  }
  for (const auto& [stream, has] : found) {
    if (!says.contains(stream)) wrong.push_back(stream + ": does not know this stream");
  }
  for (const format::ManifestAgent& agent : manifest.agents) {
    const auto files = found.find(own + "/" + agent.lanes_file);
    for (const format::ManifestLane& lane : agent.lanes) {
      uint64_t has = 0;
      if (files != found.end()) {
        const auto counted = files->second.lane_records.find(lane.lane);
        if (counted != files->second.lane_records.end()) has = counted->second;
        if (files->second.first_slice > 0) continue;  // aged: only the stream's sum is kept
      }
      if (has != lane.records) {
        wrong.push_back(
            Differ(agent.lanes_file + " lane " + std::to_string(lane.lane), "records", lane.records, has));
      }
    }
  }
  return wrong;
}

std::vector<std::string> CheckClocks(const std::vector<format::ManifestClock>& clocks) {
  std::vector<std::string> wrong;
  std::map<int, format::ClockPair> last;
  for (const auto& [device, pair] : clocks) {
    const std::string who = device < 0 ? "host clocks" : "clocks of device " + std::to_string(device);
    const auto before = last.find(device);
    if (before != last.end()) {
      const format::ClockPair& then = before->second;
      const double host = static_cast<double>(pair.host_raw_ns) - static_cast<double>(then.host_raw_ns);
      const double error = static_cast<double>(pair.error_ns) + static_cast<double>(then.error_ns);
      const auto off = [&](uint64_t now, uint64_t earlier) {
        return static_cast<double>(now) - static_cast<double>(earlier) - host;
      };
      const std::string at = " at host time " + std::to_string(pair.host_raw_ns);
      if (host < 0) {
        wrong.push_back(who + " go back" + at);
      } else if (device >= 0 &&
                 std::abs(off(pair.device_raw_ns, then.device_raw_ns)) > host * kMaxDrift + error + 1e6) {
        wrong.push_back(who + " drift by more than 1000 ppm" + at);
      } else if (std::abs(off(pair.wall_ns, then.wall_ns)) > kMaxWallStepNs + host * kMaxDrift) {
        char text[64];
        std::snprintf(text, sizeof text, ": the wall clock was set by %.3f s",
                      off(pair.wall_ns, then.wall_ns) / 1e9);
        wrong.push_back(who + text + at);
      }
    }
    last[device] = pair;
  }
  return wrong;
}

}  // namespace profd::client
