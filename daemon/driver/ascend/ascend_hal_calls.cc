#include "daemon/driver/ascend/ascend_hal_calls.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace profd::driver {

namespace {

constexpr int kLacking = -1;  // of the channel calls
constexpr int32_t kSystemModule = 0, kHostOscillator = 24;

// The arguments of a call beyond device and channel, as they lie in memory.
template <typename... Words>
std::vector<std::byte> Given(Words... words) {
  std::vector<std::byte> bytes;
  const auto put = [&bytes](const auto& word) {
    const auto* from = reinterpret_cast<const std::byte*>(&word);
    bytes.insert(bytes.end(), from, from + sizeof word);
  };
  (put(words), ...);
  return bytes;
}

}  // namespace

template <typename Function>
void HalCalls::Find(Function*& target, const char* name) {
  target = reinterpret_cast<Function*>(::dlsym(library_, name));
}
template <typename Function>
void HalCalls::Bind(Function*& target, const char* name) {
  Find(target, name);
  if (target == nullptr) missing_.emplace_back(name);
}

HalCalls::HalCalls(void* library) : library_(library) {
  Bind(get_channels_, "prof_drv_get_channels");
  Bind(start_, "prof_drv_start");
  Bind(stop_, "prof_stop");
  Bind(read_, "prof_channel_read");
  Bind(poll_, "prof_channel_poll");
  Bind(flush_, "halProfDataFlush");
  Bind(device_count_, "drvGetDevNum");
  Bind(device_ids_, "drvGetDevIDs");
  Bind(device_status_, "drvDeviceStatus");
  Bind(api_version_, "halGetAPIVersion");
  Bind(physical_id_, "drvDeviceGetPhyIdByIndex");
  Bind(device_info_, "halGetDeviceInfo");
  Bind(device_info_by_buffer_, "halGetDeviceInfoByBuff");
  // Older drivers lack it, and nothing is worse for it.
  Find(pair_info_, "halGetPairDevicesInfo");
  Bind(chip_info_, "halGetChipInfo");
  Bind(split_mode_, "drvGetDeviceSplitMode");
}

bool HalCalls::IsDriverLibrary() const {
  return get_channels_ != nullptr || start_ != nullptr || stop_ != nullptr || read_ != nullptr ||
         poll_ != nullptr || flush_ != nullptr;
}

void HalCalls::SetTape(std::shared_ptr<Tape> tape) {
  const std::lock_guard lock(tape_mutex_);
  tape_ = std::move(tape);
  has_tape_ = tape_ != nullptr;
}

std::shared_ptr<Tape> HalCalls::TapeFor(uint32_t device) const {
  const std::lock_guard lock(tape_mutex_);
  return tape_ != nullptr && tape_->Wants(device) ? tape_ : nullptr;
}

template <typename Call>
int HalCalls::Taped(const What& what, const std::vector<std::byte>& given, const void* answer, size_t bytes,
                    Call call) const {
  const std::shared_ptr<Tape> tape = TapeFor(what.device);
  if (tape == nullptr) return call();
  TapedCall taped{.device = what.device, .channel = what.channel, .call = what.call, .given = given};
  taped.began_ns = base::RawNs();
  taped.code = call();
  taped.ended_ns = base::RawNs();
  const auto* from = static_cast<const std::byte*>(answer);
  if (from != nullptr && taped.code == kOk) taped.answered.assign(from, from + bytes);
  const int code = taped.code;
  tape->Add(std::move(taped));
  return code;
}

int HalCalls::GetChannels(uint32_t device, ChannelTable* table) const {
  const auto call = [&] { return get_channels_ == nullptr ? kLacking : get_channels_(device, table); };
  if (!has_tape_) return call();
  return Taped({"prof_drv_get_channels", device}, {}, table, sizeof *table, call);
}

int HalCalls::Start(uint32_t device, uint32_t channel, ProfStartPara* para) const {
  const auto call = [&] { return start_ == nullptr ? kLacking : start_(device, channel, para); };
  if (!has_tape_) return call();
  std::vector<std::byte> given =
      Given(para->channel_type, para->sample_period, para->real_time, para->user_data_size);
  const auto* data = static_cast<const std::byte*>(para->user_data);
  if (data != nullptr) given.insert(given.end(), data, data + para->user_data_size);
  return Taped({"prof_drv_start", device, channel}, given, nullptr, 0, call);
}

int HalCalls::Stop(uint32_t device, uint32_t channel) const {
  const auto call = [&] { return stop_ == nullptr ? kLacking : stop_(device, channel); };
  return has_tape_ ? Taped({"prof_stop", device, channel}, {}, nullptr, 0, call) : call();
}

