// The collector's process on a device, as far as others see it: whether it runs, and whether it has
// registered channel 145. Pure.
#pragma once

#include <cstdint>

namespace profd::sim {

// It looks for the event group of its collector ten times, every 10 ms, and ends when there is none. Source:
// ProfSendEvent() of the vendor's collector (hicann/runtime, devprof_common.cpp: WAIT_COUNT, WAIT_TIME).
class DeviceProcess {
 public:
  static constexpr uint64_t kLookEveryNs = 10'000'000;
  static constexpr uint64_t kLooks = 10;

  // `has_group`: the group was there before.
  void Start(int number, uint64_t now_ns, bool has_group);
  void End() { number_ = 0; }
  // The group has been made.
  void NoteGroup(uint64_t now_ns);

  bool Runs(uint64_t now_ns) const;
  bool OffersChannel(uint64_t now_ns) const;  // it has seen the group
  int number() const { return number_; }      // 0: nobody started one, or it was ended

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  int number_ = 0;
  uint64_t started_ns_ = 0;
  uint64_t seen_ns_ = kNever;  // the look that finds the group
};

}  // namespace profd::sim
