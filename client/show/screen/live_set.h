// The newest live values of one profd and those before them: what a screen looks up by metric and labels.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profd/v1/metrics.pb.h"

namespace profd::client {

// **Thread:** one.
class LiveSet {
 public:
  using Labels = std::map<std::string, std::string>;

  void Take(const v1::LiveValues& values);
  uint64_t wall_ns() const { return wall_ns_; }  // of the newest; 0: there are none yet

  // The sum of all values that have these labels; nothing where none has.
  std::optional<double> Now(const std::string& metric, const Labels& labels = {}) const {
    return Sum(now_, metric, labels);
  }
  // Growth of a counter, per second.
  std::optional<double> Rate(const std::string& metric, const Labels& labels = {}) const;
  // The labels `keys` of each value of the metric; "" for a label that a value has not.
  std::vector<Labels> Of(const std::string& metric, const std::vector<std::string>& keys) const;

 private:
  struct Value {
    Labels labels;
    double value = 0;
  };
  using Set = std::map<std::string, std::vector<Value>>;

  static std::optional<double> Sum(const Set& set, const std::string& metric, const Labels& labels);

  Set now_, before_;
  uint64_t wall_ns_ = 0, before_wall_ns_ = 0;
};

// How busy the AI cores of a node's devices are, and how many of the devices work.
struct DevicesSum {
  size_t devices = 0, working = 0;
  std::optional<double> mean, least, most;  // ratio; nothing: no device says
};
DevicesSum SumOfDevices(const LiveSet& live);

}  // namespace profd::client
