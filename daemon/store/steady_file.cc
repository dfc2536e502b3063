#include "daemon/store/steady_file.h"

#include <algorithm>
#include <utility>

#include "daemon/store/slice.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr uint64_t kLeastRoom = 64ull << 10;

}  // namespace

// The other file, with room for what comes.
Status SteadyFile::Prepare() {
  const uint64_t wanted = std::max(kLeastRoom, BlocksOf(4 * content_.size()));
  if (spare_ && content_.size() <= room_ / 2) return {};
  if (!spare_) {
    Result<UniqueFd> made = open_.Try([&] { return fs_.CreateFile(dir_, Spare()); });
    if (!made.ok() && made.status().code() == Code::kAlreadyExists) {
      PROFD_RETURN_IF_ERROR(fs_.Remove(dir_, Spare()));
      made = open_.Try([&] { return fs_.CreateFile(dir_, Spare()); });
    }
    PROFD_RETURN_IF_ERROR(made.status());
    sizes_[1] = 0;
    spare_ = true;
  }
  for (const std::string& each : {name_, Spare()}) {
    PROFD_ASSIGN_OR_RETURN(const UniqueFd file, open_.Try([&] { return fs_.OpenFile(dir_, each); }));
    PROFD_RETURN_IF_ERROR(fs_.Reserve(file.get(), wanted));
  }
  room_ = wanted;
  return {};
}

Status SteadyFile::Replace(const std::string& content) {
  content_ = content;
  const bool first = sizes_[0] == 0;
  if (first || plain_) {
    PROFD_RETURN_IF_ERROR(ReplaceFile(fs_, open_, dir_, name_, content));
    sizes_[0] = content.size();
    spare_ = false;
    Measure();
    return {};
  }
  const Status prepared = Prepare();
  if (!prepared.ok() && !spare_) return prepared;
  std::string padded = content;
  if (padded.size() < sizes_[1]) padded.resize(sizes_[1], ' ');
  Result<UniqueFd> file = open_.Try([&] { return fs_.OpenFile(dir_, Spare()); });
  PROFD_RETURN_IF_ERROR(file.status());
  PROFD_RETURN_IF_ERROR(fs_.Overwrite(file->get(), 0, padded.data(), padded.size()));
  sizes_[1] = padded.size();
  const Status exchanged = fs_.Exchange(dir_, name_, Spare());
  if (exchanged.code() == Code::kUnimplemented) {
    plain_ = true;
    return Replace(content);
  }
  PROFD_RETURN_IF_ERROR(exchanged);
  std::swap(sizes_[0], sizes_[1]);
  Measure();
  return {};
}

Status SteadyFile::Settle() {
  if (sizes_[0] == 0 || plain_) return {};
  PROFD_RETURN_IF_ERROR(
      ReplaceFile(fs_, open_, dir_, name_, content_));  // takes the spare's name, and its place
  sizes_[0] = content_.size();
  sizes_[1] = 0;
  spare_ = false;
  room_ = 0;
  Measure();
  return {};
}

void SteadyFile::Measure() {
  uint64_t now = 0;
  for (const std::string& each : {name_, Spare()}) {
    if (const Result<uint64_t> bytes = fs_.AllocatedBytes(dir_, each); bytes.ok()) now += *bytes;
  }
  budget_.Change(std::exchange(allocated_, now), now);
}

}  // namespace profd::store
