// What the start of a channel says to those who did not make it. Offsets: docs/formats.md, "start payloads".
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/join.h"
#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/ascend/start/core_metrics.h"
#include "daemon/driver/ascend/start/instr.h"
#include "daemon/driver/ascend/start/qos_streams.h"
#include "daemon/driver/ascend/start/soc_pmu.h"
#include "daemon/driver/starts.h"
#include "format/records/packed.h"

namespace profd::driver {

using format::Kind;

namespace {

constexpr size_t kBlocksWord = 7, kFewBlocksWord = 10;  // of channel 50
constexpr size_t kCopiesWord = 7;                       // of channel 44
constexpr uint32_t kFirmwareBit = 0x01000000;
constexpr size_t kPowerWord = 8;  // of channel 52

uint32_t PayloadWord(const StartPara& para, size_t index) {
  return format::Load<uint32_t>(para.user_data.data() + index * sizeof(uint32_t));
}

// "0x8,0xa,…" of a payload's u16 events.
std::string HexEvents(const std::byte* events, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    char item[16];
    std::snprintf(item, sizeof item, "%s0x%x", i == 0 ? "" : ",",
                  static_cast<unsigned>(format::Load<uint16_t>(events + i * sizeof(uint16_t))));
    text += item;
  }
  return text;
}

std::string HexWords(const StartPara& para, size_t first, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    char item[16];
    std::snprintf(item, sizeof item, "%s0x%x", i == 0 ? "" : ",", PayloadWord(para, first + i));
    text += item;
  }
  return text;
}

// Two channels of a 950 may follow them: the same, then.
void NoteStreams(uint32_t channel, const StartPara& para, const DeviceFacts& device,
                 format::SampleSettings& settings) {
  const std::vector<QosStream> streams = StreamsOfStart(channel, para, device);
  if (!streams.empty()) settings.qos_events = base::Joined(streams, ",", &QosStream::name);
}

std::string LlcMode(const StartPara& para) { return PayloadWord(para, 1) == 2 ? "write" : "read"; }

}  // namespace

bool SamePayload(uint32_t channel, const StartPara& a, const StartPara& b) {
  // Whose payload begins with a copy of the period.
  constexpr uint32_t kPeriodFirst[] = {channel::kHbm,   channel::kDdr,         channel::kLlc,
                                       channel::kTsCpu, channel::kNpuAppMem,   channel::kNpuMem,
                                       channel::kQos,   channel::kNpuModuleMem};
  if (a.user_data_size != b.user_data_size) return false;
  const bool period_first =
      std::find(std::begin(kPeriodFirst), std::end(kPeriodFirst), channel) != std::end(kPeriodFirst);
  const size_t from = period_first ? sizeof(uint32_t) : 0;
  const size_t to = std::min<size_t>(a.user_data_size, kMaxUserData);
  return from >= to ||
         std::equal(a.user_data.begin() + from, a.user_data.begin() + to, b.user_data.begin() + from);
}

bool IsPort(uint32_t channel) { return channel == channel::kPortCounters; }

void NoteStart(uint32_t channel, const StartPara& para, Kind kind, std::string_view mode,
               const DeviceFacts& device, format::SampleSettings& settings) {
  // A 950 is not asked how often; the vendor's default stands there.
  if (InstrIndex(channel) && device.chip == format::Chip::k910B) settings.instr_cycles = PayloadWord(para, 0);
  switch (channel) {
    case channel::kLlc:
      settings.llc_mode = LlcMode(para);
      break;
    case channel::kTaskTrack:
      settings.firmware = (PayloadWord(para, kCopiesWord) & kFirmwareBit) != 0;
      break;
    case channel::kStarsLog:
      settings.blocks = PayloadWord(para, kBlocksWord) != 0;
      settings.few_blocks = PayloadWord(para, kFewBlocksWord) != 0;
      break;
    case channel::kAiCore:
      settings.aicore_events = HexWords(para, 5, std::min(PayloadWord(para, 4), 8u));
      settings.aicore_metrics = CoreMetricName(settings.aicore_events, device.chip, CoreType::kAiCore);
      break;
    case channel::kAiVector:
      settings.aiv_events = HexWords(para, 5, std::min(PayloadWord(para, 4), 8u));
      settings.aiv_metrics = CoreMetricName(settings.aiv_events, device.chip, CoreType::kVectorCore);
      break;
    case channel::kL2Cache:
      settings.l2_events = L2CacheText(L2CacheEvents(device.chip));
      break;
    case channel::kSocProfile:
      settings.power_left_out = settings.power_left_out && PayloadWord(para, kPowerWord) == 0;
      NoteStreams(channel, para, device, settings);
      break;
    case channel::kCoreTask:
    case channel::kCoreSample: {
      const uint32_t block = para.user_data_size == 88 ? 36 : 32;
      const uint32_t events = para.user_data_size == 88 ? 10 : 8;
      settings.aicore_events =
          HexEvents(para.user_data.data() + 4 + 16, std::min(PayloadWord(para, 4), events));
      settings.aiv_events = HexEvents(para.user_data.data() + 4 + block + 16,
                                      std::min(PayloadWord(para, (4 + block + 12) / 4), events));
      settings.aicore_metrics = CoreMetricName(settings.aicore_events, device.chip, CoreType::kAiCore);
      settings.aiv_metrics = CoreMetricName(settings.aiv_events, device.chip, CoreType::kVectorCore);
      break;
    }
    case channel::kQos:
      NoteStreams(channel, para, device, settings);
      settings.streams_chosen = mode.starts_with(kStreamsMode);
      break;
    case channel::kSocPmu:
      settings.npu_events = SocPmuText(para);
      settings.l2_events = kind == Kind::kL2 ? SocHaText(para) : settings.npu_events;
      break;
    default:
      break;
  }
}

void NoteStart(uint32_t channel, const StartPara& para, const DeviceFacts& device, format::SideFacts& side) {
  if (channel == channel::kLlc) side.llc_mode = LlcMode(para);
  for (const QosStream& stream : StreamsOfStart(channel, para, device))
    side.qos_events.push_back(stream.name);
}

}  // namespace profd::driver
