#include "client/export/framework/input/row_file.h"

#include <algorithm>
#include <cstring>

#include "client/export/framework/input/folder.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using format::framework::Bytes;

constexpr size_t kBuffer = 1u << 20;
constexpr char kCut[] = "the end of a record is not there";

}  // namespace

RowFile::RowFile(const base::UniqueFd& folder, const std::string& prefix, Report& report, Progress& progress)
    : prefix_(prefix), report_(report), progress_(progress) {
  if (!folder) return;
  for (const std::string& name : Names(folder.get())) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = std::string(kRecords) + "/" + name;
    if (fd_) {
      report_.Unread(path, "is read by nobody: " + name_ + " is of the same sort");
      continue;
    }
    std::string why;
    fd_ = OpenFile(folder.get(), name, &file_bytes_, &why);
    name_ = path;
    if (!fd_) report_.Skip({path, 0, 0, 0, why});
  }
  if (fd_) buffer_.resize(kBuffer);
}

RowFile::~RowFile() { Close(); }

void RowFile::Close() {
  if (!fd_) return;
  fd_.Reset();
  report_.Count(name_, prefix_, passed_, rows_ - refused_);
  if (refused_ > 0) report_.Skip({name_, 0, 0, refused_, "what they say cannot be"});
  if (torn_ > 0) report_.Skip({name_, 0, 0, torn_, "their last field is cut; what is before it is used"});
}

bool RowFile::Have(size_t bytes) {
  // What a row says of its size is believed as far as the file has it.
  if (bytes > std::max<uint64_t>(end_ - at_, file_bytes_ - std::min(file_bytes_, passed_))) return false;
  while (end_ - at_ < bytes) {
    if (at_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
      end_ -= at_;
      at_ = 0;
    }
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    const ssize_t got = ReadSome(fd_.get(), buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0) report_.Skip({name_, passed_, 0, 0, base::Status::FromErrno("cannot be read").message()});
    if (got <= 0) return false;
    end_ += static_cast<size_t>(got);
    progress_.bytes += static_cast<uint64_t>(got);
  }
  return true;
}

Bytes RowFile::Take(size_t bytes) {
  const Bytes row = Rest().first(bytes);
  at_ += bytes;
  passed_ += bytes;
  ++rows_;
  return row;
}

std::nullopt_t RowFile::End(const std::string& why) {
  const uint64_t left = std::max<uint64_t>(file_bytes_ - std::min(passed_, file_bytes_), end_ - at_);
  if (left > 0) report_.Skip({name_, passed_, left, 0, why});
  Close();
  return std::nullopt;
}

std::optional<Bytes> RowFile::NextValue() {
  if (!fd_ || progress_.cancelled) return std::nullopt;
  if (!Have(format::framework::kHeadBytes)) return End(kCut);
  const uint64_t bytes = format::framework::RowBytes(Rest());
  if (bytes > kMostRowBytes)
    return End("a record says that it has " + std::to_string(bytes) + " bytes; the largest have some KiB");
  if (!Have(static_cast<size_t>(bytes))) return End(kCut);
  return format::framework::ValueOf(Take(static_cast<size_t>(bytes)));
}

std::optional<Bytes> RowFile::Next(size_t bytes) {
  if (!fd_ || progress_.cancelled) return std::nullopt;
  if (!Have(bytes)) return End(kCut);
  return Take(bytes);
}

}  // namespace profd::client::framework
