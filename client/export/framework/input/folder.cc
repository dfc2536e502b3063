#include "client/export/framework/input/folder.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <set>
#include <utility>

#include "client/export/read/capture.h"
#include "client/files/prof_files.h"
#include "format/framework/records.h"

namespace profd::client::framework {
namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using format::framework::Clock;
using format::framework::ProfilerInfo;

constexpr char kOfTorch[] = "_ascend_pt", kOfMindSpore[] = "_ascend_ms";

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
  } else {
    const auto text = ReadSmallFile(dir, name);
    auto info = text.ok() ? format::framework::ParseProfilerInfo(*text) : text.status();
    if (info.ok()) return std::move(info).value();
    report.Skip({name, 0, 0, 0, info.status().message()});
  }
  ProfilerInfo unknown;
  unknown.is_guessed = true;
  return unknown;
}

// The stamp of the first record of operators; 0: there is none.
int64_t FirstStamp(const UniqueFd& records) {
  constexpr char kFile[] = "torch.op_range";
  uint64_t bytes = 0;
  std::string why;
  const UniqueFd file = records && Names(records.get()).contains(kFile)
                            ? OpenFile(records.get(), kFile, &bytes, &why)
                            : UniqueFd();
  std::array<std::byte, format::framework::kHeadBytes + sizeof(int64_t)> head{};
  if (!file || ReadSome(file.get(), head.data(), head.size()) != static_cast<ssize_t>(head.size())) return 0;
  int64_t stamp = 0;
  std::memcpy(&stamp, head.data() + format::framework::kHeadBytes, sizeof(stamp));
  return stamp;
}

// "node1_4242_20260131120000123_ascend_pt", local time; 0: the name says none.
int64_t WallNsIn(const std::string& name) {
  constexpr size_t kDigits = 17;
  size_t digits = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_digit = '0' <= name[i] && name[i] <= '9';
    if (!is_digit && digits == kDigits) {
      const std::string text = name.substr(i - kDigits, kDigits);
      std::tm tm{};
      tm.tm_isdst = -1;
      if (::strptime(text.substr(0, 14).c_str(), "%Y%m%d%H%M%S", &tm) == nullptr) return 0;
      const std::time_t seconds = std::mktime(&tm);
      return seconds <= 0 ? 0 : (int64_t{seconds} * 1000 + std::stoi(text.substr(14))) * 1'000'000;
    }
    digits = is_digit ? digits + 1 : 0;
  }
  return 0;
}

// Of a job whose control files do not say it: counts are near the counter at the begin, ns near the clock.
void Guess(const Folder& folder, Clock& clock, bool has_wall, Report& report) {
  const int64_t first = FirstStamp(folder.records);
  if (first == 0) return;
  if (folder.info.is_guessed && clock.start_count > 0) {
    const auto distance = [first](int64_t other) {
      return std::fabs(static_cast<double>(first) - static_cast<double>(other));
    };
    clock.counts = distance(clock.start_count) < distance(clock.start_raw_ns);
  }
  const int64_t wall = WallNsIn(folder.name);
  if (has_wall || wall == 0) return;
  if (folder.info.start_raw_ns > 0) {
    clock.wall_behind_raw_ns = wall - folder.info.start_raw_ns;
  } else {
    clock.wall_behind_raw_ns = 0;
    clock.wall_behind_raw_ns = wall - clock.WallNs(first, false);
  }
  report.Note("its clock is that of the folder's name, which is as exact as that");
}

// As far as the PROF directory knows better than profiler_info. `has_wall`: it lies on the wall clock.
Clock ClockOf(const ProfilerInfo& info, const Capture* capture, bool& has_wall) {
  has_wall = true;
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
  has_wall = info.has_end;
  if (has_wall) clock.wall_behind_raw_ns = info.end_wall_ns - info.end_raw_ns;
  return clock;
}

}  // namespace

bool IsFolder(const std::string& path) {
  const UniqueFd dir = Open(path);
  if (!dir) return false;
  if (OpenDir(dir.get(), kRecords)) return true;
  const std::string name = WithoutSlash(path);
  return (name.ends_with(kOfTorch) || name.ends_with(kOfMindSpore)) && !ProfsIn(dir.get()).empty();
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

Result<Folder> OpenFolder(const std::string& path, bool guesses, Report& report) {
  Folder folder;
  folder.path = WithoutSlash(path);
  folder.name = folder.path.substr(folder.path.rfind('/') + 1);
  folder.dir = Open(path);
  if (!folder.dir) return Status::FromErrno("export " + path);
  folder.records = OpenDir(folder.dir.get(), kRecords);
  folder.is_mindspore =
      folder.records
          ? std::ranges::any_of(Names(folder.records.get()),
                                [](const std::string& name) { return name.starts_with("mindspore."); })
          : folder.name.ends_with(kOfMindSpore);
  folder.info = ReadInfo(folder.dir.get(), report);
  const std::vector<std::string> profs = ProfsIn(folder.dir.get());
  Report unused;  // an export of the PROF directory says it
  std::optional<Capture> capture;
  if (!profs.empty()) {
    folder.prof = profs.front();
    folder.prof_dir = OpenDir(folder.dir.get(), folder.prof);
    auto opened = OpenCapture(folder.ProfPath(), true, unused);
    if (opened.ok()) capture.emplace(std::move(opened).value());
  }
  folder.is_own = !folder.records && capture && capture->manifest;
  if (!folder.records && !folder.is_own)
    report.Note(folder.name + ": has no " + std::string(kRecords) + ": nothing of operators");
  if (!folder.info.has_end && !folder.is_mindspore && !folder.is_own)  // whose folders do not tell
    report.Note(folder.name + ": the program was killed, or its profiler did not stop");
  if (profs.size() > 1) {
    report.Skip(
        {profs.back(), 0, 0, 0,
         "is one of " + std::to_string(profs.size()) + " PROF directories; " + profs.front() + " is read"});
  }
  if (capture) {
    folder.prof_bytes = capture->bytes();
    for (const Side& side : capture->sides) {
      if (!side.is_host()) folder.devices.push_back(side.facts.device);
    }
  }
  bool has_wall = false;
  folder.clock = ClockOf(folder.info, capture ? &*capture : nullptr, has_wall);
  if (guesses) {
    Guess(folder, folder.clock, has_wall, report);
  } else if (!has_wall) {
    report.Skip(
        {"", 0, 0, 0, "nothing says where its clock lies on the wall clock: stamps begin with the boot"});
  }
  // MindSpore's stamps are the CPU's counter; where nobody knows how fast it counts they are ns.
  if (folder.is_mindspore) {
    const Side* const host = capture ? capture->host() : nullptr;
    folder.clock.counts = host != nullptr && host->facts.has_host_clock && host->facts.host_counter_mhz > 0;
  }
  if (!folder.records && folder.prof.empty()) {
    return Status(Code::kInvalidArgument, path + ": has neither " + kRecords + " nor a PROF directory");
  }
  return folder;
}

}  // namespace profd::client::framework
