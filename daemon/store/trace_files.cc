#include "daemon/store/trace_files.h"

#include <sys/file.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using format::kOwnFolder;

namespace {

constexpr const char* kData = "data";
constexpr std::string_view kDataPrefix = "data/", kDone = ".done";
constexpr const char* kManifestSpare = ".manifest.json.tmp";

// Slices that go for one chunk, or one file, on a full disk.
constexpr size_t kMostAgedForOne = 16;
constexpr size_t kMaxPauses = 100;
constexpr const char* kUnasked = "flight recorder: not asked for";
constexpr uint64_t kSlowTryNs = 50'000'000;
constexpr uint64_t kTryAtLeastEveryNs = 10'000'000'000;

Status At(const std::string& path, Status status) {
  if (status.ok()) return status;
  return status.In(path);
}

}  // namespace

Result<std::unique_ptr<TraceFiles>> TraceFiles::Create(FileSystem& fs, OpenFiles& open, uint32_t trace,
                                                       TraceSpec spec,
                                                       const std::vector<ControlFile>& control) {
  if (!spec.budget) spec.budget = std::make_shared<Budget>();
  std::unique_ptr<TraceFiles> files(new TraceFiles(fs, open, trace, std::move(spec)));
  Status status = files->MakeTree();
  if (status.ok()) status = files->Replace(control);
  if (status.ok()) return files;
  files->Remove();
  return status;
}

TraceFiles::TraceFiles(FileSystem& fs, OpenFiles& open, uint32_t trace, TraceSpec spec)
    : fs_(fs, spec.flusher), open_(open), trace_(trace), spec_(std::move(spec)) {
  spec_.budget->Join(this);
}

TraceFiles::~TraceFiles() { spec_.budget->Leave(this); }

Status TraceFiles::Own() { return fs_.BecomeOwner(spec_.uid, spec_.gid); }

Status TraceFiles::MakeTree() {
  PROFD_RETURN_IF_ERROR(Own());
  const auto make = [this](int parent, const std::string& name, const std::string& path, UniqueFd& into) {
    Result<UniqueFd> made = open_.Try([&] { return fs_.MakeDir(parent, name); });
    if (!made.ok()) return At(path, made.status());
    into = std::move(made).value();
    return Status::Ok();
  };
  PROFD_RETURN_IF_ERROR(make(spec_.parent.get(), spec_.name, spec_.name, root_));
  ::flock(root_.get(), LOCK_SH | LOCK_NB);  // nobody repairs what is under way
  std::vector<std::string> names = spec_.folders;
  if (std::find(names.begin(), names.end(), kOwnFolder) == names.end()) names.emplace_back(kOwnFolder);
  for (const std::string& name : names) {
    Folder folder;
    PROFD_RETURN_IF_ERROR(make(root_.get(), name, spec_.name + "/" + name, folder.dir));
    Folder& kept = folders_[name] = std::move(folder);  // before data/, so that Remove() knows it
    if (name != kOwnFolder) {
      PROFD_RETURN_IF_ERROR(make(kept.dir.get(), kData, spec_.name + "/" + name + "/" + kData, kept.data));
    }
    Measure(kept);
  }
  if (spec_.budget->ages()) aged_log_.emplace(fs_, open_, folders_.at(kOwnFolder).dir.get());
  return {};
}

void TraceFiles::Complete() {
  if (!Own().ok()) return;
  if (manifest_) Trouble(manifest_->Settle());
  if (aged_log_) Trouble(aged_log_->Remove());
  ::flock(root_.get(), LOCK_UN);  // the flusher may have it open for a while
}

void TraceFiles::Remove() {
  if (!root_ || !Own().ok()) return;
  // Nothing to do about an error here: what is not ours, or holds something that is not, stays.
  const auto remove = [this](int dir, const std::string& name) {
    [[maybe_unused]] const Status removed = fs_.Remove(dir, name);
  };
  if (const auto own = folders_.find(kOwnFolder); own != folders_.end()) {
    remove(own->second.dir.get(), kManifestSpare);
    if (manifest_) manifest_->Forget();
    if (aged_log_) [[maybe_unused]]
      const Status removed = aged_log_->Remove();
  }
  Settle();
  for (File& file : files_) {
    if (file.folder != nullptr) file.slices->RemoveAll();
  }
  for (const auto& [path, bytes] : control_) {
    if (path != format::ManifestPath()) spec_.budget->Change(BlocksOf(bytes), 0);
    std::string name;
    if (const Result<int> dir = DirOf(path, &name); dir.ok()) remove(*dir, name);
  }
  for (const auto& [name, folder] : folders_) {
    spec_.budget->Change(folder.allocated_bytes, 0);
    if (folder.data) remove(folder.dir.get(), kData);
    remove(root_.get(), name);
  }
  remove(spec_.parent.get(), spec_.name);
}

