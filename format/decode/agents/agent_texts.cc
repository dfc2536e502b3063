// Names and payloads of what a process recorded.
#include <algorithm>
#include <cstring>
#include <string>

#include "format/decode/agents/agent_lanes.h"
#include "format/records/packed.h"
#include "libagent/abi/lane.h"

namespace profd::format {

namespace {

constexpr size_t kMaxText = abi::kMaxValues * abi::kTextBytes;

}  // namespace

void AgentLanes::Names(const Block& block) {
  uint64_t at = block.header.lost_before;
  std::span<const std::byte> rest = block.payload;
  while (rest.size() >= sizeof(abi::NameEntry)) {
    const auto entry = Load<abi::NameEntry>(rest.data());
    const size_t size =
        (sizeof(abi::NameEntry) + size_t{entry.bytes} + abi::kNameUnit) / abi::kNameUnit * abi::kNameUnit;
    if (entry.bytes > abi::kMaxNameBytes || size > rest.size()) {
      ++counts_.damaged_names;
      return;
    }
    const std::string_view text(reinterpret_cast<const char*>(rest.data() + sizeof(abi::NameEntry)),
                                entry.bytes);
    TextId* place = nullptr;
    switch (entry.type) {
      case abi::kNameText:
        place = names_.FindOrAdd(at / abi::kNameUnit);
        break;
      case abi::kNameDomain:
        place = entry.domain < domains_.size() ? &domains_[entry.domain] : nullptr;
        break;
      case abi::kNameCategory:
        place = categories_.FindOrAdd(CategoryKey(entry.domain, entry.number));
        break;
      case abi::kNameOfThread:
        sink_.Thread({agent_.pid, entry.number, text});
        break;
      case abi::kNameReported:
      case abi::kNameOfReportType:
        break;  // in host/data, too
      default:
        ++counts_.damaged_names;
    }
    if (place != nullptr) *place = spans_.texts().Intern(text);
    at += size;
    rest = rest.subspan(size);
  }
}

TextId AgentLanes::Name(uint32_t reference) const {
  const TextId* name = const_cast<base::FlatMap<TextId>&>(names_).Find(reference);
  return name != nullptr ? *name : 0;
}

// The default domain has no name.
TextId AgentLanes::DomainName(uint16_t domain) {
  if (domain == 0 || domain >= domains_.size()) return 0;
  if (domains_[domain] == 0) domains_[domain] = spans_.texts().Intern("domain " + std::to_string(domain));
  return domains_[domain];
}

void AgentLanes::ReadValues(std::span<const std::byte> slots) {
  values_ = Values{std::move(values_.args), std::move(values_.bytes)};
  values_.args.clear();
  values_.bytes.clear();
  char text[kMaxText];
  size_t text_bytes = 0;
  for (; !slots.empty(); slots = slots.subspan(abi::kRecordBytes)) {
    const auto slot = Load<abi::ValueSlot>(slots.data());
    if (slot.kind != abi::kValue || (size_t{slot.more} + 1) * abi::kRecordBytes != slots.size()) {
      values_.damaged = true;
      return;
    }
    const TextId key = Name(slot.key);
    switch (slot.type) {
      case abi::kU64:
        values_.args.push_back({key, ArgType::kU64, slot.bits});
        break;
      case abi::kI64:
        values_.args.push_back({key, ArgType::kI64, slot.bits});
        break;
      case abi::kF64:
        values_.args.push_back({key, ArgType::kF64, slot.bits});
        break;
      case abi::kName:
        values_.args.push_back({key, ArgType::kText, Name(static_cast<uint32_t>(slot.bits))});
        break;
      case abi::kText: {
        const size_t bytes = std::min<size_t>(slot.bytes & ~abi::kTextGoesOn, abi::kTextBytes);
        std::memcpy(text + text_bytes, slot.text, bytes);
        text_bytes += bytes;
        if ((slot.bytes & abi::kTextGoesOn) != 0 && slot.more > 0) break;
        values_.args.push_back({key, ArgType::kText, spans_.texts().Intern({text, text_bytes})});
        text_bytes = 0;
        break;
      }
      case abi::kTimes:
        values_.begin_ns = slot.begin_ns;
        values_.end_ns = slot.end_ns;
        values_.has_times = true;
        break;
      case abi::kBytes: {
        const auto bytes = std::as_bytes(std::span(slot.text));
        values_.bytes.insert(values_.bytes.end(), bytes.begin(), bytes.end());
        break;
      }
      case abi::kNone:
        break;
      default:
        values_.damaged = true;
        return;
    }
  }
}

}  // namespace profd::format
