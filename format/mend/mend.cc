#include "format/mend/mend.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "format/check/stream_check.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/directory/side_facts.h"
#include "format/events/stand_in.h"
#include "format/kind.h"
#include "format/mend/aged_entry.h"
#include "format/mend/files.h"
#include "format/mspti.h"

namespace profd::mend {

namespace {

using base::Status;
using base::UniqueFd;
using format::FileShape;

constexpr uint64_t kCountedBytes = 256u << 20;
constexpr size_t kMaxRemarks = 16;

// One stream's files.
struct Files {
  std::map<uint64_t, uint64_t> sizes;  // by slice number
  std::set<uint64_t> marked;           // have their `.done`
};

// **Thread:** one, as the owner of the directory. One PROF directory.
class Mender {
 public:
  Mender(int dir, uid_t uid, const IsFileOf& is_file_of, Mended& result)
      : dir_(dir), uid_(uid), is_file_of_(is_file_of), result_(result) {}

  // False when there is nothing to do: sealed, not ours, or of a profd that lives.
  bool Wanted(uint64_t before_wall_ns) {
    own_ = OpenDir(dir_, own_name_, uid_);
    if (!own_) return false;
    const auto text = ReadSmall(own_.get(), format::kManifestFile);
    if (!text) return false;
    auto manifest = format::ParseManifest(*text);
    // A sealed one may still have aged, next to a later directory of its session.
    if (!manifest.ok() || (manifest->state != "running" && !RegularFile(own_.get(), kAgedLog, uid_)))
      return false;
    manifest_ = std::move(manifest).value();
    for (const format::ManifestClock& clock : manifest_.clocks) {
      if (clock.pair.wall_ns >= before_wall_ns) return false;
      if (clock.device < 0 && clock.pair.host_raw_ns >= host_.host_raw_ns) host_ = clock.pair;
    }
    return true;
  }

  void Run() {
    TakeAged();
    if (manifest_.state != "running") return Rewrite();
    std::vector<std::string> folders = {own_name_};
    for (const std::string& name : Names(dir_)) {
      const auto device = format::DeviceOfFolder(name);
      if (name == "host" || device) folders.push_back(name);
    }
    for (const std::string& folder : folders) Folder(folder);
    Seal(folders);
  }

 private:
  static std::string Tag(std::string_view folder) {
    const auto device = format::DeviceOfFolder(folder);
    return device ? "." + std::to_string(*device) : "";
  }

  void Remark(const std::string& text) {
    if (result_.remarks.size() < kMaxRemarks) result_.remarks.push_back(base::OneLine(text, 300));
  }
  void Check(const std::string& what, const Status& status) {
    if (!status.ok()) Remark(what + ": " + status.message());
  }

  // What was told of a slice's ageing before it went; one that did not go any more goes now.
  void TakeAged() {
    if (!RegularFile(own_.get(), kAgedLog, uid_)) return;
    const auto text = ReadSmall(own_.get(), kAgedLog);
    if (!text) return;
    for (const AgedEntry& entry : ParseAgedLog(*text)) {
      const size_t slash = entry.path.find('/');
      const std::string folder = entry.path.substr(0, slash);
      const std::string file = slash == std::string::npos ? "" : entry.path.substr(slash + 1);
      const bool ours = folder == own_name_ || folder == "host" || format::DeviceOfFolder(folder).has_value();
      if (!ours || file.empty() || file.find('/') != std::string::npos || entry.aged.slices == 0) continue;
      uint64_t& slices = aged_slices_[entry.path];
      slices = std::max(slices, entry.aged.slices);
      uint32_t part = 0;
      for (format::ManifestStream& stream : manifest_.streams) {
        if (stream.folder == folder && stream.file == file && part++ == entry.part) stream.aged = entry.aged;
      }
      if (part == 0) aged_unknown_[entry.path] = entry.aged;  // began after the last manifest
      const UniqueFd side = OpenDir(dir_, folder, uid_);
      const UniqueFd data =
          folder == own_name_ ? OpenDir(dir_, folder, uid_) : OpenDir(side.get(), "data", uid_);
      const std::string last = format::SliceName(file, -1, entry.aged.slices - 1);
      ::unlinkat(data.get(), (last + ".done").c_str(), 0);
      ::unlinkat(data.get(), last.c_str(), 0);
    }
    for (format::ManifestStream& stream : manifest_.streams) {
      const auto slices = aged_slices_.find(stream.folder + "/" + stream.file);
      if (slices != aged_slices_.end()) stream.aged.slices = slices->second;
    }
  }