void TraceFiles::AddStream(uint32_t stream, chunk::StreamSpec spec) {
  if (streams_.contains(stream)) return;
  Stream& added = streams_[stream];
  added.stats = spec.stats ? spec.stats : std::make_shared<chunk::StreamStats>();
  added.written = spec.written;
  added.whole = spec.whole;
  added.recent = !spec.whole && !spec.direct && spec_.recent != nullptr;
  added.buffer = spec.buffer;
  added.file = &FileOf(std::move(spec));
  added.part = added.file->parts++;
}

TraceFiles::File& TraceFiles::FileOf(chunk::StreamSpec spec) {
  File*& known = file_by_path_[spec.folder + "/" + spec.file];
  if (known != nullptr) return *known;
  File& file = files_.emplace_back();
  known = &file;
  if (const auto folder = folders_.find(spec.folder); folder != folders_.end()) {
    file.folder = &folder->second;
  } else {  // the kernel refuses its files, so its bytes are counted as lost
    Trouble({Code::kInvalidArgument, spec.folder + "/" + spec.file + ": no such folder in this trace"});
  }
  file.ages = !spec.one_slice && spec_.budget->ages();
  if (file.ages && aged_log_ && Own().ok()) {
    // Without it the count may not be exact after a kill.
    const uint64_t before = aged_log_->room();
    [[maybe_unused]] const Status reserved = aged_log_->Open(files_.size() + 1);
    if (aged_log_->room() != before) Measure(folders_.at(kOwnFolder));
  }
  file.present.file = static_cast<uint32_t>(files_.size() - 1);
  if (file.ages) spec_.budget->ChangeStreams(1);
  file.slices =
      std::make_unique<SliceWriter>(fs_, open_, *spec_.budget, file.folder ? file.folder->DataDir() : -1,
                                    spec_.slice_bytes, std::move(spec));
  return file;
}

void TraceFiles::Store(const chunk::Chunk& chunk) {
  Stream& stream = streams_.at(chunk.header.key.stream);
  if (IsLeftOut(stream, chunk.header)) return;
  if (!stream.recent) return Write(stream, chunk);
  if (recent_from_ns_ == 0) recent_from_ns_ = chunk.header.first_time_ns;
  spec_.recent->Add(chunk, stream.buffer);
}

void TraceFiles::WriteRecent(uint64_t from_ns) {
  if (spec_.recent == nullptr) return;
  uint64_t first_ns = UINT64_MAX;
  uint64_t last_ns = 0;
  for (RecentChunks::Held& held : spec_.recent->Take(trace_, from_ns)) {
    first_ns = std::min(first_ns, held.header.first_time_ns);
    last_ns = std::max(last_ns, held.header.last_time_ns);
    Write(streams_.at(held.header.key.stream),
          {.header = held.header, .data = held.data.get(), .capacity = held.header.used});
  }
  if (last_ns == 0) return;
  if (finished_) CutAll();
  NoteUnasked(recent_from_ns_, first_ns);
  recent_from_ns_ = last_ns;
}

// What was in memory before the first chunk that is written now. So that nobody takes it for a gap in the
// data.
void TraceFiles::NoteUnasked(uint64_t from_ns, uint64_t to_ns) {
  if (from_ns >= to_ns || unasked_.size() == kMaxPauses) return;
  unasked_.push_back({.from_ns = from_ns, .to_ns = to_ns, .reason = kUnasked});
}

void TraceFiles::Write(Stream& stream, const chunk::Chunk& chunk) {
  File& file = *stream.file;
  const bool paused = !pauses_.empty() && pauses_.back().to_ns == 0;
  const uint64_t now = paused ? base::MonotonicNs() : 0;
  if (paused && now < next_try_ns_) return Lose(stream, chunk);
  if (const Status status = Put(file, chunk); !status.ok()) {
    Trouble(status);
    Pause(status, paused ? base::MonotonicNs() - now : 0);
    return Lose(stream, chunk);
  }
  if (paused) Resume();
  stream.bytes += chunk.header.used;
  stream.records += chunk.header.records;
  stream.losses.NoteStored();
  chunk::Add(stream.stats->stored_bytes, chunk.header.used);
  chunk::Add(stream.stats->stored_records, chunk.header.records);
  if (stream.written) stream.written(chunk.data, chunk.header.used, true);
  spec_.budget->NoteStored(chunk.header.first_time_ns, chunk.header.last_time_ns);
  if (file.ages) NotePart(file, chunk.header);
  if (file.slices->Full()) Cut(file);
}

