#include "format/framing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

namespace {

// Plausibility runs on every record of a live stream: a few loads and compares, and no branch that depends on
// foreign bytes. Ranges are wider than any chip; they exist to make a shifted record stand out.

constexpr uint64_t kMostTime = uint64_t{1} << 58;  // 9 years in ns, more in ticks
constexpr uint64_t kMostUs = uint64_t{1} << 50;
constexpr uint64_t kLeastNs = uint64_t{1} << 30;  // no device is sampled in its first second
constexpr uint64_t kLeastTicks = uint64_t{1} << 24;
constexpr uint64_t kMostCount = uint64_t{1} << 48;
constexpr uint64_t kMostBytes = uint64_t{1} << 48;
constexpr uint32_t kMostMbPerS = 1u << 24;
constexpr uint32_t kMostPcie = 0xFFFFF;  // which stands for "no value" in the 20-bit counters
constexpr uint32_t kMostIds = 64;
constexpr uint32_t kMostPorts = 1024;
constexpr uint32_t kAllMasters = 0xFFFFFFFF;

// At least `least` and below kMostTime, in one compare.
constexpr bool IsTime(uint64_t value, uint64_t least) { return value - least < kMostTime - least; }
constexpr bool IsNs(uint64_t value) { return IsTime(value, kLeastNs); }
constexpr bool IsTicks(uint64_t value) { return IsTime(value, kLeastTicks); }

constexpr uint64_t EventSet() {
  uint64_t set = 0;
  for (const uint32_t event : kLlcReadEvents) set |= uint64_t{1} << event;
  for (const uint32_t event : kLlcWriteEvents) set |= uint64_t{1} << event;
  return set;
}

// All and any of them, without a branch between them.
template <typename... Conditions>
constexpr bool All(Conditions... conditions) {
  return (static_cast<unsigned>(conditions) & ...) != 0;
}
template <typename... Conditions>
constexpr bool Any(Conditions... conditions) {
  return (static_cast<unsigned>(conditions) | ...) != 0;
}

bool IsHbm(const std::byte* bytes) {
  const auto record = Load<HbmRecord>(bytes);
  return All(record.time_us < kMostUs, record.count < kMostCount, record.event <= 1,
             record.hbm_id < kMostIds);
}

bool IsDdr(const std::byte* bytes) {
  const auto record = Load<DdrRecord>(bytes);
  return All(record.event <= 1, record.controller < kMostIds,
             Any(record.master == kAllMasters, record.master < kMostPorts));
}

bool IsLlc(const std::byte* bytes) {
  const auto record = Load<LlcRecord>(bytes);
  const bool known_event = (EventSet() >> (record.event & 63) & 1) != 0;
  return All(record.time_us < kMostUs, record.count < kMostCount, record.event < 64, known_event,
             record.llc_id < kMostIds);
}

// All bits set in any of `count` (even) u32 words.
template <size_t kCount>
uint32_t AnyBits(const std::byte* words) {
  static_assert(kCount % 2 == 0);
  uint64_t all = 0;
  for (size_t i = 0; i < kCount / 2; ++i) all |= Load<uint64_t>(words + i * sizeof all);
  return static_cast<uint32_t>(all | all >> 32);
}

bool IsPcie(const std::byte* bytes) {
  constexpr size_t kFirst = offsetof(PcieRecord, tx_posted);
  constexpr size_t kValues = (sizeof(PcieRecord) - kFirst) / sizeof(uint32_t);
  const uint32_t all =
      Load<uint32_t>(bytes + kFirst) | AnyBits<kValues - 1>(bytes + kFirst + sizeof(uint32_t));
  const auto device = Load<uint32_t>(bytes + offsetof(PcieRecord, device));
  return All(IsNs(Load<uint64_t>(bytes)), device < kMostPorts, all <= kMostPcie);
}

bool IsNpuMem(const std::byte* bytes) {
  const auto record = Load<NpuMemRecord>(bytes);
  // Record version 1 has its stamp in the first field and nothing, or the same stamp in full, in the third.
  const bool reserved = Any(record.reserved == 0, static_cast<uint32_t>(record.reserved) == record.time_us);
  return All(record.time_us != 0, record.event <= 1, reserved, record.ddr_bytes < kMostBytes,
             record.hbm_bytes < kMostBytes);
}

bool IsNpuModuleMem(const std::byte* bytes) {
  const auto record = Load<NpuModuleMemRecord>(bytes);
  return All(record.module < kMostPorts, record.memory_type < kMostPorts, IsTicks(record.time),
             record.bytes < kMostBytes);
}

bool IsQos(const std::byte* bytes) {
  const auto other_time = Load<uint64_t>(bytes + offsetof(QosRecord, reserved_time));
  constexpr size_t kValues = std::size(QosRecord{}.bandwidth_mb_s);
  const uint32_t all = AnyBits<2>(bytes) | AnyBits<kValues>(bytes + offsetof(QosRecord, bandwidth_mb_s));
  return All(IsTicks(Load<uint64_t>(bytes + offsetof(QosRecord, ticks))), all < kMostMbPerS,
             Any(other_time == 0, IsTicks(other_time)));
}

bool IsUb(const std::byte* bytes) {
  const auto record = Load<UbRecord>(bytes);
  return All(record.port < kMostPorts, record.time_us < kMostUs, record.rx_mb_s < kMostMbPerS,
             record.tx_mb_s < kMostMbPerS);
}

// What the mark of a UB record is nobody knows, but that it is the same in all.
uint32_t LeadingUb(const std::byte* data, uint32_t records, uint32_t record_bytes) {
  uint32_t count = 0;
  for (const std::byte* at = data; count < records && IsUb(at); at += record_bytes, ++count) {
    if (Load<uint16_t>(at) != Load<uint16_t>(data)) break;
  }
  return count;
}

bool IsLowPower(const std::byte* bytes) {
  constexpr uint32_t kMostTypes = 3;
  constexpr uint32_t kMostValue = 1u << 17;  // MHz or mV
  constexpr size_t kFirst = offsetof(LowPowerRecord, sample);
  const auto count = Load<uint32_t>(bytes);
  const auto type = Load<uint32_t>(bytes + offsetof(LowPowerRecord, type));
  if (count == 0) {
    // Nothing changed in the period. A window into the unused end of another record begins like that too, but
    // reaches into that record's successor.
    return type < kMostTypes && std::all_of(bytes + kFirst, bytes + sizeof(LowPowerRecord),
                                            [](std::byte byte) { return byte == std::byte{0}; });
  }
  const auto first = Load<LowPowerSample>(bytes + kFirst);
  return All(count <= std::size(LowPowerRecord{}.sample), type < kMostTypes, IsTicks(first.ticks),
             first.value < kMostValue);
}

bool IsStars(const std::byte* bytes) {
  return Load<uint16_t>(bytes + offsetof(StarsHeader, magic)) == kStarsMagic;
}

// Whole packets, so that a name nobody knows is told from damage (ReadFilePiece).
bool IsAdprof(const std::byte* bytes) {
  constexpr size_t kHead = offsetof(AdprofPacket, is_last);
  return All(Load<uint32_t>(bytes) == kAdprofMagic,
             Load<uint32_t>(bytes + offsetof(AdprofPacket, version)) == kAdprofVersion,
             Load<uint32_t>(bytes + offsetof(AdprofPacket, length)) == sizeof(AdprofPacket) - kHead,
             Load<uint64_t>(bytes + offsetof(AdprofPacket, chunk_size)) <= sizeof(AdprofPacket::chunk));
}

bool IsTsCpu(const std::byte* bytes) { return Load<uint32_t>(bytes) == kTsCpuMagic; }

bool IsReport(const std::byte* bytes) {
  const auto length = Load<uint32_t>(bytes + offsetof(AiCpuRecord, data_len));
  return All(Load<uint16_t>(bytes) == kReportMagic, length <= sizeof(AiCpuRecord::data));
}

template <typename Record, size_t kTimeOffset, uint64_t kLeastTime>
bool IsCoreSample(const std::byte* bytes) {
  constexpr uint8_t kMostCounters = std::size(Record{}.event);
  constexpr uint8_t kMostCores = 128;
  const auto counters = Load<uint8_t>(bytes + offsetof(Record, counters));
  const auto core = Load<uint8_t>(bytes + offsetof(Record, core));
  return All(Load<uint8_t>(bytes) != 0, IsTime(Load<uint64_t>(bytes + kTimeOffset), kLeastTime),
             counters != 0, counters <= kMostCounters, core < kMostCores,
             Load<uint64_t>(bytes + offsetof(Record, cycles)) < kMostCount);
}
constexpr auto kIsCoreSample = IsCoreSample<CoreSampleRecord, offsetof(CoreSampleRecord, time_ns), kLeastNs>;
constexpr auto kIsCoreSample950 =
    IsCoreSample<CoreSampleRecord950, offsetof(CoreSampleRecord950, ticks), kLeastTicks>;

// All `count` of them below 2^48.
bool AreCounts(const std::byte* values, size_t count) {
  uint64_t all = 0;
  for (size_t i = 0; i < count; ++i) all |= Load<uint64_t>(values + i * sizeof all);
  return all < kMostCount;
}

constexpr uint16_t kMostTaskTypes = 1024;  // a few bits of a task's descriptor

bool IsL2Cache(const std::byte* bytes) {
  constexpr size_t kEvents = offsetof(L2CacheRecord, event);
  return All(Load<uint16_t>(bytes) < kMostTaskTypes,
             AreCounts(bytes + kEvents, std::size(L2CacheRecord{}.event)));
}

bool IsAicoreTask(const std::byte* bytes) {
  return All(Load<uint64_t>(bytes + offsetof(AicoreTaskRecord, cycles)) < kMostCount,
             Load<uint32_t>(bytes + offsetof(AicoreTaskRecord, stream)) <= UINT16_MAX,
             AreCounts(bytes + offsetof(AicoreTaskRecord, event), std::size(AicoreTaskRecord{}.event)));
}

template <typename Record>
bool IsSocPmu(const std::byte* bytes) {
  const auto type = Load<uint16_t>(bytes + offsetof(Record, data_type));
  return All(type >= static_cast<uint16_t>(SocPmuType::kHa),
             type <= static_cast<uint16_t>(SocPmuType::kPageFaults),
             Load<uint16_t>(bytes + offsetof(Record, task_type)) < kMostTaskTypes,
             AreCounts(bytes + offsetof(Record, event), std::size(Record{}.event)));
}

constexpr ChipSet kAll = kEveryChip, k310 = Only({Chip::k310});
constexpr ChipSet kTenEvents = ChipsWith([](const ChipTraits& traits) { return traits.core_events == 10; });
constexpr ChipSet kSmallTsCpu = ChipsWith([](const ChipTraits& traits) { return traits.small_ts_cpu; });
constexpr ChipSet kDvppId = ChipsWith([](const ChipTraits& traits) { return traits.dvpp_id; });

struct Entry {
  ChipSet chips;
  StreamFormat format;
};

using Is = bool (*)(const std::byte* record);

// The check of one record, inlined into the loop over many.
template <Is kIs>
uint32_t Leading(const std::byte* data, uint32_t records, uint32_t record_bytes) {
  uint32_t count = 0;
  while (count < records && kIs(data + size_t{count} * record_bytes)) ++count;
  return count;
}

template <typename Record, Is kIs>
constexpr Entry Fixed(ChipSet chips, std::string_view file, StampDomain stamp, size_t stamp_offset,
                      Combine combine, uint32_t per_period) {
  return {chips,
          {file, Framing::kFixed, sizeof(Record), stamp, static_cast<uint32_t>(stamp_offset), combine,
           per_period, Leading<kIs>}};
}

// Records without a type of ours.
template <Is kIs>
constexpr Entry Sized(ChipSet chips, std::string_view file, uint32_t bytes, StampDomain stamp,
                      uint32_t stamp_offset) {
  return {chips, {file, Framing::kFixed, bytes, stamp, stamp_offset, Combine::kNone, 0, Leading<kIs>}};
}
constexpr Entry Sized(ChipSet chips, std::string_view file, uint32_t bytes) {
  return {chips, {file, Framing::kFixed, bytes, StampDomain::kNone, 0, Combine::kNone, 0, nullptr}};
}

constexpr Entry Lines(ChipSet chips, std::string_view file, uint8_t min_columns, uint8_t max_columns) {
  Entry entry = {chips, {}};
  entry.format.file = file;
  entry.format.framing = Framing::kLines;
  entry.format.combine = Combine::kThin;
  entry.format.records_per_period = 0;
  entry.format.min_columns = min_columns;
  entry.format.max_columns = max_columns;
  return entry;
}

// Lines that begin with a device time, and a header line that the driver sends once.
constexpr Entry Timed(std::string_view file, uint8_t min_columns, uint8_t max_columns,
                      std::string_view header) {
  Entry entry = Lines(kAll, file, min_columns, max_columns);
  entry.format.stamp = StampDomain::kTextDeviceNs;
  entry.format.first_slice_header = header;
  return entry;
}

constexpr Entry Hccs() {
  Entry entry = Timed(file::kHccs, 3, 3, {});
  entry.format.records_per_period = 1;
  entry.format.every_slice_header = kHccsHeader;
  return entry;
}

constexpr Entry Dvpp(std::string_view file, bool id) {
  Entry entry = Timed(file, id ? 12 : 11, id ? 12 : 11, id ? kDvppHeader : kDvppHeaderNoId);
  entry.chips = id ? kDvppId : kAll & ~kDvppId;
  constexpr uint16_t kPercent = 1u << 5 | 1u << 8;  // all_utilization, proc_utilization
  entry.format.percent_columns = id ? kPercent << 1 : kPercent;
  return entry;
}

constexpr Entry Ub() {
  Entry entry = Fixed<UbRecord, IsUb>(kAll, file::kUb, StampDomain::kStartUs64, offsetof(UbRecord, time_us),
                                      Combine::kThin, 0);
  entry.format.plausible = LeadingUb;
  return entry;
}

constexpr Entry AiCpu() {
  Entry entry = Fixed<AiCpuRecord, IsReport>(kAll, file::kAiCpu, StampDomain::kDeviceTicks,
                                             offsetof(AiCpuRecord, ticks), Combine::kNone, 0);
  entry.format.trailer = "###drv_hashdata###";
  return entry;
}

constexpr Entry Opaque(std::string_view file) {
  return {kAll, {file, Framing::kOpaque, 0, StampDomain::kNone, 0, Combine::kNone, 0}};
}

using enum StampDomain;
using Combine::kMinMaxAvg;
using Combine::kSum;
using Combine::kThin;

constexpr Entry kTable[] = {
    Fixed<HbmRecord, IsHbm>(kAll, file::kHbm, kStartUs64, offsetof(HbmRecord, time_us), kSum, 8),
    Fixed<DdrRecord, IsDdr>(kAll, file::kDdr, kStartUs32, offsetof(DdrRecord, time_us), kSum, 0),
    Lines(k310, file::kLlc, 0, 0),  // text of perf
    Fixed<LlcRecord, IsLlc>(kAll & ~k310, file::kLlc, kStartUs64, offsetof(LlcRecord, time_us), kSum, 0),
    Fixed<PcieRecord, IsPcie>(kAll, file::kPcie, kDeviceNs, offsetof(PcieRecord, time_ns), kMinMaxAvg, 1),
    Hccs(),
    Timed(file::kNic, 14, 16, kNetHeader),
    Timed(file::kRoce, 15, 16, kNetHeader),
    Lines(kAll, file::kNetdev, 16, 16),
    Dvpp(file::kDvpp, true),
    Dvpp(file::kDvpp, false),
    Dvpp(file::kVdec, true),
    Dvpp(file::kVdec, false),
    Dvpp(file::kJpegd, true),
    Dvpp(file::kJpegd, false),
    Dvpp(file::kPng, true),
    Dvpp(file::kPng, false),
    Dvpp(file::kJpege, true),
    Dvpp(file::kJpege, false),
    Dvpp(file::kVpc, true),
    Dvpp(file::kVpc, false),
    Dvpp(file::kVenc, true),
    Dvpp(file::kVenc, false),
    Dvpp(file::kScd, true),
    Dvpp(file::kScd, false),
    Fixed<NpuMemRecord, IsNpuMem>(kAll, file::kNpuMem, kStartUs32, offsetof(NpuMemRecord, time_us), kThin, 1),
    Fixed<NpuMemRecord, IsNpuMem>(kAll, file::kNpuAppMem, kStartUs32, offsetof(NpuMemRecord, time_us), kThin,
                                  1),
    Fixed<NpuModuleMemRecord, IsNpuModuleMem>(kAll, file::kNpuModuleMem, kHostCounter,
                                              offsetof(NpuModuleMemRecord, time), kThin, 0),
    Fixed<QosRecord, IsQos>(kAll, file::kQos, kDeviceTicks, offsetof(QosRecord, ticks), kThin, 1),
    Ub(),
    // Changes, not samples: each of the up to 55 entries carries its own stamp; the first one stands for the
    // record.
    Fixed<LowPowerRecord, IsLowPower>(kAll, file::kFrequencies, kDeviceTicks,
                                      offsetof(LowPowerRecord, sample), Combine::kNone, 0),
    Fixed<LowPowerRecord, IsLowPower>(kAll, file::kPower, kDeviceTicks, offsetof(LowPowerRecord, sample),
                                      Combine::kNone, 0),
    // Types with different meanings share the stream (counts of a period, levels): no single way to combine
    // them.
    Fixed<StarsSioRecord, IsStars>(kAll, file::kSocProfile, kDeviceTicks, offsetof(StarsHeader, ticks),
                                   Combine::kNone, 0),
    Sized<IsStars>(kTenEvents, file::kStarsLog, 32, kDeviceTicks, offsetof(StarsHeader, ticks)),
    Sized<IsStars>(kAll & ~kTenEvents, file::kStarsLog, 64, kDeviceTicks, offsetof(StarsHeader, ticks)),
    Sized<IsTsCpu>(kSmallTsCpu, file::kTsCpu, 184, kDeviceTicks, 96),
    Fixed<TsCpuRecord, IsTsCpu>(kAll & ~kSmallTsCpu, file::kTsCpu, kDeviceTicks, offsetof(TsCpuRecord, ticks),
                                Combine::kNone, 0),
    // Sample based; by task see kTaskTable.
    Fixed<CoreSampleRecord, kIsCoreSample>(kAll, file::kAiCore, kDeviceNs,
                                           offsetof(CoreSampleRecord, time_ns), kSum, 0),
    Fixed<CoreSampleRecord, kIsCoreSample>(kAll, file::kVectorCore, kDeviceNs,
                                           offsetof(CoreSampleRecord, time_ns), kSum, 0),
    Fixed<CoreSampleRecord950, kIsCoreSample950>(kTenEvents, file::kBothCores, kDeviceTicks,
                                                 offsetof(CoreSampleRecord950, ticks), kSum, 0),
    Fixed<CoreSampleRecord, kIsCoreSample>(kAll & ~kTenEvents, file::kBothCores, kDeviceNs,
                                           offsetof(CoreSampleRecord, time_ns), kSum, 0),
    AiCpu(),
    Sized<IsAdprof>(kAll, kDevicePackets, sizeof(AdprofPacket), kNone, 0),
    Sized(kAll, file::kTaskLog, 64),
    Sized(kAll, file::kVectorTaskLog, 64),
    Sized<IsL2Cache>(kAll, file::kL2Cache, sizeof(L2CacheRecord), kNone, 0),
    Sized<IsSocPmu<SocPmuRecord950>>(kTenEvents, file::kSocPmu, sizeof(SocPmuRecord950), kNone, 0),
    Sized<IsSocPmu<SocPmuRecord>>(kAll & ~kTenEvents, file::kSocPmu, sizeof(SocPmuRecord), kNone, 0),
    Sized(kAll, file::kCcu0Missions, 64),
    Sized(kAll, file::kCcu1Missions, 64),
    Sized(kAll, file::kCcu0Channels, 2816),
    Sized(kAll, file::kCcu1Channels, 2816),
    // Records of several sizes, or text in blocks of several lines.
    Opaque(file::kTaskTrack),
    Opaque(file::kVectorTaskTrack),
    Opaque("training_trace.data"),
    Opaque("stars_block.data"),
    Opaque(file::kCpuSamples),
    Opaque(file::kSystemCpu),
    Opaque(file::kSystemMemory),
    Opaque("CpuUsage.data"),
};

// … by task.
constexpr Entry kTaskTable[] = {
    Sized<IsStars>(kAll, file::kBothCores, sizeof(FftsTaskRecord), kDeviceTicks,
                   offsetof(FftsTaskRecord, end_ticks)),
    // Whatever else the firmware may log there: nothing of it is damage.
    Sized(k310, file::kAiCore, sizeof(TsEventCountRecord)),
    Sized<IsAicoreTask>(kAll & ~k310, file::kAiCore, sizeof(AicoreTaskRecord), kNone, 0),
    Sized<IsAicoreTask>(kAll, file::kVectorCore, sizeof(AicoreTaskRecord), kNone, 0),
};

// Files whose names carry a number: "4711-CpuUsage.data", and of instruction profiling "instr.group_3_aic"
// with what an AI core's unit tells in a record, "instr.group_3_aiv0" with what a vector core's does, and of
// a 950 "instr.biu_perf_group0_aiv0" with an event in each.
constexpr std::string_view kInstr = "instr.";
constexpr Entry kInstrOfAiCore = Sized(kAll, "instr.", sizeof(InstrCubeRecord));
constexpr Entry kInstrOfVectorCore = Sized(kAll, "instr.", sizeof(InstrVectorRecord));
constexpr Entry kInstrEvents = Sized(kAll, "instr.", sizeof(BiuRecord));

const StreamFormat& InstrFormat(std::string_view file) {
  if (!file.starts_with("instr.group_")) return kInstrEvents.format;
  return (file.ends_with("_aic") ? kInstrOfAiCore : kInstrOfVectorCore).format;
}

std::string_view WithoutPid(std::string_view file) {
  const size_t digits = std::min(file.find_first_not_of("0123456789"), file.size());
  return digits > 0 && digits < file.size() && file[digits] == '-' ? file.substr(digits + 1) : file;
}

// Bit 7 of every byte of `word` that is no digit.
uint64_t NonDigits(uint64_t word) {
  constexpr uint64_t kEach = 0x0101010101010101;
  const uint64_t value = word ^ (kEach * '0');
  return (((value & kEach * 0x7f) + kEach * (0x7f - 9)) | value) & kEach * 0x80;
}

// Follows a data line from one character that is no digit to the next: what is between needs no look.
class LineWalk {
 public:
  LineWalk(const StreamFormat& format, std::string_view line) : format_(format), line_(line) {}

