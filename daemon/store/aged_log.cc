#include "daemon/store/aged_log.h"

#include <algorithm>
#include <utility>

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

Status AgedLog::Open(size_t streams) {
  if (!file_) {
    Result<UniqueFd> made = open_.Try([&] { return fs_.CreateFile(dir_, mend::kAgedLog); });
    PROFD_RETURN_IF_ERROR(made.status());
    file_ = std::move(made).value();
  }
  const uint64_t wanted = streams * mend::kAgedEntryBytes;
  if (wanted <= room_) return {};
  const uint64_t room = std::max<uint64_t>(2 * wanted, 32 << 10);
  PROFD_RETURN_IF_ERROR(fs_.Reserve(file_.get(), room));
  room_ = room;
  return {};
}

Status AgedLog::Note(uint32_t stream, const mend::AgedEntry& entry) {
  const auto text = mend::WriteAgedEntry(entry);
  if (!text) return {Code::kInvalidArgument, "aged: the stream's name is too long"};
  if (!file_) PROFD_RETURN_IF_ERROR(Open(1));
  const uint64_t slot = slots_.emplace(stream, slots_.size()).first->second;
  return fs_.Overwrite(file_.get(), slot * mend::kAgedEntryBytes, text->data(), text->size());
}

Status AgedLog::Remove() {
  if (!file_) return {};
  file_.Reset();
  room_ = 0;
  return fs_.Remove(dir_, mend::kAgedLog);
}

}  // namespace profd::store