Status TraceFiles::Put(File& file, const chunk::Chunk& chunk) {
  const uint64_t first_ns = std::min(file.present.first_ns, chunk.header.last_time_ns);
  if (!file.present.parts.empty() && chunk.header.last_time_ns - first_ns >= spec_.budget->SliceNs()) {
    Cut(file);
  }
  PROFD_RETURN_IF_ERROR(spec_.budget->MakeRoom(BlocksOf(chunk.header.used) + file.slices->Overhead()));
  PROFD_RETURN_IF_ERROR(Own());
  Status status = file.slices->Append(chunk.data, chunk.header.used);
  for (size_t aged = 0; aged < kMostAgedForOne && MayAgeFor(status); ++aged) {
    if (!spec_.budget->AgeOldest().ok()) break;
    status = file.slices->Append(chunk.data, chunk.header.used);
  }
  return status;
}

bool TraceFiles::MayAgeFor(const Status& status) const {
  return spec_.budget->ages() && spec_.budget->on_full() == OnFull::kAge && IsDiskFull(status);
}

// A disk that fails at once is tried with every chunk, one that takes its time a twentieth of the time.
void TraceFiles::Pause(const Status& why, uint64_t tried_for_ns) {
  const uint64_t rest_ns = tried_for_ns < kSlowTryNs ? 0 : std::min(kTryAtLeastEveryNs, 20 * tried_for_ns);
  next_try_ns_ = base::MonotonicNs() + rest_ns;
  if (!pauses_.empty() && pauses_.back().to_ns == 0) return;
  if (pauses_.size() < kMaxPauses) {
    pauses_.push_back({.from_ns = base::RawNs(), .to_ns = 0, .reason = why.message()});
  } else {
    pauses_.back().to_ns = 0;  // joined to the last one
  }
  spec_.budget->Pause(why.message());
}

void TraceFiles::Resume() {
  pauses_.back().to_ns = base::RawNs();
  spec_.budget->Resume();
}

void TraceFiles::PauseAsked(bool paused, uint64_t at_ns, const std::string& reason) {
  const bool is_paused = !asked_.empty() && asked_.back().to_ns == 0;
  if (paused == is_paused) return;
  if (!paused) {
    asked_.back().to_ns = at_ns;
  } else if (asked_.size() < kMaxPauses) {
    asked_.push_back({.from_ns = at_ns, .to_ns = 0, .reason = reason});
  } else {
    asked_.back().to_ns = 0;  // joined to the last one
  }
}

bool TraceFiles::IsLeftOut(const Stream& stream, const format::ChunkHeader& header) const {
  return !stream.whole && std::ranges::any_of(asked_, [&header](const format::ManifestPause& pause) {
    return pause.from_ns <= header.first_time_ns && (pause.to_ns == 0 || header.last_time_ns <= pause.to_ns);
  });
}

void TraceFiles::NotePart(File& file, const format::ChunkHeader& header) {
  ClosedSlice& slice = file.present;
  if (slice.parts.empty()) {
    if (file.newest) spec_.budget->Offer(this, *std::exchange(file.newest, std::nullopt));
    slice.first_ns = header.first_time_ns;
    slice.last_ns = header.last_time_ns;
  }
  slice.first_ns = std::min(slice.first_ns, header.first_time_ns);
  slice.last_ns = std::max(slice.last_ns, header.last_time_ns);
  const auto same = std::find_if(slice.parts.begin(), slice.parts.end(), [&](const ClosedSlice::Part& part) {
    return part.stream == header.key.stream;
  });
  ClosedSlice::Part& part = same != slice.parts.end() ? *same : slice.parts.emplace_back();
  part.stream = header.key.stream;
  part.records += header.records;
  part.bytes += header.used;
}

void TraceFiles::Cut(File& file) {
  if (const Status owned = Own(); !owned.ok()) {
    Trouble(owned);
    return;
  }
  // Its marker may need room, for which anything may age, this slice, too: so it counts as closed before
  // that.
  if (!file.present.parts.empty()) {
    ClosedSlice& closed = file.newest.emplace(std::exchange(file.present, {}));
    file.present.file = closed.file;
    closed.number = file.slices->slices() - 1;
    closed.disk_bytes = file.slices->allocated_bytes();
  }
  Trouble(Marked(file));
  if (file.folder != nullptr) Measure(*file.folder);
  if (file.newest && file.newest->number + 1 == file.slices->slices())
    file.newest->disk_bytes = file.slices->allocated_bytes();
}

