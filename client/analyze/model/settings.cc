#include "client/analyze/model/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/edit_distance.h"
#include "base/text.h"

namespace profd::analyze {
namespace {

using base::Code;
using base::Status;

constexpr Setting kSettings[] = {
    {"general.min_cost_percent", 1, "of a step: what costs less is not reported"},
    {"general.min_cost_us", 20, "µs of a step: what costs less is not reported, however short the step"},
    {"general.min_once_ms", 1, "ms: what happened once and cost less is not reported"},
    {"general.once_step_percent", 10, "of the median step: what happened once and cost less is not reported"},
    {"general.once_share", 10, "percent of the steps: what happens in fewer, or only once, counts as once"},
    {"general.effect_se", 3, "standard errors that an effect must have"},
    {"general.effect_percent", 3, "an effect must have, of five steps and more"},
    {"general.effect_percent_few", 10, "an effect must have, of fewer steps"},
    {"general.skip_first_steps", 1, "steps that are not analysed: they warm up"},
    {"replay.model_error", 3, "percent: where steps are predicted worse than that, confidence is low"},
    {"rank.same_work_percent", 90,
     "of its kernels, by type, that a rank has in common with one it is compared with"},
    {"comm.slow_ratio", 1.2, "of a group's transfers to those of groups like it"},
    {"comm.link_ratio", 0.8, "of the rate between two ranks to that between others like them"},
    {"comm.min_ops", 20, "collectives that each of the two has"},
    {"comm.retry_ms", 4000, "ms: a transfer that takes longer was sent again"},
    {"comm.outlier_ratio", 3, "of a single transfer to the median of those like it"},
    {"comm.min_samples", 8, "transfers that are beside something else, and that are not"},
    {"comm.contention_ratio", 0.8, "of the rate of data beside something else to that without"},
    {"comm.align_ratio", 0.9, "of the rate of data of odd sizes to that of multiples of 512 bytes"},
    {"comm.exposed_percent", 10, "of a step that data take behind each other while nothing is computed"},
    {"host.gap_ms", 0.2, "ms: shorter pauses of the host are no stall"},
    {"host.cause_share", 50, "percent of a stall that its cause covers at least"},
    {"host.contrast", 2, "of throttling in stalls to that of other times"},
    {"host.pace_places", 8,
     "places of a step that a program computes at: at more of them it is how it launches"},
    {"host.launch_bound_share", 30, "percent of kernels that find the queue empty"},
    {"host.sync_share", 50, "percent of launches with a synchronising call behind them"},
    {"kernel.jitter_ratio", 1.5, "of a kernel to the median of those of its type and shape"},
    {"kernel.jitter_min", 20, "kernels of a type and shape that a median is taken of"},
    {"kernel.jitter_percent", 1, "of the kernels that take so much longer"},
    {"moe.max_over_mean", 1.2, "of the busiest rank's experts to the mean of its peers, in the usual step"},
    {"memory.leak_mb", 64, "MB in 100 steps that an owner's memory grows by"},
    {"memory.fragment_percent", 20, "of what an allocator holds that is not in use, when most of it is"},
    {"memory.fragment_mb", 1024, "MB that it then holds and are not in use"},
    {"memory.min_steps", 50, "steps that are needed to speak of a leak"},
    {"step.jitter_percent", 10, "of the 95 % quantile of steps above their median"},
    {"step.period_correlation", 0.5, "of slow steps with those a period later"},
    {"kernel.aicpu_percent", 0.5, "of a step"},
    {"kernel.bound_room", 20, "percent of a kernel's time that a pipe at its usual best would save"},
    {"kernel.bound_us", 20, "µs: of shorter kernels nobody asks what limits them"},
    {"kernel.bound_percent", 1, "of the computing that a type and shape takes"},
    {"kernel.blocks_ratio", 1.25, "of the time of kernels whose cores are idle to that of all cores in use"},
    {"kernel.blocks_us", 20, "µs: shorter kernels are not looked at for idle cores"},
    {"kernel.blocks_percent", 1, "of the computing that a type and shape takes"},
    {"kernel.fusible_us", 10, "µs: longer kernels are not asked to become one"},
    {"kernel.fusible_count", 5, "times that the same kernels follow each other"},
    {"kernel.fusible_percent", 40, "of the time of kernels in a row that lies between them"},
    {"kernel.conversion_percent", 5, "of the computing that conversions take"},
    {"clock.low_percent", 2, "below the rated clock, on average while the device is busy"},
    {"rank.own_history_percent", 5, "that kernels take longer than they did before"},
    {"rank.unexplained_percent", 8,
     "of a step that a device does nothing more than others, and nothing says why"},
    {"pipe.stage_ratio", 1.1, "of a stage's computing to that of the others"},
    {"pipe.bubble_ratio", 1.2, "of the time that the first stage waits to what so many batches need"},
    {"pipe.batches_per_stage", 2, "batches of a step for each stage: fewer are told of as information"},
    {"goodput.outside_percent", 5, "of the time that lies between steps"},
    {"rank.absent_percent", 1, "of a step, waited for ranks that were not recorded"},
    {"step.outlier", 1.5, "of a step to the median step"},
    {"step.few", 1.2, "of slow steps to the quick ones, where there are fewer than 20"},
};

}  // namespace

std::span<const Setting> DefaultSettings() { return kSettings; }

Status Settings::Set(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string key(text.substr(0, equals));
  const auto known = std::ranges::find(kSettings, key, &Setting::key);
  if (known == std::end(kSettings)) {
    std::vector<std::string> keys;
    for (const Setting& setting : kSettings) keys.emplace_back(setting.key);
    const std::string_view nearest = base::Nearest(key, keys);
    return {Code::kInvalidArgument, "--set " + base::Excerpt(text) + ": there is no such setting" +
                                        (nearest.empty() ? std::string("; profctl analyze --list shows them")
                                                         : ": did you mean " + std::string(nearest) + "?")};
  }
  const std::string_view number = equals == text.npos ? std::string_view() : text.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() ||
      !std::isfinite(value) || value < 0)
    return {Code::kInvalidArgument,
            "--set " + base::Excerpt(text) + ": expected " + key + "=NUMBER, not below 0"};
  changed_[key] = value;
  return {};
}

double Settings::Get(std::string_view key) const {
  if (const auto changed = changed_.find(key); changed != changed_.end()) return changed->second;
  const auto known = std::ranges::find(kSettings, key, &Setting::key);
  PROFD_CHECK(known != std::end(kSettings));
  return known->value;
}

}  // namespace profd::analyze