  void Folder(const std::string& folder) {
    const bool own = folder == own_name_;
    const UniqueFd side = OpenDir(dir_, folder, uid_);
    const UniqueFd data = own ? OpenDir(dir_, folder, uid_) : OpenDir(side.get(), "data", uid_);
    if (!side || !data) return Remark(folder + " is no directory of the user's: left alone");
    format::Chip chip = format::Chip::kUnknown;
    cores_by_task_ = false;
    if (!own) {
      if (const auto info = ReadSmall(side.get(), "info.json" + Tag(folder)))
        chip = format::ChipOf(*info).value_or(format::Chip::kUnknown);
      if (const auto sample = ReadSmall(side.get(), "sample.json"))
        cores_by_task_ = format::CoresByTask(*sample);
      MarkControlFiles(folder, side.get());
    }
    for (auto& [file, files] : List(folder, data.get())) Stream(folder, data.get(), file, files, chip);
  }

  // A kill between a control file and its marker.
  void MarkControlFiles(const std::string& folder, int side) {
    const std::vector<std::string> names = Names(side);
    const std::set<std::string> all(names.begin(), names.end());
    for (const std::string& name : all) {
      if (name.starts_with(".") && name.ends_with(".tmp")) ::unlinkat(side, name.c_str(), 0);
      if (name.starts_with(".") || name.ends_with(".done") || all.contains(name + ".done")) continue;
      if (const auto facts = RegularFile(side, name, uid_)) {
        Check(folder + "/" + name,
              ReplaceFile(side, name + ".done",
                          format::ControlDone(static_cast<uint64_t>(facts->st_size), name == "sample.json")));
      }
    }
  }

  std::map<std::string, Files> List(const std::string& folder, int data) {
    std::map<std::string, Files> streams;
    const std::vector<std::string> names = Names(data);
    if (names.size() >= kMaxNames) Remark(folder + " has more than a million files: not all were looked at");
    for (const std::string& name : names) {
      if (name.starts_with(".") && name.ends_with(".tmp")) ::unlinkat(data, name.c_str(), 0);
      const bool marker = name.ends_with(".done");
      const std::string slice = marker ? name.substr(0, name.size() - 5) : name;
      const size_t mark = slice.rfind(".slice_");
      const auto parsed = format::ParseSliceName(slice);
      if (!parsed || mark == std::string::npos) continue;
      const std::string file = slice.substr(0, mark);
      if (marker) {
        streams[file].marked.insert(parsed->slice);
        continue;
      }
      const auto facts = RegularFile(data, name, uid_);
      if (!facts) {
        Remark(folder + "/" + name + " is no file of the user's own: left alone");
        continue;
      }
      streams[file].sizes[parsed->slice] = static_cast<uint64_t>(facts->st_size);
      const auto written = static_cast<uint64_t>(facts->st_mtim.tv_sec) * 1'000'000'000 +
                           static_cast<uint64_t>(facts->st_mtim.tv_nsec);
      uint64_t& last = last_data_ns_[folder];
      last = std::max(last, written);
    }
    return streams;
  }

  void Stream(const std::string& folder, int data, const std::string& file, Files& files, format::Chip chip) {
    if (files.sizes.empty()) return;
    const std::string tag = Tag(folder);
    const std::string kind_file =
        !tag.empty() && file.ends_with(tag) ? file.substr(0, file.size() - tag.size()) : file;
    const FileShape shape = format::ShapeOf(folder, kind_file, chip, cores_by_task_);
    const uint64_t newest = files.sizes.rbegin()->first;
    uint64_t cut = 0;
    for (auto slice = files.sizes.begin(); slice != files.sizes.end();) {
      const std::string name = format::SliceName(file, -1, slice->first);
      if (files.marked.contains(slice->first)) {
        ++slice;
        continue;
      }
      if (slice->first == newest) {
        const auto whole = CutTail(data, name, uid_, shape, slice->second);
        if (!whole.ok()) {
          Remark(folder + "/" + name + ": " + whole.status().message());
        } else {
          cut = slice->second - *whole;
          slice->second = *whole;
          if (folder == "host" && file == format::file::kHostDisk && *whole > 0) {
            const auto added = EndDiskFile(data, name, uid_, *whole);
            Check(folder + "/" + name, added.status());
            if (added.ok()) slice->second += *added;
          }
        }
      }
      if (slice->second == 0) {  // as a writer that ends: a slice without data is none
        ::unlinkat(data, name.c_str(), 0);
        slice = files.sizes.erase(slice);
        continue;
      }
      Check(folder + "/" + name, ReplaceFile(data, name + ".done", format::SliceDone(slice->second)));
      ++slice;
    }
    result_.cut_bytes += cut;
    Account(folder, data, file, kind_file, files, shape, chip, cut);
  }