// The markers of closed slices; those that found no room before are tried again.
Status TraceFiles::Marked(File& file) {
  Status status = file.slices->Finish();
  if (marks_) return status;  // of a slice that is cut to age for another's marker
  marks_ = true;
  for (size_t aged = 0; aged < kMostAgedForOne && MayAgeFor(status); ++aged) {
    if (!spec_.budget->AgeOldest().ok()) break;
    status = file.slices->Finish();
  }
  marks_ = false;
  return status;
}

// A directory grows with its files; profd's own holds the log of what has aged.
void TraceFiles::Measure(Folder& folder) {
  uint64_t now = 0;
  for (const int dir : {folder.dir.get(), folder.data.get()}) {
    if (dir < 0) continue;
    if (const Result<uint64_t> allocated = fs_.AllocatedBytes(dir, "."); allocated.ok()) now += *allocated;
  }
  if (!folder.data) {
    if (const Result<uint64_t> log = fs_.AllocatedBytes(folder.dir.get(), mend::kAgedLog); log.ok())
      now += *log;
  }
  spec_.budget->Change(std::exchange(folder.allocated_bytes, now), now);
}

Status TraceFiles::Age(const ClosedSlice& slice) {
  PROFD_RETURN_IF_ERROR(Own());
  File& file = files_[slice.file];
  const auto with = [&slice](format::ManifestAged aged, const ClosedSlice::Part& part) {
    aged.from_ns = aged.bytes == 0 ? slice.first_ns : std::min(aged.from_ns, slice.first_ns);
    aged.to_ns = std::max(aged.to_ns, slice.last_ns);
    aged.bytes += part.bytes;
    aged.records += part.records;
    return aged;
  };
  for (const ClosedSlice::Part& part : slice.parts) {
    const Stream& stream = streams_.at(part.stream);
    mend::AgedEntry entry{file.slices->spec().folder + "/" + file.slices->spec().file, stream.part,
                          with(stream.aged, part)};
    entry.aged.slices = slice.number + 1;
    if (aged_log_) Trouble(aged_log_->Note(part.stream, entry));
  }
  PROFD_RETURN_IF_ERROR(file.slices->Remove(slice.number));
  ++file.aged_slices;
  for (const ClosedSlice::Part& part : slice.parts) {
    Stream& stream = streams_.at(part.stream);
    stream.aged = with(stream.aged, part);
  }
  return {};
}

uint64_t TraceFiles::OldestNewest() const {
  uint64_t oldest = UINT64_MAX;
  for (const File& file : files_) {
    if (file.newest) oldest = std::min(oldest, file.newest->first_ns);
    if (!file.present.parts.empty()) oldest = std::min(oldest, file.present.first_ns);
  }
  return oldest;
}

void TraceFiles::OfferOldestNewest() {
  const uint64_t oldest = OldestNewest();
  for (File& file : files_) {
    if (!file.present.parts.empty() && file.present.first_ns == oldest) Cut(file);
    if (!file.newest || file.newest->first_ns != oldest) continue;
    spec_.budget->Offer(this, *std::exchange(file.newest, std::nullopt));
    return;
  }
}

void TraceFiles::Refuse(const chunk::Chunk& chunk) { Lose(streams_.at(chunk.header.key.stream), chunk); }

void TraceFiles::Lose(Stream& stream, const chunk::Chunk& chunk) {
  const format::ChunkHeader& header = chunk.header;
  if (stream.written) stream.written(chunk.data, header.used, false);
  chunk::Add(stream.stats->write_lost_bytes, header.used);
  chunk::Add(stream.stats->write_lost_records, header.records);
  stream.losses.Add({.where = format::Loss::Where::kWrite,
                     .from_ns = header.first_time_ns,
                     .to_ns = header.last_time_ns,
                     .records = header.records,
                     .bytes = header.used});
}

void TraceFiles::NoteLoss(uint32_t stream, const format::Loss& loss) { streams_.at(stream).losses.Add(loss); }

void TraceFiles::Finish() {
  if (recent_at_finish_) WriteRecent(0);
  if (const Status owned = Own(); !owned.ok()) {
    Trouble(owned);
    return;
  }
  finished_ = true;
  CutAll();
  for (File& file : files_) {
    if (!file.ages) continue;
    // Whatever follows is in another directory.
    if (file.newest) spec_.budget->Offer(this, *std::exchange(file.newest, std::nullopt));
    spec_.budget->ChangeStreams(-1);
  }
}

