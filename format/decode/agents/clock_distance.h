// How much later one clock tells of events than another one does: the distance that most of the events have.
// Each event is seen with all events of the other clock that may be the same one, of which all but one are
// wrong; what is wrong differs from event to event, where they do not come at one pace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace profd::format {

// **Thread:** one. Bounded by the range of the distances.
class ClockDistance {
 public:
  // Of an event to each that it may be, ns.
  void Take(std::span<const int64_t> distances);
  // nullopt: too few events yet, or several distances are as likely.
  std::optional<int64_t> ns() const { return ns_; }

 private:
  static constexpr int64_t kStepNs = 4'000;
  static constexpr double kFewest = 24;       // events that have it
  static constexpr double kLeastShare = 0.6;  // of all
  static constexpr double kNextShare = 0.7;   // of those that have it: as many may have another one
  static constexpr uint32_t kRemembered = 256, kOften = 8;

  struct Count {
    double events = 0, sum_ns = 0;
  };
  void Forget();
  void Decide();

  std::map<int64_t, Count> counts_;  // by distance / kStepNs
  double events_ = 0;
  uint32_t since_forgotten_ = 0, since_decided_ = 0;
  std::optional<int64_t> ns_;
};

}  // namespace profd::format
