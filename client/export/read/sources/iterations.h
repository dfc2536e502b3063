// The time of one iteration of a model, for exports of that alone.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "client/export/read/capture.h"
#include "client/export/read/slices.h"

namespace profd::client {

// Steps of programs are of this model: the vendor's number for "by step".
inline constexpr uint32_t kStepsOfPrograms = 4294967295;

struct IterationAsked {
  std::optional<uint32_t> model;  // else the one with the smallest number that has iterations
  uint64_t number = 1;
};
struct IterationTime {
  uint64_t from_ns = 0, to_ns = 0;  // wall clock, both included; of several devices the first and the last
};
// kNotFound: there is no such iteration; the message says which there are.
base::Result<IterationTime> FindIteration(const Capture& capture, const IterationAsked& asked,
                                          Progress& progress);

}  // namespace profd::client