void TraceFiles::CutAll() {
  for (File& file : files_) Cut(file);
}

Status TraceFiles::Replace(const std::vector<ControlFile>& control) {
  Status first = Own();
  if (!first.ok()) return first;
  for (const ControlFile& file : control) {
    const Status status = At(spec_.name + "/" + file.path, WriteControl(file));
    if (first.ok()) first = status;
  }
  Trouble(first);
  return first;
}

Status TraceFiles::WriteControl(const ControlFile& file) {
  std::string name;
  PROFD_ASSIGN_OR_RETURN(const int dir, DirOf(file.path, &name));
  PROFD_RETURN_IF_ERROR(WriteOne(dir, file.path, name, file.content));
  if (!file.done) return {};
  const uint64_t bytes = file.content.size();
  return WriteOne(
      dir, file.path + ".done", name + ".done",
      format::ParseSliceName(name) ? format::SliceDone(bytes) : format::ControlDone(bytes, file.done_blank));
}

Status TraceFiles::WriteOne(int dir, const std::string& path, const std::string& name,
                            const std::string& content) {
  if (path == format::ManifestPath()) {
    control_[path] = content.size();
    if (!manifest_) manifest_.emplace(fs_, open_, *spec_.budget, dir, name);
    return manifest_->Replace(content);
  }
  Status status = ReplaceFile(fs_, open_, dir, name, content);
  for (size_t aged = 0; aged < kMostAgedForOne && MayAgeFor(status); ++aged) {
    if (!spec_.budget->AgeOldest().ok()) break;
    status = ReplaceFile(fs_, open_, dir, name, content);
  }
  PROFD_RETURN_IF_ERROR(status);
  uint64_t& bytes = control_[path];
  spec_.budget->Change(BlocksOf(bytes), BlocksOf(content.size()));
  bytes = content.size();
  return {};
}

Result<int> TraceFiles::DirOf(const std::string& path, std::string* name) const {
  const size_t slash = path.find('/');
  if (slash == std::string::npos) {
    *name = path;
    return root_.get();
  }
  const auto folder = folders_.find(path.substr(0, slash));
  if (folder == folders_.end()) return Status(Code::kInvalidArgument, "no such folder in this trace");
  *name = path.substr(slash + 1);
  if (!name->starts_with(kDataPrefix)) return folder->second.dir.get();
  *name = name->substr(kDataPrefix.size());
  std::string_view slice = *name;  // or its marker
  if (slice.ends_with(kDone)) slice.remove_suffix(kDone.size());
  if (!format::ParseSliceName(slice))
    return Status(Code::kInvalidArgument, "only slices are in a folder of data");
  return folder->second.DataDir();
}

TraceRecord TraceFiles::Record() const {
  TraceRecord record;
  record.error = error_.empty() ? fs_.error() : error_;
  record.pauses = pauses_;
  for (const auto* more : {&asked_, &unasked_})
    record.pauses.insert(record.pauses.end(), more->begin(), more->end());
  std::ranges::sort(record.pauses, {}, &format::ManifestPause::from_ns);
  record.may_change = spec_.recent != nullptr && spec_.recent->HasAny(trace_);
  for (const auto& [path, bytes] : control_) record.bytes += bytes;
  for (const File& file : files_) {
    record.bytes += file.slices->disk_bytes();
    record.may_change |= file.ages && file.slices->slices() > file.aged_slices;
  }
  for (const auto& [number, stream] : streams_) {
    record.streams.push_back({.key = {trace_, number},
                              .folder = stream.file->slices->spec().folder,
                              .file = stream.file->slices->spec().file,
                              .kind = stream.file->slices->spec().kind,
                              .unit = stream.file->slices->spec().unit,
                              .slices = stream.file->slices->slices(),
                              .bytes = stream.bytes,
                              .records = stream.records,
                              .aged = stream.aged,
                              .losses = stream.losses.losses()});
    record.streams.back().aged.slices = stream.file->aged_slices;
  }
  std::sort(record.streams.begin(), record.streams.end(),
            [](const StreamRecord& a, const StreamRecord& b) { return a.key.stream < b.key.stream; });
  return record;
}

void TraceFiles::Trouble(const Status& status) {
  if (!status.ok() && error_.empty()) error_ = status.message();
}

}  // namespace profd::store
