// A value that profd always has at hand: what it is called everywhere, and one reading of all of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/auth/policy.h"

namespace profd::live {

// Names and units by the Prometheus conventions; `unit` as UCUM has it (OTLP's). `kind` is what live.off and
// `profctl watch` select by.
struct Metric {
  enum class Type : uint8_t { kGauge, kCounter };
  std::string_view name, kind, unit, help;
  Type type = Type::kGauge;
};

struct Label {
  std::string_view name;  // of static life
  std::string value;
  friend bool operator==(const Label&, const Label&) = default;
};

struct Sample {
  const Metric* metric = nullptr;
  std::vector<Label> labels;
  double value = 0;
  auth::Action needs = auth::Action::kSeeNode;  // what a caller must be allowed to see it
  auth::Target target = {};                     // the process, session or device that it is about
  uint64_t wall_ns = 0;                         // when it was read; 0: when its set was made

  bool IsSame(const Sample& other) const { return metric == other.metric && labels == other.labels; }
};

// A kind without a value, and why.
struct Lack {
  enum class Why : uint8_t { kOff, kNotSupported, kNoData };
  std::string_view kind;
  Why why = Why::kNoData;
  std::string text;
  friend bool operator==(const Lack&, const Lack&) = default;
};

// Of the labels that an agent gives its process those that say where it is, not what somebody calls it.
inline constexpr std::string_view kAgentLabels[] = {"job", "rank", "pod", "namespace"};

// Samples of one metric lie together, metrics by name. Never changes.
struct Snapshot {
  uint64_t number = 0;  // counts from 1
  uint64_t wall_ns = 0;
  uint64_t period_ns = 0;
  std::vector<Sample> samples;
  std::vector<Lack> lacks = {};  // the kinds of which there is no sample
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// Of one process or session.
inline bool IsPrivate(const Sample& sample) {
  return sample.needs == auth::Action::kSeeProcess || sample.needs == auth::Action::kSeeSession;
}

// Every kind there is, in the order people see them.
const std::vector<std::string_view>& Kinds();

}  // namespace profd::live