  // The manifest's entry of the stream, from what is in the files.
  void Account(const std::string& folder, int data, const std::string& file, const std::string& kind_file,
               const Files& files, const FileShape& shape, format::Chip chip, uint64_t cut) {
    // A kill may have come before the manifest knew what CANN's modules report.
    const bool is_known = format::HasStream(manifest_, folder, file) ||
                          manifest_.settings.contains("reports") ||
                          (chip != format::Chip::kUnknown && !format::kKnownToMspti.Has(chip));
    if (folder == "host" && format::IsStandIn(file, is_known)) return;
    uint64_t bytes = 0;
    for (const auto& [number, size] : files.sizes) bytes += size;
    std::optional<uint64_t> records;
    if (shape.what == FileShape::What::kFixed && shape.format->trailer.empty()) {
      records = bytes / shape.format->record_bytes;
    } else if (shape.what != FileShape::What::kUnknown && counted_bytes_ + bytes <= kCountedBytes) {
      counted_bytes_ += bytes;
      format::StreamCheck check(shape, false);
      for (const auto& [number, size] : files.sizes)
        Feed(data, format::SliceName(file, -1, number), uid_, size, check);
      records = check.records();
      bytes -= std::min(bytes, check.header_bytes());
      for (format::ManifestAgent& agent : manifest_.agents) {
        if (agent.lanes_file != file) continue;
        for (const auto& [number, count] : check.lane_records()) {
          auto lane = std::find_if(agent.lanes.begin(), agent.lanes.end(),
                                   [lane_number = number](const format::ManifestLane& known) {
                                     return known.lane == lane_number;
                                   });
          if (lane == agent.lanes.end())
            lane = agent.lanes.insert(lane, format::ManifestLane{number, 0, 0, 0, 0});
          lane->records = count;
        }
      }
    }
    format::ManifestStream& entry = EntryOf(folder, file, kind_file, chip);
    const uint64_t first = files.sizes.empty() ? entry.aged.slices : files.sizes.begin()->first;
    if (first > entry.aged.slices) {
      Remark(folder + "/" + file + ": " + std::to_string(first - entry.aged.slices) +
             " slices aged after the last manifest; their records are not counted");
      entry.aged.slices = first;
    }
    bytes += entry.aged.bytes;
    if (records) *records += entry.aged.records;
    // A file may be shared: the first of its streams gets what the others do not have.
    uint64_t others_bytes = 0;
    uint64_t others_records = 0;
    for (const format::ManifestStream& other : manifest_.streams) {
      if (&other == &entry || other.folder != folder || other.file != file) continue;
      others_bytes += other.bytes;
      others_records += other.records;
    }
    entry.bytes = bytes - std::min(bytes, others_bytes);
    if (records) {
      entry.records = *records - std::min(*records, others_records);
    } else {
      Remark(folder + "/" + file +
             ": records are counted up to the last half minute only, more may be there: profctl query says");
    }
    entry.slices = files.sizes.empty() ? 0 : files.sizes.rbegin()->first + 1;
    if (cut == 0) return;
    format::Loss loss;
    loss.where = format::Loss::Where::kWrite;
    loss.from_ns = loss.to_ns = RawAt(last_data_ns_[folder]);
    loss.bytes = cut;
    if (shape.what == FileShape::What::kFixed)
      loss.records = (cut + shape.format->record_bytes - 1) / shape.format->record_bytes;
    entry.losses.push_back(loss);
    entry.lost_bytes += loss.bytes;
    entry.lost_records += loss.records;
  }

  format::ManifestStream& EntryOf(const std::string& folder, const std::string& file,
                                  const std::string& kind_file, format::Chip chip) {
    for (format::ManifestStream& stream : manifest_.streams) {
      if (stream.folder == folder && stream.file == file) return stream;
    }
    format::ManifestStream& entry = manifest_.streams.emplace_back();
    entry.folder = folder;
    entry.file = file;
    if (const auto aged = aged_unknown_.find(folder + "/" + file); aged != aged_unknown_.end()) {
      entry.aged = aged->second;
    }
    const bool agent = file.ends_with(".names") || file.ends_with(".lanes");
    entry.unit = agent ? "agent" : "host";
    if (agent) entry.kind = file.ends_with(".names") ? "agent-names" : "agent-lanes";
    if (const auto device = format::DeviceOfFolder(folder)) {
      entry.unit = "device:" + std::to_string(*device);
      for (const format::ManifestKind& kind : manifest_.kinds) {
        if (kind.unit == entry.unit && is_file_of_(kind.kind, chip, kind_file)) entry.kind = kind.kind;
      }
    }
    return entry;
  }

  // When the last bytes of a folder came; never before the last clock pair, never in the future.
  uint64_t EndOf(const std::string& folder) const {
    const auto last = last_data_ns_.find(folder);
    const uint64_t wall = last == last_data_ns_.end() ? 0 : last->second;
    return std::clamp(wall, host_.wall_ns, std::max(host_.wall_ns, base::WallNs()));
  }
  uint64_t RawAt(uint64_t wall_ns) const {
    return wall_ns <= host_.wall_ns ? host_.host_raw_ns : host_.host_raw_ns + (wall_ns - host_.wall_ns);
  }