  bool IsPlausible() {
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= line_.size(); at += sizeof word) {
      std::memcpy(&word, line_.data() + at, sizeof word);
      if (!TakeWord(word, at)) return false;
    }
    uint64_t word = 0x3030303030303030;  // what is behind the end are digits
    std::memcpy(&word, line_.data() + at, line_.size() - at);
    return TakeWord(word, at) && EndColumn(line_.size()) && columns_ >= format_.min_columns;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  bool IsTime() const { return columns_ == 0 && format_.stamp == StampDomain::kTextDeviceNs; }

  bool TakeWord(uint64_t word, size_t at) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    for (uint64_t left = NonDigits(word); left != 0; left &= left - 1) {
      if (!Take(at + static_cast<size_t>(std::countr_zero(left)) / 8)) return false;
    }
    return true;
  }

  bool Take(size_t at) {
    if (line_[at] == ' ') return EndColumn(at);
    if (mark_ != kNone) return false;  // a column has one of them at most, but for a point before '%'
    const char c = line_[at];
    if (c == '%' && at > begin_) {
      mark_ = at;
      return (format_.percent_columns >> columns_ & 1) != 0 && point_ != at - 1;
    }
    if (c != (IsTime() ? ':' : '.') || at == begin_ || point_ != kNone) return false;
    point_ = at;
    return true;
  }

