#include "daemon/agent/report_files.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "format/op_names.h"
#include "libagent/abi/lane.h"

namespace profd::agent {

namespace {

using chunk::Item;
using format::AgentKind;

// What may be in host/data: names of a hostile process lead nowhere else. Each twice: of what ages, and of
// what does not.
struct FileKind {
  std::string_view name;  // as its type is called, behind the class
  uint32_t flag;          // abi::ReportFlag
  std::optional<AgentKind> counts = {};
};
constexpr FileKind kFileKinds[] = {
    {"data", abi::kReportedCall, AgentKind::kApi},
    {"task_track", abi::kReportedCompact, AgentKind::kKernel},
    {"node_basic_info", abi::kReportedCompact},
    {"node_attr_info", abi::kReportedCompact},
    {"memcpy_info", abi::kReportedCompact},
    {"capture_stream_info", abi::kReportedCompact},
    {"hccl_op_info", abi::kReportedCompact, AgentKind::kComm},
    {"expand_stream_spec", abi::kReportedCompact},
    {"tensor_info", abi::kReportedAdditional},
    {"context_id_info", abi::kReportedAdditional},
    {"hccl_info", abi::kReportedAdditional},
    {"graph_id_map", abi::kReportedAdditional},
    {"fusion_op_info", abi::kReportedAdditional},
    {"task_memory_info", abi::kReportedAdditional, AgentKind::kMemory},
    {"capture_op_info", abi::kReportedAdditional},
    {"mc2_comm_info", abi::kReportedAdditional},
    {"static_op_mem", abi::kReportedAdditional},
    {"logic_stream_info", abi::kReportedAdditional},
};
constexpr size_t kKinds = std::size(kFileKinds);
constexpr size_t kTypeNames = 2 * kKinds, kTexts = kTypeNames + 1;
static_assert(kTexts + 1 == ReportFiles::kFiles);

constexpr uint32_t kCallBytes = 40, kCompactBytes = 64, kAdditionalBytes = 256, kHeadBytes = 24;
constexpr uint16_t kMagic = 0x5A5A;

uint32_t BytesOf(uint32_t flag) {
  return flag == abi::kReportedCall      ? kCallBytes
         : flag == abi::kReportedCompact ? kCompactBytes
                                         : kAdditionalBytes;
}

bool IsText(size_t file) { return file >= kTypeNames; }

std::string NameOf(size_t file) {
  if (file == kTypeNames) return "unaging.additional.type_info_dic";
  if (file == kTexts) return "unaging.additional.hash_dic";
  const FileKind& kind = kFileKinds[file / 2];
  const char* const of = kind.flag == abi::kReportedCall      ? "api_event."
                         : kind.flag == abi::kReportedCompact ? "compact."
                                                              : "additional.";
  return (file % 2 == 0 ? "unaging." : "aging.") + std::string(of) + std::string(kind.name);
}

// What types are where the process did not say so (hicann/runtime, pkg_inc/profiling/aprof_pub.h and
// src/runtime/core/inc/common/profiler_struct.hpp).
struct Known {
  uint16_t level;
  uint32_t type;
  std::string_view name;
};
constexpr Known kKnown[] = {
    {5000, 801, "memcpy_info"},        {5000, 802, "task_track"},      {5000, 803, "capture_stream_info"},
    {5000, 804, "expand_stream_spec"}, {5000, 805, "capture_op_info"}, {10000, 0, "node_basic_info"},
    {10000, 1, "tensor_info"},         {10000, 2, "fusion_op_info"},   {10000, 4, "context_id_info"},
    {10000, 6, "task_memory_info"},    {10000, 9, "node_attr_info"},   {10000, 10, "hccl_op_info"},
    {10000, 12, "mc2_comm_info"},      {10000, 11, "static_op_mem"},   {15000, 0, "graph_id_map"},
    {15000, 7, "logic_stream_info"},
};

// kKinds: of no file.
size_t PlaceOf(std::string_view name) {
  for (size_t place = 0; place < kKinds; ++place) {
    if (kFileKinds[place].name == name && kFileKinds[place].flag != abi::kReportedCall) return place;
  }
  return kKinds;
}

// A line of a text file.
std::string OneLineOf(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return line;
}

template <typename T>
void Put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

void ReportFiles::Add(size_t file, std::span<const std::byte> bytes) {
  files_[file].bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  waiting_ += bytes.size();
}

uint64_t ReportFiles::StampOf(uint64_t stamp, bool by_raw) const {
  if (!by_raw || counter_mhz_ <= 0) return stamp;
  // It was a moment ago, by one clock as by the other.
  const double ago_ns = static_cast<double>(base::RawNs() - stamp);
  return base::HostCounter() - static_cast<uint64_t>(ago_ns * counter_mhz_ / 1000);
}

bool ReportFiles::Announce(size_t file, chunk::Pipe& pipe) {
  if (files_[file].announced) return true;
  auto spec = std::make_shared<chunk::StreamSpec>();
  spec->folder = "host";
  spec->file = NameOf(file);
  spec->unit = "host";
  if (IsText(file)) {
    spec->records = chunk::StreamSpec::Records::kText;
    spec->one_slice = true;
  } else {
    const FileKind& kind = kFileKinds[file / 2];
    spec->kind =
        kind.counts ? format::AgentKindName(*kind.counts) : format::AgentKindName(AgentKind::kKernel);
    spec->records = chunk::StreamSpec::Records::kFixed;
    spec->record_bytes = BytesOf(kind.flag);
  }
  spec->whole = true;  // as agents' lanes: a process that is paused records nothing
  spec->stats = std::make_shared<chunk::StreamStats>();
  Item item;
  item.what = Item::What::kStream;
  item.key = {trace_, first_stream_ + static_cast<uint32_t>(file)};
  item.spec = std::move(spec);
  files_[file].announced = pipe.Push(std::move(item));
  return files_[file].announced;
}

bool ReportFiles::Flush(chunk::Pipe& pipe, uint64_t now_ns) {
  if (waiting_ == 0) return true;
  for (size_t number = 0; number < kFiles; ++number) {
    File& file = files_[number];
    size_t done = 0;
    while (done < file.bytes.size()) {
      chunk::Chunk* chunk = Announce(number, pipe) ? pipe.TryTake() : nullptr;
      if (chunk == nullptr) break;
      size_t room = std::min<size_t>(chunk->Room(), file.bytes.size() - done);
      size_t records = 0;
      if (IsText(number)) {
        room = file.bytes.rfind('\n', done + room - 1) + 1 - done;
        records =
            static_cast<size_t>(std::count(file.bytes.begin() + static_cast<ptrdiff_t>(done),
                                           file.bytes.begin() + static_cast<ptrdiff_t>(done + room), '\n'));
      } else {
        const uint32_t bytes = BytesOf(kFileKinds[number / 2].flag);
        records = room / bytes;
        room = records * bytes;
      }
      std::memcpy(chunk->Free(), file.bytes.data() + done, room);
      done += room;
      chunk->header.used += static_cast<uint32_t>(room);
      chunk->header.records += static_cast<uint32_t>(records);
      chunk->header.key = {trace_, first_stream_ + static_cast<uint32_t>(number)};
      chunk->header.seq = file.seq++;
      chunk->header.first_time_ns = chunk->header.last_time_ns = now_ns;
      Item item;
      item.what = Item::What::kChunk;
      item.key = chunk->header.key;
      item.chunk = chunk;
      pipe.Push(std::move(item));
    }
    file.bytes.erase(0, done);
    waiting_ -= done;
  }
  pipe.Kick();
  return waiting_ == 0;
}

void ReportReader::Take(std::span<const std::byte> slots) {
  abi::Record head;
  std::memcpy(&head, slots.data(), sizeof head);
  std::string data;
  uint32_t flags = 0;
  for (size_t at = sizeof head; at + abi::kRecordBytes <= slots.size(); at += abi::kRecordBytes) {
    abi::ValueSlot value;
    std::memcpy(&value, slots.data() + at, sizeof value);
    flags = value.key;
    data.append(value.text, std::min<size_t>(value.bytes, abi::kTextBytes));
  }
  const uint32_t of = flags & abi::kReportClass;
  const bool by_raw = (flags & abi::kReportedByRaw) != 0;
  size_t place = kKinds;
  if (of == abi::kReportedCall) {
    place = 0;
  } else if (const auto named = types_.find({head.domain, head.name}); named != types_.end()) {
    place = named->second;
  } else {
    for (const Known& known : kKnown) {
      if (known.level == head.domain && known.type == head.name) place = PlaceOf(known.name);
    }
  }
  if (place == kKinds || kFileKinds[place].flag != of) return;  // of a kind that no reader has

  std::string record;
  Put(record, kMagic);
  Put(record, head.domain);
  Put(record, head.name);
  if (of == abi::kReportedCall) {
    uint64_t times[2] = {};
    if (data.size() != sizeof times) return;
    std::memcpy(times, data.data(), sizeof times);
    constexpr uint64_t kEvent = UINT64_MAX;
    Put(record, head.value);
    Put(record, files_->StampOf(times[0], by_raw));
    Put(record, times[1] == kEvent ? kEvent : files_->StampOf(times[1], by_raw));
    Put(record, head.last_stamp);  // the item: both words
  } else {
    Put(record, head.category);
    Put(record, head.detail);
    Put(record, files_->StampOf(head.value, by_raw));
    data.resize(BytesOf(of) - kHeadBytes);
    record += data;
  }
  files_->Add(2 * place + ((flags & abi::kReportAges) != 0 ? 1 : 0), std::as_bytes(std::span(record)));
  if (const auto counts = kFileKinds[place].counts) {
    RecordingStats::Kind& kind = stats_->kinds[static_cast<size_t>(*counts)];
    chunk::Add(kind.reported_records, 1);
    chunk::Add(kind.reported_bytes, record.size());
  }
}

void ReportReader::TakeNames(std::span<const std::byte> entries) {
  while (entries.size() >= sizeof(abi::NameEntry)) {
    abi::NameEntry entry;
    std::memcpy(&entry, entries.data(), sizeof entry);
    const size_t bytes =
        (sizeof entry + entry.bytes + abi::kNameUnit) / abi::kNameUnit * size_t{abi::kNameUnit};
    if (bytes > entries.size()) return;
    const std::string_view text(reinterpret_cast<const char*>(entries.data()) + sizeof entry, entry.bytes);
    std::string line;
    if (entry.type == abi::kNameReported && entry.cut == 0) {
      line = std::to_string(format::CannHash(text)) + ":" + OneLineOf(text) + "\n";
      files_->Add(kTexts, std::as_bytes(std::span(line)));
    } else if (entry.type == abi::kNameOfReportType) {
      line = std::to_string(entry.domain) + "_" + std::to_string(entry.number) + ":" + OneLineOf(text) + "\n";
      files_->Add(kTypeNames, std::as_bytes(std::span(line)));
      if (const size_t place = PlaceOf(text); types_.size() < kMostTypes && place != kKinds)
        types_[{entry.domain, entry.number}] = static_cast<uint8_t>(place);
    }
    entries = entries.subspan(bytes);
  }
}

}  // namespace profd::agent
