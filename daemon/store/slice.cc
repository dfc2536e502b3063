#include "daemon/store/slice.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "format/directory/prof_dir.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr uint64_t kQuickNs = 2'000'000'000;
constexpr uint64_t kSlowNs = 10'000'000'000;
constexpr uint64_t kMostTimesLarger = 16;

}  // namespace

Status ReplaceFile(FileSystem& fs, OpenFiles& open, int dir, const std::string& name,
                   const std::string& content) {
  const std::string beside = "." + name + ".tmp";
  const auto create = [&] { return fs.CreateFile(dir, beside); };
  Result<UniqueFd> file = open.Try(create);
  if (!file.ok() && file.status().code() == Code::kAlreadyExists) {
    // Left by an attempt that could not clean up after itself.
    PROFD_RETURN_IF_ERROR(fs.Remove(dir, beside));
    file = open.Try(create);
  }
  Status status = file.status();
  if (status.ok()) status = fs.Append(file->get(), 0, content.data(), content.size(), 0);
  if (status.ok()) status = fs.Rename(dir, beside, name);
  if (!status.ok() && file.ok()) {
    [[maybe_unused]] const Status removed = fs.Remove(dir, beside);  // the first error is the one to report
  }
  return status;
}

SliceWriter::SliceWriter(FileSystem& fs, OpenFiles& open, Budget& budget, int dir, uint64_t slice_bytes,
                         chunk::StreamSpec spec)
    : fs_(fs),
      open_(open),
      budget_(budget),
      dir_(dir),
      slice_bytes_(slice_bytes),
      full_bytes_(slice_bytes),
      spec_(std::move(spec)),
      file_(open) {}

// Four names come and go with every slice: fast streams have fewer, larger ones. Not under a limit, which
// says how small they have to be.
void SliceWriter::Fit() {
  if (budget_.limited()) return;
  const uint64_t took_ns = base::MonotonicNs() - opened_ns_;
  if (took_ns < kQuickNs) {
    full_bytes_ = std::min(2 * full_bytes_, kMostTimesLarger * slice_bytes_);
  } else if (took_ns > kSlowNs) {
    full_bytes_ = std::max(full_bytes_ / 2, slice_bytes_);
  }
}

Status SliceWriter::Append(const std::byte* data, size_t bytes) {
  if (name_.empty()) allocated_ = 0;
  Status status = OpenTail();
  if (status.ok()) status = Extend(data, bytes, AtOnce(bytes));
  Measure();
  if (status.ok()) has_data_ = true;
  return Named(std::move(status));
}

uint64_t SliceWriter::Overhead() const {
  return name_.empty()
             ? BlocksOf(spec_.first_slice_header.size() + spec_.every_slice_header.size()) + BlocksOf(1)
             : BlocksOf(1);
}

Status SliceWriter::Remove(uint64_t number) {
  const std::string name = format::SliceName(spec_.file, -1, number);
  unmarked_.erase(number);
  // The marker first: a kill in between leaves a whole slice, not a marker of none.
  for (const std::string& each : {name + ".done", name}) {
    const Status removed = fs_.Remove(dir_, each);
    if (!removed.ok() && removed.code() != base::Code::kNotFound) {
      return removed.In(spec_.folder + "/" + each);
    }
  }
  return {};
}

void SliceWriter::RemoveAll() {
  for (uint64_t number = 0; number < slices(); ++number) {
    const std::string name = format::SliceName(spec_.file, -1, number);
    uint64_t bytes = 0;
    for (const std::string& each : {name, name + ".done"}) {
      if (const Result<uint64_t> allocated = fs_.AllocatedBytes(dir_, each); allocated.ok())
        bytes += *allocated;
    }
    if (Remove(number).ok()) budget_.Change(bytes, 0);
  }
}

// File systems may allocate ahead while a file is open.
void SliceWriter::Measure() {
  uint64_t now = BlocksOf(size_);
  if (budget_.limited() && !name_.empty()) {
    const Result<uint64_t> allocated = fs_.AllocatedBytes(dir_, name_);
    if (allocated.ok()) now = std::max(now, *allocated);
  }
  budget_.Change(allocated_, now);
  allocated_ = now;
}

