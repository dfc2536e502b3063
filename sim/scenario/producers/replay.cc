// Recorded bytes instead of the load model.
#include <algorithm>

#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kDefaultPeriodMs = 10;
constexpr size_t kBytesPerPeriod = 4096;  // of a binary channel; wherever that cuts a record

bool IsText(uint32_t id) {
  return id == channel::kHccs || id == channel::kNic || id == channel::kRoce || id == channel::kDvpp ||
         (id >= channel::kDvppVenc && id <= channel::kDvppScd);
}

// A line or a piece per period, then silence; a piece counts as one record.
class ReplayProducer : public PeriodicProducer {
 public:
  ReplayProducer(const Environment& env, const StartRequest& request, std::string_view recorded)
      : PeriodicProducer(env, request, (request.period_ms > 0 ? request.period_ms : kDefaultPeriodMs) * kMs),
        text_(IsText(request.channel)),
        rest_(recorded) {}

  uint64_t due_ns() const override { return rest_.empty() ? kNever : PeriodicProducer::due_ns(); }

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const size_t newline = text_ ? rest_.find('\n') : kBytesPerPeriod - 1;
    const size_t end = newline < rest_.size() ? newline + 1 : rest_.size();
    sample.AppendRaw(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return tick.device_ns;
  }

 private:
  bool text_;
  std::string_view rest_;
};

}  // namespace

std::unique_ptr<Producer> MakeReplayProducer(const Environment& env, const StartRequest& request,
                                             std::string_view recorded) {
  return std::make_unique<ReplayProducer>(env, request, recorded);
}

}  // namespace profd::sim
