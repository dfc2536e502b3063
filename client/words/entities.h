// Devices and processes that `watch` and `top` are asked for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "profd/v1/metrics.pb.h"

namespace profd::client {

class Entities {
 public:
  // None of both: all there are.
  static base::Result<Entities> Parse(const std::vector<std::string>& devices,
                                      const std::vector<std::string>& pids);

  // Their values, and no others where some are named.
  v1::LiveValues Only(const v1::LiveValues& values) const;
  // Their values, and those that are of no device and no process.
  v1::LiveValues AndOthers(const v1::LiveValues& values) const;

 private:
  bool IsOurs(const v1::LiveValue& value, bool others) const;
  v1::LiveValues Filtered(const v1::LiveValues& values, bool others) const;

  std::set<std::string> devices_, pids_;  // as labels have them
};

}  // namespace profd::client
