#include "client/analyze/model/replay/steps_of_job.h"

#include <utility>

namespace profd::analyze {

StepsOfJob::StepsOfJob(size_t count)
    : begin_(count, INT64_MAX), end_(count, INT64_MIN), device_end_(count, INT64_MIN) {}

void StepsOfJob::Add(const Rank& rank, const std::vector<Ns>& done, const std::vector<Step>& program) {
  for (size_t i = 0; i < program.size(); ++i) {
    const uint32_t step = rank.job_step[i];
    if (step == kNone) continue;
    begin_[step] = std::min(begin_[step], program[i].begin);
    end_[step] = std::max({end_[step], program[i].end, done[i]});
    device_end_[step] = std::max(device_end_[step], done[i]);
  }
}

void StepsOfJob::Fill(Ns begin, std::vector<Ns>& device_end, std::vector<Ns>& length) {
  device_end = std::move(device_end_);
  // One in which no device does anything ends with the one before.
  Ns reached = begin;
  for (Ns& end : device_end) reached = end = std::max(end, reached);
  reached = INT64_MIN;
  for (size_t i = 0; i < end_.size(); ++i)
    length.push_back(std::max<Ns>(0, end_[i] - std::max(begin_[i], std::exchange(reached, end_[i]))));
}

}  // namespace profd::analyze
