#include "daemon/host/stacks/frame_table.h"

#include <algorithm>
#include <array>
#include <span>

namespace profd::host {

namespace {

constexpr uint32_t kMaxEntries = 4 << 20;  // a big library has 500 000; 8 bytes each
constexpr size_t kMaxEntryBytes = 64 << 10;

}  // namespace

FrameTable::FrameTable(ProcessMemory& memory, const ElfImage& image, uint64_t bias)
    : index_(image.frame_index()), file_end_(image.end()) {
  if (index_ == 0) return;
  // Version 1; the place of .eh_frame (4 bytes from here), the number of entries (4 bytes), the entries (4
  // bytes from the beginning), as every linker makes it.
  const auto head = memory.Get<std::array<uint8_t, 12>>(bias + index_);
  if (!head || (*head)[0] != 1 || (*head)[1] != 0x1b || (*head)[2] != 0x03 || (*head)[3] != 0x3b) return;
  const auto count = memory.Get<uint32_t>(bias + index_ + 8);
  if (!count || *count > kMaxEntries || *count > file_end_ / sizeof(Entry)) return;
  entries_.resize(*count);
  const size_t got = memory.Read(bias + index_ + 12, std::as_writable_bytes(std::span(entries_)));
  entries_.resize(got / sizeof(Entry));
  if (!std::ranges::is_sorted(entries_, {}, &Entry::begin)) entries_.clear();
}

const FrameRow* FrameTable::Find(ProcessMemory& memory, uint64_t bias, uint64_t address) {
  const auto from_index = static_cast<int64_t>(address - index_);
  if (entries_.empty() || from_index != static_cast<int32_t>(from_index)) return nullptr;
  const auto after = std::ranges::upper_bound(entries_, static_cast<int32_t>(from_index), {}, &Entry::begin);
  if (after == entries_.begin()) return nullptr;
  const auto place = static_cast<uint32_t>(after - entries_.begin() - 1);
  auto known = functions_.find(place);
  if (known == functions_.end()) {
    auto frames = Read(memory, bias, index_ + static_cast<uint64_t>(int64_t{entries_[place].frames}));
    if (!frames && !memory.Get<uint8_t>(bias + index_)) return nullptr;  // the process has gone
    known = functions_.emplace(place, frames ? std::move(*frames) : CallFrames{}).first;
    function_bytes_ += sizeof(*known) + known->second.rows.capacity() * sizeof(FrameRow);
  }
  return known->second.Find(address);
}

std::optional<CallFrames> FrameTable::Read(ProcessMemory& memory, uint64_t bias, uint64_t at) const {
  const auto entry = [&](uint64_t begin) -> std::vector<std::byte> {
    if (begin >= file_end_) return {};
    std::array<std::byte, 256> first;
    const size_t got = memory.Read(bias + begin, first);
    const auto head = ReadEntryHead(std::span(first).first(got), begin);
    if (!head || head->bytes > kMaxEntryBytes) return {};
    if (head->bytes <= got) return {first.begin(), first.begin() + static_cast<ptrdiff_t>(head->bytes)};
    std::vector<std::byte> all(head->bytes);
    if (memory.Read(bias + begin, all) != all.size()) return {};
    return all;
  };
  const std::vector<std::byte> frames = entry(at);
  const auto head = ReadEntryHead(frames, at);
  if (!head || head->cie == 0) return std::nullopt;
  return ReadCallFrames(entry(head->cie), frames, at);
}

}  // namespace profd::host
