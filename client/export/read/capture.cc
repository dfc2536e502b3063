#include "client/export/read/capture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/calendar.h"
#include "client/files/prof_files.h"
#include "format/check/stream_check.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/events/stand_in.h"
#include "format/kind.h"
#include "format/records/cann.h"
#include "format/records/packed.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using format::SideFacts;

constexpr uint64_t kNsPerUs = 1000;

bool IsSide(const std::string& name) { return name == "host" || format::DeviceOfFolder(name); }

UniqueFd OpenRoot(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::string Trimmed(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// **Thread:** one. Fills one capture.
class Opener {
 public:
  Opener(Capture& capture, bool single_pair, Report& report)
      : capture_(capture), single_pair_(single_pair), report_(report) {}

  void Run(const std::set<std::string>& names) {
    if (names.contains(capture_.own_folder)) ReadAgents();
    if (names.contains("host")) OpenSide("host");
    std::vector<std::pair<int, std::string>> devices;  // 2 before 10
    for (const std::string& name : names) {
      if (const auto device = format::DeviceOfFolder(name)) devices.emplace_back(*device, name);
    }
    std::sort(devices.begin(), devices.end());
    for (const auto& [device, name] : devices) OpenSide(name);
    BorrowBegin();
    ReadStreamSpec();
    NameProcess();
    for (Side& side : capture_.sides) ReadClocks(side);
    CheckStreams();
  }

 private:
  void Skip(const std::string& file, const std::string& why) { report_.Skip({file, 0, 0, 0, why}); }

  // A control file; nullopt, reported, when it can't be had.
  std::optional<std::string> Control(const UniqueFd& folder, const std::string& side,
                                     const std::string& name) {
    auto text = ReadSmallFile(folder.get(), name, kMaxControl);
    if (text.ok()) return std::move(text).value();
    Skip(side + "/" + name, text.status().message());
    return std::nullopt;
  }

  void ReadAgents() {
    const UniqueFd folder = OpenDir(capture_.dir.get(), capture_.own_folder);
    if (!folder) return Skip(capture_.own_folder, "is not a directory");
    const std::set<std::string> names = Names(folder.get());
    if (const auto text = Control(folder, capture_.own_folder, format::kManifestFile)) {
      auto manifest = format::ParseManifest(*text);
      if (manifest.ok()) {
        capture_.manifest = std::move(manifest).value();
        for (const std::string& reason : capture_.manifest->degraded)
          report_.Note("degraded while it was recorded: " + reason);
      } else {
        Skip(capture_.own_folder + "/" + format::kManifestFile, manifest.status().message());
      }
    }
    Streams(folder, capture_.own_folder, -1, capture_.agents);
  }

  void OpenSide(const std::string& name) {
    const UniqueFd folder = OpenDir(capture_.dir.get(), name);
    if (!folder) return Skip(name, "is not a directory");
    Side side;
    side.folder = name;
    SideFacts& facts = side.facts;
    facts.device = format::DeviceOfFolder(name).value_or(-1);
    const std::string tag = side.is_host() ? "" : "." + std::to_string(facts.device);
    const auto parse = [&](const std::string& file, auto parser) {
      const auto text = Control(folder, name, file);
      if (!text) return;
      if (const Status status = parser(*text, facts); !status.ok()) Skip(name + "/" + file, status.message());
    };
    parse("info.json" + tag, format::ParseInfoJson);
    parse("sample.json", format::ParseSampleJson);
    ReadTimes(folder, name, tag, facts);
    const UniqueFd data = OpenDir(folder.get(), "data");
    if (data) {
      Streams(data, name + "/data", facts.device, side.streams);
    } else {
      Skip(name + "/data", "is not a directory");
    }
    capture_.sides.push_back(std::move(side));
  }

  void ReadTimes(const UniqueFd& folder, const std::string& side, const std::string& tag, SideFacts& facts) {
    for (const bool end : {false, true}) {
      const std::string name = (end ? "end_info" : "start_info") + tag;
      // A collection that still runs, or was killed, has no end.
      if (end && !Exists(folder, name)) continue;
      const auto text = Control(folder, side, name);
      if (!text) continue;
      const auto time = format::ParseCollectionTime(*text);
      if (!time.ok() || time->is_end != end || time->wall_us > kLatestUs) {
        Skip(side + "/" + name, time.ok() ? "is not what its name says" : time.status().message());
        continue;
      }
      (end ? facts.end_wall_ns : facts.begin_wall_ns) = time->wall_us * kNsPerUs;
      (end ? facts.end_raw_ns : facts.begin_raw_ns) = time->clock_monotonic_raw;
    }
  }

  // CANN's runtime says on the host how many bits the numbers of streams have on the devices.
  void ReadStreamSpec() {
    const Side* host = capture_.host();
    for (const char* const aging : {"aging.", "unaging."}) {
      const Stream* stream =
          host == nullptr ? nullptr : host->Find(aging + std::string(format::file::kStreamSpec));
      if (stream == nullptr) continue;
      const UniqueFd data = OpenDir(OpenDir(capture_.dir.get(), host->folder).get(), "data");
      const auto text = ReadSmallFile(data.get(), stream->slices.front().name, kMaxControl);
      format::CannStreamSpec record;
      if (!text.ok() || text->size() < sizeof(record)) {
        Skip(stream->path(), text.ok() ? "ends within its first record" : text.status().message());
        continue;
      }
      record = format::Load<format::CannStreamSpec>(reinterpret_cast<const std::byte*>(text->data()));
      if (record.head.magic != format::kCannMagic) {
        Skip(stream->path(), "its first record has no magic");
        continue;
      }
      for (Side& side : capture_.sides)
        side.facts.wide_streams = record.expanded == 1 && !format::Is950(side.facts.chip);
      report_.Count(stream->path(), "api", stream->bytes(), stream->bytes() / sizeof(record));
    }
  }

  // A program that became another one (a shell that ends in exec) is called what it is in the end.
  void NameProcess() {
    if (!capture_.manifest) return;
    for (Side& side : capture_.sides) {
      for (const format::ManifestAgent& agent : capture_.manifest->agents) {
        if (agent.pid != side.facts.pid || agent.executable.empty()) continue;
        side.facts.pid_name = agent.executable.substr(agent.executable.rfind('/') + 1);
      }
    }
  }

  // All sides are of one machine, so what tells its wall clock for one of them holds for all.
  void BorrowBegin() {
    const auto known =
        std::ranges::find_if(capture_.sides, [](const Side& side) { return side.facts.begin_wall_ns != 0; });
    uint64_t wall_ns = 0, raw_ns = 0;
    if (known != capture_.sides.end()) {
      wall_ns = known->facts.begin_wall_ns;
      raw_ns = known->facts.begin_raw_ns;
    } else if (capture_.manifest && !capture_.manifest->clocks.empty()) {
      wall_ns = capture_.manifest->clocks.front().pair.wall_ns;
      raw_ns = capture_.manifest->clocks.front().pair.host_raw_ns;
    }
    for (Side& side : capture_.sides) {
      if (side.facts.begin_wall_ns != 0 || wall_ns == 0) continue;
      side.facts.begin_wall_ns = wall_ns;
      side.facts.begin_raw_ns = raw_ns;
    }
  }

  void ReadClocks(Side& side) {
    SideFacts& facts = side.facts;
    const std::string& name = side.folder;
    const std::string tag = side.is_host() ? "" : "." + std::to_string(facts.device);
    const UniqueFd folder = OpenDir(capture_.dir.get(), name);
    format::ClockPair& pair = facts.at_start;
    pair.host_raw_ns = facts.begin_raw_ns;  // until a log says better
    const auto log = [&](const std::string& file) -> std::optional<format::StartLogs> {
      const auto text = Control(folder, name, file);
      if (!text) return std::nullopt;
      const auto parsed = format::ParseStartLog(*text);
      if (parsed.ok()) return *parsed;
      Skip(name + "/" + file, parsed.status().message());
      return std::nullopt;
    };
    if (const auto host = log("host_start.log" + tag)) {
      pair.host_raw_ns = host->clock_monotonic_raw;
      pair.host_counter = host->cntvct;
      facts.has_host_clock = true;
    }
    pair.wall_ns = facts.begin_wall_ns + (pair.host_raw_ns - facts.begin_raw_ns);
    pair.device_raw_ns = pair.host_raw_ns;
    if (!side.is_host()) {
      if (const auto device = log("dev_start.log" + tag)) {
        pair.device_raw_ns = device->clock_monotonic_raw;
        pair.device_counter = device->cntvct;
        facts.has_device_clock = true;
      }
    }
    side.clocks = format::ClockMap(facts.counter_mhz, facts.host_counter_mhz);
    if (!single_pair_ && capture_.manifest) {
      for (const format::ManifestClock& clock : capture_.manifest->clocks) {
        if (clock.device != facts.device) continue;
        side.clocks.Add(clock.pair);
        side.has_clock_pairs = true;
      }
    }
    if (!side.has_clock_pairs) side.clocks.Add(pair);
  }

  // The marker of a closed slice knows how long it was.
  void CheckMarker(const UniqueFd& data, const std::string& folder, const Slice& slice) {
    const auto text = ReadSmallFile(data.get(), slice.name + ".done", kMaxControl);
    const auto says = text.ok() ? format::DoneBytes(*text) : std::nullopt;
    if (!says || *says == slice.bytes) return;
    const uint64_t missing = *says > slice.bytes ? *says - slice.bytes : 0;
    report_.Skip({folder + "/" + slice.name, slice.bytes, missing, 0,
                  "has " + std::to_string(slice.bytes) + " bytes, had " + std::to_string(*says) +
                      " when it was closed"});
  }

  // What the manifest of a finished session counts, and is not there.
  void CheckStreams() {
    if (!capture_.manifest || capture_.manifest->state != "sealed") return;
    for (const format::ManifestStream& wanted : capture_.manifest->streams) {
      if (wanted.slices == wanted.aged.slices) continue;
      const Stream* stream = Found(wanted.folder, wanted.file);
      const std::string path = wanted.folder + "/" + wanted.file;
      if (stream == nullptr) {
        Skip(path, "is missing, but the manifest has " + std::to_string(wanted.records) + " records of it");
      } else if (stream->slices.back().number + 1 < wanted.slices) {
        Skip(path, "its last slices are missing: the manifest has " + std::to_string(wanted.slices));
      } else if (stream->slices.front().number > wanted.aged.slices) {
        Skip(path, "its first slices are missing, but no storage limit has removed them");
      }
    }
  }
  const Stream* Found(const std::string& folder, const std::string& file) const {
    const auto find = [&](const std::vector<Stream>& streams) -> const Stream* {
      const auto found = std::find_if(streams.begin(), streams.end(),
                                      [&](const Stream& stream) { return stream.name == file; });
      return found == streams.end() ? nullptr : &*found;
    };
    if (format::IsOwnFolder(folder)) return find(capture_.agents);
    for (const Side& side : capture_.sides) {
      if (side.folder == folder) return find(side.streams);
    }
    return nullptr;
  }

  static bool Exists(const UniqueFd& folder, const std::string& name) {
    struct stat facts {};
    return ::fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
  }

  void Streams(const UniqueFd& data, const std::string& folder, int device, std::vector<Stream>& streams) {
    const std::set<std::string> names = Names(data.get());
    for (const auto& [name, numbers] : SlicesByStream(names)) {
      if (capture_.manifest && device < 0 && format::IsStandIn(name, *capture_.manifest)) continue;
      Stream stream;
      stream.folder = folder;
      stream.file = name;
      stream.name = name;
      const auto parsed = format::ParseSliceName(name + ".slice_0");
      if (parsed && folder != capture_.own_folder) {
        stream.file = parsed->file;
        if (parsed->device != device) {
          Skip(folder + "/" + name, "is of another device than its folder");
          continue;
        }
      }
      for (const uint64_t number : numbers) {
        Slice slice;
        slice.number = number;
        slice.name = format::SliceName(name, -1, number);
        std::string why;
        if (OpenFile(data.get(), slice.name, &slice.bytes, &why)) {
          if (names.contains(slice.name + ".done")) CheckMarker(data, folder, slice);
          stream.slices.push_back(std::move(slice));
        } else {
          Skip(folder + "/" + slice.name, why);
        }
      }
      if (!stream.slices.empty()) streams.push_back(std::move(stream));
    }
  }

  static constexpr uint64_t kMaxControl = 16u << 20;
  static constexpr uint64_t kLatestUs = UINT64_MAX / 2 / kNsPerUs;

  Capture& capture_;
  const bool single_pair_;
  Report& report_;
};

constexpr int kMostLevels = 8;

bool HasSides(const UniqueFd& folder) {
  const std::set<std::string> names = Names(folder.get());
  return std::any_of(names.begin(), names.end(), IsSide);
}

// Many folders hold one that is called "host": without the name of a capture it takes an info.json to be one.
bool IsCapture(const UniqueFd& folder, const std::string& name) {
  if (name.starts_with("PROF_")) return HasSides(folder);
  const std::set<std::string> inside = Names(folder.get());
  return std::any_of(inside.begin(), inside.end(), [&folder](const std::string& side) {
    if (!IsSide(side)) return false;
    const UniqueFd opened = OpenDir(folder.get(), side);
    const std::set<std::string> files = opened ? Names(opened.get()) : std::set<std::string>();
    return std::any_of(files.begin(), files.end(),
                       [](const std::string& file) { return file.starts_with("info.json"); });
  });
}

// `prefix` is the path of `folder`, with a slash behind.
void FindBelow(const UniqueFd& folder, const std::string& prefix, int levels,
               std::vector<std::string>& found) {
  for (const std::string& name : Names(folder.get())) {
    const UniqueFd inside = OpenDir(folder.get(), name);
    if (!inside) continue;
    if (IsCapture(inside, name)) {
      found.push_back(prefix + name);
    } else if (levels > 1) {
      FindBelow(inside, prefix + name + "/", levels - 1, found);
    }
  }
}

}  // namespace

uint64_t Stream::bytes() const {
  uint64_t bytes = 0;
  for (const Slice& slice : slices) bytes += slice.bytes;
  return bytes;
}

const Stream* Side::Find(std::string_view file) const {
  const auto found = std::find_if(streams.begin(), streams.end(),
                                  [file](const Stream& stream) { return stream.file == file; });
  return found == streams.end() ? nullptr : &*found;
}

uint64_t Capture::begin_wall_ns() const {
  for (const Side& side : sides) {
    if (side.facts.begin_wall_ns != 0) return side.facts.begin_wall_ns;
  }
  return 0;
}

uint64_t Capture::end_wall_ns() const {
  uint64_t end = 0;
  for (const Side& side : sides) end = std::max(end, side.facts.end_wall_ns);
  return end;
}

uint64_t Capture::bytes() const {
  uint64_t bytes = 0;
  for (const Side& side : sides) {
    for (const Stream& stream : side.streams) bytes += stream.bytes();
  }
  for (const Stream& stream : agents) bytes += stream.bytes();
  return bytes;
}

std::string Capture::Stamp() const {
  if (begin_wall_ns() == 0) {  // "PROF_000001_20231114221320000_…"
    constexpr size_t kDigits = 14;
    const size_t at = name.find('_', sizeof("PROF_") - 1) + 1;
    const std::string digits = at == 0 ? "" : name.substr(at, kDigits);
    const bool all = digits.size() == kDigits && digits.find_first_not_of("0123456789") == std::string::npos;
    return all ? digits : std::string(kDigits, '0');
  }
  return base::LocalText(begin_wall_ns(), "%Y%m%d%H%M%S");
}

std::string CaptureName(const std::string& path) {
  const std::string trimmed = Trimmed(path);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

uint64_t InputBytes(const std::string& path) {
  Report unused;
  const auto capture = OpenCapture(path, true, unused);
  return capture.ok() ? capture->bytes() : 0;
}

Result<Capture> OpenCapture(const std::string& path, bool single_pair, Report& report) {
  Capture capture;
  capture.path = Trimmed(path);
  capture.name = CaptureName(path);
  capture.dir = OpenRoot(path);
  if (!capture.dir) {
    if (errno == ENOTDIR)
      return Status(Code::kInvalidArgument,
                    path + " is not a directory; DIR is a PROF directory or has some in it");
    return Status::FromErrno("export " + path);
  }
  capture.own_folder = format::OwnFolderIn(capture.dir.get());
  const std::set<std::string> names = Names(capture.dir.get());
  if (std::none_of(names.begin(), names.end(), IsSide)) {
    return Status(Code::kInvalidArgument,
                  path + " is not a PROF directory: it has neither host/ nor device_<N>/");
  }
  Opener(capture, single_pair, report).Run(names);
  return capture;
}

std::optional<SidePath> SideOf(const std::string& path) {
  const std::string trimmed = Trimmed(path);
  const size_t slash = trimmed.rfind('/');
  const std::string name = trimmed.substr(slash + 1);
  if (!IsSide(name)) return std::nullopt;
  SidePath side;
  side.capture = slash == std::string::npos ? "." : slash == 0 ? "/" : trimmed.substr(0, slash);
  side.device = format::DeviceOfFolder(name).value_or(-1);
  const UniqueFd folder = OpenRoot(trimmed), above = OpenRoot(side.capture);
  // A folder that somebody called "host" may have captures of its own in it.
  if (!folder || HasSides(folder) || !above || !IsCapture(above, CaptureName(side.capture)))
    return std::nullopt;
  return side;
}

Result<std::vector<std::string>> FindCaptures(const std::string& path, bool only_right_in_it) {
  const UniqueFd root = OpenRoot(path);
  if (!root) {
    if (errno == ENOTDIR)
      return Status(Code::kInvalidArgument,
                    path + " is not a directory; DIR is a PROF directory or has some in it");
    if (errno == EACCES)
      return Status(Code::kPermissionDenied,
                    path + ": you may not read it: ask its owner, or root, for a copy");
    return Status::FromErrno("open " + path);
  }
  if (HasSides(root)) return std::vector{path};
  std::vector<std::string> found;
  FindBelow(root, path + (path.ends_with('/') ? "" : "/"), only_right_in_it ? 1 : kMostLevels, found);
  if (found.empty()) {
    return Status(Code::kInvalidArgument,
                  path + " is not a PROF directory and has none in it" +
                      (only_right_in_it ? "" : ", " + std::to_string(kMostLevels) + " levels deep") +
                      "; name a folder PROF_…, or a session");
  }
  return found;
}

}  // namespace profd::client