int HalCalls::Read(uint32_t device, uint32_t channel, std::byte* out, uint32_t bytes) const {
  const auto call = [&] {
    return read_ == nullptr ? kLacking : read_(device, channel, reinterpret_cast<char*>(out), bytes);
  };
  const std::shared_ptr<Tape> tape = has_tape_ ? TapeFor(device) : nullptr;
  if (tape == nullptr) return call();
  TapedCall taped{.device = device, .channel = channel, .call = "prof_channel_read"};
  taped.began_ns = base::RawNs();
  const int code = taped.code = call();
  taped.ended_ns = base::RawNs();
  if (code == 0) return code;  // most of them, and they say nothing
  if (code > 0) taped.answered.assign(out, out + std::min(static_cast<uint32_t>(code), bytes));
  tape->Add(std::move(taped));
  return code;
}

int HalCalls::Flush(uint32_t device, uint32_t channel, uint32_t* waiting) const {
  const auto call = [&] { return flush_ == nullptr ? kNotSupported : flush_(device, channel, waiting); };
  if (!has_tape_) return call();
  return Taped({"halProfDataFlush", device, channel}, {}, waiting, sizeof *waiting, call);
}

int HalCalls::DeviceCount(uint32_t* count) const {
  const auto call = [&] { return device_count_ == nullptr ? kNotSupported : device_count_(count); };
  return has_tape_ ? Taped({"drvGetDevNum"}, {}, count, sizeof *count, call) : call();
}

int HalCalls::DeviceIds(uint32_t* ids, uint32_t count) const {
  const auto call = [&] { return device_ids_ == nullptr ? kNotSupported : device_ids_(ids, count); };
  return has_tape_ ? Taped({"drvGetDevIDs"}, Given(count), ids, count * sizeof *ids, call) : call();
}

int HalCalls::DeviceStatus(uint32_t device, int* status) const {
  const auto call = [&] {
    return device_status_ == nullptr ? kNotSupported : device_status_(device, status);
  };
  return has_tape_ ? Taped({"drvDeviceStatus", device}, {}, status, sizeof *status, call) : call();
}

int HalCalls::ApiVersion(int* version) const {
  const auto call = [&] { return api_version_ == nullptr ? kNotSupported : api_version_(version); };
  return has_tape_ ? Taped({"halGetAPIVersion"}, {}, version, sizeof *version, call) : call();
}

int HalCalls::PhysicalId(uint32_t device, uint32_t* id) const {
  const auto call = [&] { return physical_id_ == nullptr ? kNotSupported : physical_id_(device, id); };
  return has_tape_ ? Taped({"drvDeviceGetPhyIdByIndex", device}, {}, id, sizeof *id, call) : call();
}

int HalCalls::Info(uint32_t device, int32_t module, int32_t info, int64_t* value) const {
  const auto call = [&] {
    return device_info_ == nullptr ? kNotSupported : device_info_(device, module, info, value);
  };
  if (!has_tape_) return call();
  // The host's clock, whichever device is asked.
  const bool is_of_host = module == kSystemModule && info == kHostOscillator;
  return Taped({"halGetDeviceInfo", is_of_host ? kOfNoDevice : device}, Given(module, info), value,
               sizeof *value, call);
}

int HalCalls::InfoByBuffer(uint32_t device, int32_t module, int32_t info, void* buffer, int32_t bytes) const {
  int32_t size = bytes;
  const auto call = [&] {
    return device_info_by_buffer_ == nullptr ? kNotSupported
                                             : device_info_by_buffer_(device, module, info, buffer, &size);
  };
  if (!has_tape_) return call();
  std::vector<std::byte> given = Given(module, info);
  const auto* question = static_cast<const std::byte*>(buffer);
  given.insert(given.end(), question, question + bytes);
  return Taped({"halGetDeviceInfoByBuff", device}, given, buffer, static_cast<size_t>(bytes), call);
}

int HalCalls::PairInfo(uint32_t device, uint32_t other, int32_t info, int64_t* value) const {
  const auto call = [&] {
    return pair_info_ == nullptr ? kNotSupported : pair_info_(device, other, info, value);
  };
  if (!has_tape_) return call();
  return Taped({"halGetPairDevicesInfo", device}, Given(other, info), value, sizeof *value, call);
}

int HalCalls::ChipInfo(uint32_t device, ChipTexts* texts) const {
  const auto call = [&] { return chip_info_ == nullptr ? kNotSupported : chip_info_(device, texts); };
  return has_tape_ ? Taped({"halGetChipInfo", device}, {}, texts, sizeof *texts, call) : call();
}

int HalCalls::SplitMode(uint32_t device, uint32_t* mode) const {
  const auto call = [&] { return split_mode_ == nullptr ? kNotSupported : split_mode_(device, mode); };
  return has_tape_ ? Taped({"drvGetDeviceSplitMode", device}, {}, mode, sizeof *mode, call) : call();
}

}  // namespace profd::driver
