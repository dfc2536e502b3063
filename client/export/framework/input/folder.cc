#include "client/export/framework/input/folder.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/export/read/capture.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using format::framework::Clock;
using format::framework::ProfilerInfo;

constexpr char kSuffix[] = "_ascend_pt";

UniqueFd Open(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// PROF directories right in it, by name.
std::vector<std::string> ProfsIn(int dir) {
  std::vector<std::string> profs;
  for (const std::string& name : Names(dir)) {
    if (name.starts_with("PROF_") && OpenDir(dir, name)) profs.push_back(name);
  }
  return profs;
}

// "profiler_info.json", "profiler_info_7.json".
std::string InfoName(int dir) {
  for (const std::string& name : Names(dir)) {
    if (name.starts_with("profiler_info") && name.ends_with(".json")) return name;
  }
  return "";
}

ProfilerInfo ReadInfo(int dir, Report& report) {
  const std::string name = InfoName(dir);
  if (name.empty()) {
    report.Skip(
        {"profiler_info.json", 0, 0, 0, "is not there: the level counts as Level0, the rank as unknown"});
    return {};
  }
  const auto text = ReadSmallFile(dir, name);
  auto info = text.ok() ? format::framework::ParseProfilerInfo(*text) : text.status();
  if (info.ok()) return std::move(info).value();
  report.Skip({name, 0, 0, 0, info.status().message()});
  return {};
}

// As far as the PROF directory knows better than profiler_info.
Clock ClockOf(const ProfilerInfo& info, const Capture* capture, Report& report) {
  Clock clock{info.counts, info.counter_mhz, info.start_count, info.start_raw_ns, 0};
  const Side* host = capture == nullptr ? nullptr : capture->host();
  if (host != nullptr) {
    if (host->facts.host_counter_mhz > 0) clock.counter_mhz = host->facts.host_counter_mhz;
    if (host->facts.has_host_clock) {
      clock.start_raw_ns = static_cast<int64_t>(host->facts.at_start.host_raw_ns);
      clock.start_count = static_cast<int64_t>(host->facts.at_start.host_counter);
    }
  }
  if (capture != nullptr) {
    const auto knows = [](const Side& side) { return side.facts.begin_wall_ns != 0; };
    const auto side = std::ranges::find_if(capture->sides, knows);
    if (side != capture->sides.end()) {
      clock.wall_behind_raw_ns = static_cast<int64_t>(side->facts.begin_wall_ns - side->facts.begin_raw_ns);
      return clock;
    }
  }
  if (info.has_end) {
    clock.wall_behind_raw_ns = info.end_wall_ns - info.end_raw_ns;
  } else {
    report.Skip(
        {"", 0, 0, 0, "nothing says where its clock lies on the wall clock: stamps begin with the boot"});
  }
  return clock;
}

}  // namespace

bool IsFolder(const std::string& path) {
  const UniqueFd dir = Open(path);
  if (!dir) return false;
  if (OpenDir(dir.get(), kRecords)) return true;
  return WithoutSlash(path).ends_with(kSuffix) && !ProfsIn(dir.get()).empty();
}

bool IsIn(const std::string& prof) {
  const UniqueFd dir = Open(prof);
  const UniqueFd above = dir ? OpenDir(dir.get(), "..") : UniqueFd();
  return above && OpenDir(above.get(), kRecords);
}

std::vector<std::string> FoldersIn(const std::string& path) {
  std::vector<std::string> folders;
  const UniqueFd dir = Open(path);
  if (!dir) return folders;
  for (const std::string& name : Names(dir.get())) {
    std::string folder = WithoutSlash(path) + "/" + name;
    if (OpenDir(dir.get(), name) && IsFolder(folder)) folders.push_back(std::move(folder));
  }
  return folders;
}

Result<Folder> OpenFolder(const std::string& path, Report& report) {
  Folder folder;
  folder.path = WithoutSlash(path);
  folder.name = folder.path.substr(folder.path.rfind('/') + 1);
  folder.dir = Open(path);
  if (!folder.dir) return Status::FromErrno("export " + path);
  folder.records = OpenDir(folder.dir.get(), kRecords);
  if (!folder.records)
    report.Note(folder.name + ": has no " + std::string(kRecords) + ": nothing of operators");
  folder.info = ReadInfo(folder.dir.get(), report);
  if (!folder.info.has_end)
    report.Note(folder.name + ": the program was killed, or its profiler did not stop");

  const std::vector<std::string> profs = ProfsIn(folder.dir.get());
  if (profs.size() > 1) {
    report.Skip(
        {profs.back(), 0, 0, 0,
         "is one of " + std::to_string(profs.size()) + " PROF directories; " + profs.front() + " is read"});
  }
  Report unused;  // an export of the PROF directory says it
  std::optional<Capture> capture;
  if (!profs.empty()) {
    folder.prof = profs.front();
    folder.prof_dir = OpenDir(folder.dir.get(), folder.prof);
    auto opened = OpenCapture(folder.ProfPath(), true, unused);
    if (opened.ok()) capture.emplace(std::move(opened).value());
  }
  if (capture) {
    folder.prof_bytes = capture->bytes();
    for (const Side& side : capture->sides) {
      if (!side.is_host()) folder.devices.push_back(side.facts.device);
    }
  }
  folder.clock = ClockOf(folder.info, capture ? &*capture : nullptr, report);
  if (!folder.records && folder.prof.empty()) {
    return Status(Code::kInvalidArgument, path + ": has neither " + kRecords + " nor a PROF directory");
  }
  return folder;
}

}  // namespace profd::client::framework
