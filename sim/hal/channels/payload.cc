#include "sim/hal/channels/payload.h"

#include <cstring>

#include "sim/abi.h"
#include "sim/scenario/producers/channel_ids.h"

namespace profd::sim {
namespace {

constexpr uint32_t kLongestPeriodMs = 10'000;
constexpr size_t kWord = sizeof(uint32_t);

uint32_t Word(std::string_view payload, size_t index) {
  uint32_t word = 0;
  if (payload.size() >= (index + 1) * kWord) std::memcpy(&word, payload.data() + index * kWord, kWord);
  return word;
}

uint16_t Half(std::string_view payload, size_t offset) {
  uint16_t half = 0;
  if (payload.size() >= offset + sizeof half) std::memcpy(&half, payload.data() + offset, sizeof half);
  return half;
}

// `fixed` words, then as many events as word `count_at` says.
bool IsEventList(std::string_view payload, size_t fixed, size_t count_at, uint32_t most) {
  const uint32_t count = Word(payload, count_at);
  return payload.size() >= fixed * kWord && count <= most && payload.size() == (fixed + count) * kWord;
}

// Head {type 0, length of all}, then blocks {type, length of the body} + body up to the end.
bool IsSocPmuStream(std::string_view payload) {
  constexpr size_t kHead = 4;
  constexpr uint16_t kLastType = 4;
  if (payload.size() < kHead || Half(payload, 0) != 0 || Half(payload, 2) != payload.size()) return false;
  size_t at = kHead;
  while (at + kHead <= payload.size()) {
    const uint16_t type = Half(payload, at);
    if (type == 0 || type > kLastType) return false;
    at += kHead + Half(payload, at + 2);
  }
  return at == payload.size();
}

bool IsCoreBlocks(const Chip& chip, std::string_view payload) {
  const size_t size = chip.is_950() ? 88 : 72;
  const uint32_t kinds = Word(payload, 0);
  return payload.size() == size && kinds >= 1 && kinds <= 3;
}

}  // namespace

bool IsPayloadAccepted(const Chip& chip, uint32_t id, std::string_view payload) {
  const size_t size = payload.size();
  if (channel::IsBiu(id)) return size == 8 || size == 16 || size == 17;
  if (channel::IsCcu(id)) return size == 0;
  if (channel::IsProcess(id)) return size <= kMaxProcessUserData;
  switch (id) {
    case channel::kHbm:
    case channel::kDdr:
      return Word(payload, 2) > 0 && IsEventList(payload, 3, 2, 8);
    case channel::kLlc:
    case channel::kLowPower:
      return size == 8;
    case channel::kNpuAppMem:
    case channel::kNpuMem:
    case channel::kModuleMem:
      return size == 16;
    case channel::kQos:
      return size == 28;
    case channel::kTscpu:
      return IsEventList(payload, 2, 1, 8);
    case channel::kAicore:
    case channel::kAiv:
      return size == 56;
    case channel::kTsfw:
      return size == 36;
    case channel::kHwts:
    case channel::kKeyPoint:
      return size == 4;
    case channel::kL2:
      return size == 36 || IsEventList(payload, 1, 0, 8);
    case channel::kStarsLog:
      return size == 36 || size == 40 || size == 44;
    case channel::kStarsProfile:
      return size == 48 || size == 56 || size == 84;
    case channel::kFftsTask:
    case channel::kFftsSample:
      return IsCoreBlocks(chip, payload);
    case channel::kSocPmu:
      return IsSocPmuStream(payload);
    default:
      return size == 0;  // links and media engines
  }
}

bool IsPeriodAccepted(const Chip& chip, uint32_t id, uint32_t period_ms) {
  if (!channel::IsPeripheral(id)) return true;
  return period_ms >= chip.min_period_ms && period_ms <= kLongestPeriodMs;
}

}  // namespace profd::sim
