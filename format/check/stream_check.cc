#include "format/check/stream_check.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "format/decode/catalogue.h"
#include "format/decode/host/cpu_profile.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/directory/side_facts.h"
#include "format/events/agent_blocks.h"
#include "format/events/os_call_line.h"
#include "format/kind.h"
#include "format/records/packed.h"

namespace profd::format {

namespace {

using Bytes = std::span<const std::byte>;
using What = FileShape::What;

constexpr std::string_view kLowPower = "lpm";  // whose empty records are all zeros

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view AsText(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool IsZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

uint32_t StampBytes(StampDomain domain) {
  if (domain == StampDomain::kNone || domain == StampDomain::kTextDeviceNs) return 0;
  return domain == StampDomain::kStartUs32 ? 4 : 8;
}

std::string Count(uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

bool IsTrailer(const StreamFormat& format, Bytes bytes) {
  return !format.trailer.empty() && AsText(bytes).starts_with(format.trailer);
}

}  // namespace

uint32_t LeadingRecords(const StreamFormat& format, const std::byte* data, uint32_t records,
                        bool needs_stamp) {
  const uint32_t good =
      format.plausible == nullptr ? records : format.plausible(data, records, format.record_bytes);
  const uint32_t stamp_bytes = StampBytes(format.stamp);
  if (stamp_bytes == 0 || format.file.starts_with(kLowPower)) return good;
  const std::byte* stamp = data + format.stamp_offset;
  for (uint32_t i = 0; i < good; ++i, stamp += format.record_bytes) {
    const uint64_t value = stamp_bytes == 4 ? Load<uint32_t>(stamp) : Load<uint64_t>(stamp);
    if (value != 0) continue;
    if (needs_stamp || IsZero({data + size_t{i} * format.record_bytes, format.record_bytes})) return i;
  }
  return good;
}

std::optional<int> DeviceOfFolder(std::string_view folder) {
  constexpr std::string_view kPrefix = "device_";
  if (!folder.starts_with(kPrefix)) return std::nullopt;
  // As the name of a slice has it, so that "device_007" is none.
  const auto parsed = ParseSliceName("x." + std::string(folder.substr(kPrefix.size())) + ".slice_0");
  return parsed && parsed->device >= 0 ? std::optional(parsed->device) : std::nullopt;
}

FileShape ShapeOf(std::string_view folder, std::string_view file, Chip chip, bool cores_by_task) {
  FileShape shape;
  if (IsOwnFolder(folder)) {
    if (file.ends_with(".lanes")) shape.what = What::kLanes;
    if (file.ends_with(".names")) shape.what = What::kNames;
    // Of the host, without a place at the vendor's.
    if (file.ends_with(file::kProcessDisk) || IsProfileFile(file)) shape.what = What::kText;
    shape.counted = file != kCpuProfileNamesFile && file != kOffCpuNamesFile;
    return shape;
  }
  if (folder == "host") {
    const bool of_process = !file.empty() && IsDigit(file[0]) && file.find('-') != std::string_view::npos;
    if (!file.starts_with("host_") && !of_process) return shape;  // of the vendor's API
    shape.what = What::kText;
    int64_t pid = 0;
    if (const DecoderEntry* entry = FindDecoder(file, SideFacts{}, pid)) shape.row = entry->row;
    shape.counted = file != file::kHostDisk;  // a late row is written twice
    return shape;
  }
  if (chip == Chip::kUnknown && DiffersByChip(file, cores_by_task)) return shape;
  shape.format = FindStreamFormat(file, chip, cores_by_task);
  if (shape.format == nullptr) return shape;
  if (shape.format->framing == Framing::kFixed) shape.what = What::kFixed;
  if (shape.format->framing == Framing::kLines) shape.what = What::kText;
  return shape;
}

void StreamCheck::Find(uint64_t offset, std::string what) {
  if (findings_.size() < kMaxFindings) {
    findings_.push_back({offset, std::move(what)});
  } else {
    ++more_findings_;
  }
}

size_t StreamCheck::Take(Bytes bytes, bool last) {
  size_t taken = bytes.size();
  if (shape_.what == What::kFixed) taken = TakeFixed(bytes, last);
  if (shape_.what == What::kText) taken = TakeText(bytes, last);
  if (shape_.what == What::kLanes || shape_.what == What::kNames) taken = TakeBlocks(bytes, last);
  if (shape_.what == What::kUnknown) counted_ = false;
  at_ += taken;
  return taken;
}

size_t StreamCheck::TakeFixed(Bytes bytes, bool last) {
  if (in_trailer_) return bytes.size();
  const StreamFormat& format = *shape_.format;
  const size_t size = format.record_bytes;
  const size_t count = bytes.size() / size;
  for (size_t i = 0; i < count;) {
    const uint32_t good =
        LeadingRecords(format, bytes.data() + i * size, static_cast<uint32_t>(count - i), true);
    i += good;
    if (i == count) break;
    if (IsTrailer(format, bytes.subspan(i * size))) {
      in_trailer_ = true;
      counted_ = false;
      return bytes.size();
    }
    const size_t begin = i;
    while (i < count && LeadingRecords(format, bytes.data() + i * size, 1, true) == 0 &&
           !IsTrailer(format, bytes.subspan(i * size))) {
      ++i;
    }
    const bool zeros = IsZero(bytes.subspan(begin * size, size));
    if (damaged_to_ != at_ + begin * size || begin != 0) {
      Find(at_ + begin * size, Count(i - begin, zeros ? "record" : "implausible record") +
                                   (zeros ? " of zeros: never written" : " for this kind"));
    }
    damaged_to_ = at_ + i * size;
  }
  records_ += count;
  if (!last || count * size == bytes.size()) return count * size;
  const Bytes rest = bytes.subspan(count * size);
  if (!IsTrailer(format, rest)) {
    Find(at_ + count * size,
         Count(rest.size(), "byte") + " at the end: no whole record of " + std::to_string(size));
  }
  return bytes.size();
}

void StreamCheck::TakeLine(std::string_view line, size_t offset) {
  const bool of_device = shape_.format != nullptr;
  if (of_device ? IsHeaderLine(line) : IsOsCallBeginLine(line)) {
    header_bytes_ += line.size() + 1;
    return;
  }
  const bool is_shaped = of_device && shape_.format->max_columns > 0;
  if (is_shaped ? !PlausibleLine(*shape_.format, line) : line.find('\0') != std::string_view::npos) {
    Find(at_ + offset, line.find('\0') == std::string_view::npos ? "a line that is none of this kind"
                                                                 : "zeros in a text: never written");
  }
  if (line.starts_with(shape_.row)) ++records_;
}

size_t StreamCheck::TakeText(Bytes bytes, bool last) {
  const std::string_view text = AsText(bytes);
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    TakeLine(text.substr(begin, end - begin), begin);
  }
  if (!last || begin == text.size()) return begin;
  Find(at_ + begin, Count(text.size() - begin, "byte") + " at the end: no whole line");
  return text.size();
}

size_t StreamCheck::TakeBlocks(Bytes bytes, bool last) {
  BlockReader reader(bytes);
  size_t taken = 0;
  uint64_t skipped = 0;
  for (Block block; reader.Next(block); taken = reader.offset()) {
    const BlockHeader& header = block.header;
    const uint64_t begin = at_ + reader.offset() - header.header_bytes - block.payload.size();
    if (reader.skipped_bytes() > skipped) {
      Find(at_ + taken,
           Count(reader.skipped_bytes() - skipped, "byte") + " that are no block with a good checksum");
      skipped = reader.skipped_bytes();
    }
    const bool names = shape_.what == What::kNames;
    if (header.type != static_cast<uint16_t>(names ? BlockType::kNames : BlockType::kLane)) {
      Find(begin, "a block of another type: " + std::to_string(header.type));
      continue;
    }
    const uint32_t lane = names ? 0 : header.lane;
    const auto next = next_seq_.find(lane);
    const uint64_t expected = next == next_seq_.end() ? (from_start_ ? 0 : header.seq) : next->second;
    if (header.seq != expected) {
      Find(begin, (names ? "names: block " : "lane " + std::to_string(lane) + ": block ") +
                      std::to_string(header.seq) + " where " + std::to_string(expected) + " belongs");
    } else if (names && header.seq > 0 && header.lost_before != names_at_) {
      Find(begin, "names from " + std::to_string(header.lost_before) + " where " + std::to_string(names_at_) +
                      " belongs");
    }
    next_seq_[lane] = header.seq + 1;
    names_at_ = header.lost_before + block.payload.size();
    records_ += header.records;
    if (!names) lane_records_[lane] += header.records;
  }
  if (!last || taken == bytes.size()) return taken;
  Find(at_ + taken, Count(bytes.size() - taken, "byte") + " at the end: no block with a good checksum");
  return bytes.size();
}

namespace {

// Where the zeros begin that end at the file's last page; `page` when there are none.
uint64_t ZerosBefore(Bytes window, uint64_t window_at, uint64_t page) {
  uint64_t begin = page;
  while (begin > window_at && window[begin - 1 - window_at] == std::byte{0}) --begin;
  return begin;
}

uint64_t FixedEnd(const StreamFormat& format, Bytes window, uint64_t at, uint64_t page, uint64_t zeros,
                  uint64_t page_bytes) {
  const uint64_t size = format.record_bytes;
  uint64_t end = (at + window.size()) / size * size;
  if (!format.trailer.empty() && AsText(window).find(format.trailer) != std::string_view::npos) {
    return at + window.size();
  }
  const auto good = [&](uint64_t record) {
    return LeadingRecords(format, window.data() + (record - at), 1, true) == 1;
  };
  if (zeros < page) {
    const uint64_t first = zeros / size * size;
    bool torn = false;
    for (uint64_t record = first; record < page && record + size <= end && !torn; record += size)
      torn = !good(record);
    if (torn) {
      // The kill may have come between two pages of one record: what ends in zeros from a page's edge on.
      const uint64_t edge = (zeros + page_bytes - 1) / page_bytes * page_bytes;
      const bool first_is_whole = zeros > first && edge >= first + size && good(first);
      end = std::min(end, first_is_whole ? first + size : first);
    }
  }
  if (format.file.starts_with(kLowPower)) return end;
  while (end > at && IsZero(window.subspan(end - size - at, size))) end -= size;
  return end;
}

uint64_t TextEnd(const FileShape& shape, Bytes window, uint64_t at, uint64_t page, uint64_t zeros,
                 uint64_t page_bytes) {
  std::string_view text = AsText(window);
  if (zeros < page) text = text.substr(0, zeros - at);
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  // Several lines may have been cut between two of them, at a page's edge only.
  const bool may_be_cut = !shape.row.empty() && (at + window.size()) % page_bytes == 0;
  if (text.size() == window.size() && text.ends_with('\n') && !may_be_cut) return at + window.size();
  const size_t line = text.rfind('\n');
  if (line == std::string_view::npos) return at == 0 ? 0 : at + window.size();
  text = text.substr(0, line + 1);
  if (shape.row.empty()) return at + text.size();
  // Whether the lines before the damage are all of their record cannot be told.
  const size_t row = text.rfind("\n" + std::string(shape.row));
  if (row != std::string_view::npos) return at + row + 1;
  return at == 0 ? 0 : at + text.size();
}

uint64_t BlocksEnd(Bytes window, uint64_t at, uint64_t page) {
  BlockReader reader(window);
  uint64_t end = at;
  bool any = false;
  uint64_t skipped = 0;
  for (Block block; reader.Next(block);) {
    const uint64_t begin = at + reader.offset() - block.header.header_bytes - block.payload.size();
    const bool gap = reader.skipped_bytes() > skipped;
    // A window begins anywhere in a block; later, a gap around the last page's edge is a killed append.
    if (gap && (any || at == 0) && end < page && begin >= page) return end;
    skipped = reader.skipped_bytes();
    end = at + reader.offset();
    any = true;
  }
  return any || at == 0 ? end : at + window.size();
}

}  // namespace

uint64_t WholeEnd(const FileShape& shape, Bytes window, uint64_t window_at, uint64_t page_bytes) {
  const uint64_t size = window_at + window.size();
  if (window.empty()) return size;
  const uint64_t page = std::max((size - 1) / page_bytes * page_bytes, window_at);
  const uint64_t zeros = ZerosBefore(window, window_at, page);
  switch (shape.what) {
    case What::kFixed:
      return FixedEnd(*shape.format, window, window_at, page, zeros, page_bytes);
    case What::kText:
      return TextEnd(shape, window, window_at, page, zeros, page_bytes);
    case What::kLanes:
    case What::kNames:
      return BlocksEnd(window, window_at, page);
    case What::kUnknown:
      break;
  }
  // Zeros may be data; a whole page of them where a killed append leaves some is none.
  const uint64_t edge = (zeros + page_bytes - 1) / page_bytes * page_bytes;
  return edge < page ? edge : size;
}

std::optional<Chip> ChipOf(std::string_view info_json) {
  const nlohmann::json json =
      nlohmann::json::parse(info_json.substr(0, info_json.find('\n')), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("platform_version");
  if (found == json.end() || !found->is_string()) return std::nullopt;
  const std::string& text = found->get_ref<const std::string&>();
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(Chip{number})
                                                                  : std::nullopt;
}

std::optional<uint64_t> DoneBytes(std::string_view done) {
  constexpr std::string_view kKey = "filesize:";
  if (!done.starts_with(kKey)) return std::nullopt;
  done.remove_prefix(kKey.size());
  while (done.starts_with(' ')) done.remove_prefix(1);
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(done.data(), done.data() + done.size(), bytes);
  return error == std::errc() && end != done.data() ? std::optional(bytes) : std::nullopt;
}

}  // namespace profd::format