Status SliceWriter::Finish() {
  if (name_.empty()) return Mark();
  if (Full()) Fit();
  Status status;
  if (torn_) status = OpenTail();
  if (const int fd = file_.Use(); fd >= 0) fs_.Closed(fd);
  file_.Close();
  Measure();
  if (has_data_) {
    unmarked_[number_] = size_;
    closed_bytes_ += size_;
  } else {
    status = fs_.Remove(dir_, name_);
    if (status.ok()) budget_.Change(std::exchange(allocated_, 0), 0);
  }
  status = Named(std::move(status));
  if (has_data_) ++number_;
  name_.clear();
  size_ = 0;
  has_data_ = false;
  torn_ = false;
  const Status marked = Mark();
  return status.ok() ? marked : status;
}

Status SliceWriter::Mark() {
  while (!unmarked_.empty()) {
    const auto [number, size] = *unmarked_.begin();
    const std::string name = format::SliceName(spec_.file, -1, number) + ".done";
    const std::string marker = format::SliceDone(size);
    const Status marked = ReplaceFile(fs_, open_, dir_, name, marker);
    if (!marked.ok()) return marked.In(spec_.folder + "/" + name);
    unmarked_.erase(number);
    closed_bytes_ += marker.size();
    budget_.Change(allocated_, allocated_ + BlocksOf(marker.size()));
    allocated_ += BlocksOf(marker.size());
  }
  return {};
}

// Afterwards the file is open and ends at `size_`, behind its header.
Status SliceWriter::OpenTail() {
  if (name_.empty()) {
    std::string name = format::SliceName(spec_.file, -1, number_);
    PROFD_ASSIGN_OR_RETURN(UniqueFd fd, open_.Try([&] { return fs_.CreateFile(dir_, name); }));
    name_ = std::move(name);
    opened_ns_ = base::MonotonicNs();
    file_.Hold(std::move(fd));
  } else if (file_.Use() < 0) {
    PROFD_ASSIGN_OR_RETURN(UniqueFd fd, open_.Try([&] { return fs_.OpenFile(dir_, name_); }));
    file_.Hold(std::move(fd));
  }
  PROFD_RETURN_IF_ERROR(Repair());
  if (size_ > 0) return {};
  const std::string header = Header();
  return header.empty() ? Status::Ok() : Extend(header.data(), header.size(), 0);
}

// How much of `data` may be cut at any page's edge: all of it where records fill pages, else what is before
// the record that lies across the first edge. Text may be cut, which every reader of text knows how to
// take; zeros in front of its rest would be worse.
size_t SliceWriter::AtOnce(size_t bytes) const {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t to_edge = page - size_ % page;
  if (bytes <= to_edge) return bytes;
  if (spec_.records == chunk::StreamSpec::Records::kFixed) {
    const bool fills_pages = page % spec_.record_bytes == 0 && size_ % spec_.record_bytes == 0;
    return fills_pages ? bytes : to_edge / spec_.record_bytes * spec_.record_bytes;
  }
  return spec_.records == chunk::StreamSpec::Records::kText ? bytes : 0;
}

Status SliceWriter::Extend(const void* data, size_t bytes, size_t at_once) {
  Status status = fs_.Append(file_.Use(), size_, data, bytes, at_once);
  if (status.ok()) {
    size_ += bytes;
    return status;
  }
  torn_ = true;
  [[maybe_unused]] const Status repaired = Repair();  // else before the next bytes
  return status;
}

Status SliceWriter::Repair() {
  if (!torn_) return {};
  PROFD_RETURN_IF_ERROR(fs_.Truncate(file_.Use(), size_));
  torn_ = false;
  return {};
}

std::string SliceWriter::Header() const {
  return number_ == 0 ? spec_.first_slice_header + spec_.every_slice_header : spec_.every_slice_header;
}

Status SliceWriter::Named(Status status) const {
  if (status.ok()) return status;
  return status.In(spec_.folder + "/" + format::SliceName(spec_.file, -1, number_));
}

}  // namespace profd::store
