#include "daemon/store/trace_files.h"

#include <algorithm>

#include "format/prof_dir.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

// Our own folder: no data/ below, and none of the vendor's business.
constexpr const char* kOwnFolder = "profd";
constexpr const char* kData = "data";

Status At(const std::string& path, Status status) {
  if (status.ok()) return status;
  return {status.code(), path + ": " + status.message()};
}

}  // namespace

Result<std::unique_ptr<TraceFiles>> TraceFiles::Create(FileSystem& fs, OpenFiles& open, uint32_t trace,
                                                       TraceSpec spec,
                                                       const std::vector<ControlFile>& control) {
  std::unique_ptr<TraceFiles> files(new TraceFiles(fs, open, trace, std::move(spec)));
  Status status = files->MakeTree();
  if (status.ok()) status = files->Replace(control);
  if (status.ok()) return files;
  files->Remove();
  return status;
}

TraceFiles::TraceFiles(FileSystem& fs, OpenFiles& open, uint32_t trace, TraceSpec spec)
    : fs_(fs), open_(open), trace_(trace), spec_(std::move(spec)) {}

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
  std::vector<std::string> names = spec_.folders;
  if (std::find(names.begin(), names.end(), kOwnFolder) == names.end()) names.emplace_back(kOwnFolder);
  for (const std::string& name : names) {
    Folder folder;
    PROFD_RETURN_IF_ERROR(make(root_.get(), name, spec_.name + "/" + name, folder.dir));
    Folder& kept = folders_[name] = std::move(folder);  // before data/, so that Remove() knows it
    if (name == kOwnFolder) continue;
    PROFD_RETURN_IF_ERROR(make(kept.dir.get(), kData, spec_.name + "/" + name + "/" + kData, kept.data));
  }
  return {};
}

void TraceFiles::Remove() {
  if (!root_ || !Own().ok()) return;
  // Nothing to do about an error here: what is not ours, or holds something that is not, stays.
  const auto remove = [this](int dir, const std::string& name) {
    [[maybe_unused]] const Status removed = fs_.Remove(dir, name);
  };
  for (const auto& [path, bytes] : control_) {
    std::string name;
    if (const Result<int> dir = DirOf(path, &name); dir.ok()) remove(*dir, name);
  }
  for (const auto& [name, folder] : folders_) {
    if (folder.data) remove(folder.dir.get(), kData);
    remove(root_.get(), name);
  }
  remove(spec_.parent.get(), spec_.name);
}

void TraceFiles::AddStream(uint32_t stream, StreamSpec spec) {
  if (streams_.contains(stream)) return;
  int dir = -1;
  if (const auto folder = folders_.find(spec.folder); folder != folders_.end()) {
    dir = folder->second.data ? folder->second.data.get() : folder->second.dir.get();
  } else {  // the kernel refuses its files, so its bytes are counted as lost
    Trouble({Code::kInvalidArgument, spec.folder + "/" + spec.file + ": no such folder in this trace"});
  }
  Stream& added = streams_[stream];
  added.stats = spec.stats ? spec.stats : std::make_shared<chunk::StreamStats>();
  added.written = spec.written;
  std::shared_ptr<SliceWriter>& slices = slices_[spec.folder + "/" + spec.file];
  if (!slices) slices = std::make_shared<SliceWriter>(fs_, open_, dir, spec_.slice_bytes, std::move(spec));
  added.slices = slices;
}

void TraceFiles::Store(const chunk::Chunk& chunk) {
  Stream& stream = streams_.at(chunk.header.key.stream);
  Status status = Own();
  if (status.ok()) status = stream.slices->Append(chunk.data, chunk.header.used);
  if (!status.ok()) {
    Trouble(status);
    Lose(stream, chunk);
    return;
  }
  stream.bytes += chunk.header.used;
  stream.records += chunk.header.records;
  stream.losses.NoteStored();
  chunk::Add(stream.stats->stored_bytes, chunk.header.used);
  chunk::Add(stream.stats->stored_records, chunk.header.records);
  if (stream.written) stream.written(chunk.data, chunk.header.used, true);
  if (stream.slices->Full()) Trouble(stream.slices->Finish());
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
  if (const Status owned = Own(); !owned.ok()) {
    Trouble(owned);
    return;
  }
  for (const auto& [name, slices] : slices_) Trouble(slices->Finish());
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
  return WriteOne(dir, file.path + ".done", name + ".done",
                  format::ControlDone(file.content.size(), file.done_blank));
}

Status TraceFiles::WriteOne(int dir, const std::string& path, const std::string& name,
                            const std::string& content) {
  PROFD_RETURN_IF_ERROR(ReplaceFile(fs_, open_, dir, name, content));
  control_[path] = content.size();
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
  return folder->second.dir.get();
}

TraceRecord TraceFiles::Record() const {
  TraceRecord record;
  record.error = error_;
  for (const auto& [path, bytes] : control_) record.bytes += bytes;
  for (const auto& [name, slices] : slices_) record.bytes += slices->disk_bytes();
  for (const auto& [number, stream] : streams_) {
    record.streams.push_back({.key = {trace_, number},
                              .folder = stream.slices->spec().folder,
                              .file = stream.slices->spec().file,
                              .slices = stream.slices->slices(),
                              .bytes = stream.bytes,
                              .records = stream.records,
                              .losses = stream.losses.losses()});
  }
  std::sort(record.streams.begin(), record.streams.end(),
            [](const StreamRecord& a, const StreamRecord& b) { return a.key.stream < b.key.stream; });
  return record;
}

void TraceFiles::Trouble(const Status& status) {
  if (!status.ok() && error_.empty()) error_ = status.message();
}

}  // namespace profd::store