  bool EndColumn(size_t end) {
    const size_t begin = std::exchange(begin_, end + 1);
    const size_t point = std::exchange(point_, kNone);
    const size_t mark = std::exchange(mark_, kNone);
    if (end == begin) return true;  // another blank
    if (columns_ == format_.max_columns) return false;
    if (columns_ == 0 && format_.stamp == StampDomain::kTextDeviceNs) {
      // "<seconds>:<nanoseconds, 9 digits>": the vendor's reader drops the colon, so the zeros matter.
      if (point == kNone || end - point != 10) return false;
    } else {
      if ((format_.percent_columns >> columns_ & 1) != 0 && mark != end - 1) return false;
      if (point != kNone && point == end - 1) return false;
    }
    ++columns_;
    return true;
  }

  const StreamFormat& format_;
  const std::string_view line_;
  uint32_t columns_ = 0;
  size_t begin_ = 0;      // of the present column
  size_t point_ = kNone;  // its '.', or ':' in a time
  size_t mark_ = kNone;   // its '%'
};

}  // namespace

const StreamFormat* FindStreamFormat(std::string_view file, Chip chip, bool by_task) {
  // A chip nobody has described yet gets the common layouts.
  for (const Entry& entry : kTaskTable) {
    if (by_task && entry.format.file == file && entry.chips.Has(chip)) return &entry.format;
  }
  if (file.starts_with(kInstr)) return &InstrFormat(file);
  const std::string_view name = WithoutPid(file);
  for (const Entry& entry : kTable) {
    if (entry.format.file == name && entry.chips.Has(chip)) return &entry.format;
  }
  return nullptr;
}

bool DiffersByChip(std::string_view file, bool by_task) {
  const auto is_here = [](const auto& table, std::string_view name, bool other_chips) {
    return std::ranges::any_of(table, [&](const Entry& entry) {
      return entry.format.file == name && (!other_chips || entry.chips != kAll);
    });
  };
  if (by_task && is_here(kTaskTable, file, false)) return is_here(kTaskTable, file, true);
  return is_here(kTable, WithoutPid(file), true);
}

bool PlausibleLine(const StreamFormat& format, std::string_view line) {
  return format.max_columns == 0 || LineWalk(format, line).IsPlausible();
}

bool IsHeaderLine(std::string_view line) {
  if (line.empty() || line[0] == ' ') return false;
  bool begins = true;  // a word
  for (const char c : line) {
    if (begins && c != ' ' && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
    begins = c == ' ';
  }
  return true;
}

}  // namespace profd::format
