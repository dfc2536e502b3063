#include "sim/hal/channels/faults.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "sim/scenario/clock.h"

namespace profd::sim {

namespace {

constexpr std::chrono::milliseconds kLookEvery{10};

}  // namespace

bool IsThere(const std::string& file) {
  std::error_code ignored;
  return file.empty() || std::filesystem::exists(file, ignored);
}

Faults::Faults(const std::vector<FaultSpec>& specs, uint64_t loaded_ns) : loaded_ns_(loaded_ns) {
  for (const FaultSpec& spec : specs) faults_.push_back(std::make_unique<Fault>(spec));
}

bool Faults::Concerns(const Fault& fault, uint32_t device, uint32_t channel) const {
  const FaultSpec& spec = fault.spec;
  if (spec.device >= 0 && static_cast<uint32_t>(spec.device) != device) return false;
  return spec.channels.empty() ||
         std::find(spec.channels.begin(), spec.channels.end(), channel) != spec.channels.end();
}

bool Faults::Due(const Fault& fault) const {
  const double now_s = static_cast<double>(RawNs() - loaded_ns_) / 1e9;
  const FaultSpec& spec = fault.spec;
  return now_s >= spec.at_s && (spec.for_s < 0 || now_s < spec.at_s + spec.for_s) && IsThere(spec.while_file);
}

void Faults::WaitOut(const FaultSpec& spec) {
  std::chrono::milliseconds left{spec.delay_ms};
  if (!spec.while_file.empty()) {
    for (; left > kLookEvery && IsThere(spec.while_file); left -= kLookEvery)
      std::this_thread::sleep_for(kLookEvery);
    if (!IsThere(spec.while_file)) return;
  }
  std::this_thread::sleep_for(left);
}

bool Faults::Take(Fault& fault) {
  if (fault.spec.times < 0) return true;
  return fault.left.fetch_sub(1, std::memory_order_relaxed) > 0;
}

bool Faults::MayHit(Call call, uint32_t device, uint32_t channel) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const auto& fault) {
    return fault->spec.accident == Accident::kNone && fault->spec.call == call &&
           Concerns(*fault, device, channel);
  });
}

bool Faults::Planned(Accident accident, uint32_t device, uint32_t channel) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const auto& fault) {
    return fault->spec.accident == accident && Concerns(*fault, device, channel);
  });
}

std::optional<int> Faults::Hit(Call call, uint32_t device, uint32_t channel, void* answer, size_t bytes) {
  for (const auto& fault : faults_) {
    if (fault->spec.accident != Accident::kNone || fault->spec.call != call) continue;
    if (!Concerns(*fault, device, channel) || !Due(*fault) || !Take(*fault)) continue;
    WaitOut(fault->spec);
    if (fault->spec.ones && bytes != 0) std::memset(answer, 0xff, bytes);
    if (fault->spec.ones) return fault->spec.ret.value_or(0);
    if (fault->spec.ret) return fault->spec.ret;
  }
  return std::nullopt;
}

bool Faults::Happens(Accident accident, uint32_t device, uint32_t channel) {
  return std::any_of(faults_.begin(), faults_.end(), [&](const auto& fault) {
    return fault->spec.accident == accident && Concerns(*fault, device, channel) && Due(*fault) &&
           Take(*fault);
  });
}

bool Faults::HappensOnce(Accident accident, uint32_t device, uint32_t channel) {
  const uint64_t key = uint64_t{device} << 8 | channel;
  for (const auto& fault : faults_) {
    if (fault->spec.accident != accident || !Concerns(*fault, device, channel) || !Due(*fault)) continue;
    if (std::find(fault->fired.begin(), fault->fired.end(), key) != fault->fired.end()) continue;
    fault->fired.push_back(key);
    return true;
  }
  return false;
}

double Faults::ClockStep() {
  for (const auto& fault : faults_) {
    if (fault->spec.accident == Accident::kClockStep && Due(*fault) && Take(*fault))
      return fault->spec.step_s;
  }
  return 0;
}

}  // namespace profd::sim