  void Seal(const std::vector<std::string>& folders) {
    uint64_t end = host_.wall_ns;
    for (const std::string& folder : folders) end = std::max(end, EndOf(folder));
    for (const std::string& folder : folders) {
      const UniqueFd side = folder == own_name_ ? UniqueFd() : OpenDir(dir_, folder, uid_);
      if (!side) continue;
      format::ClockPair at = host_;
      at.wall_ns = folder == "host" || !last_data_ns_.contains(folder) ? end : EndOf(folder);
      at.host_raw_ns = RawAt(at.wall_ns);
      const std::string name = "end_info" + Tag(folder);
      if (RegularFile(side.get(), name, uid_)) continue;  // killed while it sealed
      const std::string content = format::EndInfo(at);
      Check(folder + "/" + name, ReplaceFile(side.get(), name, content));
      Check(folder + "/" + name,
            ReplaceFile(side.get(), name + ".done", format::ControlDone(content.size(), false)));
    }
    for (format::ManifestAgent& agent : manifest_.agents) {
      if (agent.end.empty()) agent.end = "interrupted";
    }
    manifest_.state = "sealed";
    manifest_.end_reason = "interrupted";
    manifest_.settings["last_data_wall_ns"] = std::to_string(end);
    if (end > manifest_.begin_wall_ns && manifest_.begin_wall_ns > 0) {
      manifest_.elapsed_ns = std::max(manifest_.elapsed_ns, end - manifest_.begin_wall_ns);
    }
    CountKinds();
    if (result_.cut_bytes > 0) {
      manifest_.degraded.push_back("profd was killed while it wrote: " + std::to_string(result_.cut_bytes) +
                                   " bytes at the end were no whole records and are gone");
    }
    for (const std::string& remark : result_.remarks) manifest_.degraded.push_back("recovery: " + remark);
    Rewrite();
  }

  // Of the kinds whose streams are known, that is of devices; the rest is as of the last manifest.
  void CountKinds() {
    for (format::ManifestKind& kind : manifest_.kinds) {
      format::ManifestKind counted;
      bool known = false;
      for (const format::ManifestStream& stream : manifest_.streams) {
        if (stream.kind != kind.kind || stream.unit != kind.unit) continue;
        known = true;
        counted.bytes += stream.bytes;
        counted.records += stream.records;
        counted.lost += stream.lost_records;
      }
      if (!known) continue;
      kind.bytes = counted.bytes;
      kind.records = counted.records;
      kind.lost = counted.lost;
    }
  }

  // Last: a recovery that is killed is done again.
  void Rewrite() {
    const Status status = ReplaceFile(own_.get(), format::kManifestFile, format::WriteManifest(manifest_));
    Check(own_name_ + "/" + format::kManifestFile, status);
    result_.sealed = status.ok();
    if (status.ok()) ::unlinkat(own_.get(), kAgedLog, 0);
  }

  const int dir_;
  const std::string own_name_ = format::OwnFolderIn(dir_);  // profd's folder
  const uid_t uid_;
  const IsFileOf& is_file_of_;
  bool cores_by_task_ = false;  // in the folder that is being looked at
  Mended& result_;
  UniqueFd own_;
  format::Manifest manifest_;
  format::ClockPair host_;                        // the latest
  std::map<std::string, uint64_t> last_data_ns_;  // wall, by folder
  std::map<std::string, uint64_t> aged_slices_;   // by folder and file
  std::map<std::string, format::ManifestAged> aged_unknown_;
  uint64_t counted_bytes_ = 0;
};

}  // namespace

bool Mend(int dir, uid_t uid, uint64_t before_wall_ns, const IsFileOf& is_file_of, Mended& result) {
  Mender mender(dir, uid, is_file_of, result);
  if (!mender.Wanted(before_wall_ns)) return false;
  mender.Run();
  return true;
}

bool IsWrittenByAnother(const std::string& name) {
  const size_t at = name.rfind('_') + 1;
  pid_t pid = 0;
  std::from_chars(name.data() + at, name.data() + std::min(at + 8, name.size()), pid);
  if (pid == ::getpid() || pid <= 0) return false;
  const UniqueFd proc(::open(("/proc/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd comm(::openat(proc.get(), "comm", O_RDONLY | O_CLOEXEC));
  char text[16] = {};
  if (!comm || ::read(comm.get(), text, sizeof text - 1) <= 0 ||
      !std::string_view(text).starts_with("profd\n"))
    return false;
  char program[8];
  return ::readlinkat(proc.get(), "exe", program, sizeof program) >= 0 || errno != ENOENT;  // else it is dead
}

}  // namespace profd::mend
