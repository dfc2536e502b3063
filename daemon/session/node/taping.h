// Somebody listens to what profd asks of the driver: one at a time, of some devices, within bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/base/timers.h"
#include "daemon/driver/driver.h"

namespace profd::session {

// What the listener wants next.
struct TapeOrder {
  enum class What : uint8_t { kBegin, kTake, kEnd };
  What what = What::kTake;
  std::vector<uint32_t> devices = {};  // kBegin
  uint64_t most_bytes = 0;             // kBegin; 0 = as much as there may be
};

struct Taped {
  std::vector<driver::TapedCall> calls;
  driver::LeftOut left_out;
};

// **Thread:** ctl only.
class Taping {
 public:
  static constexpr uint64_t kMostBytes = 64ULL << 20;    // in memory, all in all
  static constexpr uint64_t kPieceBytes = 4ULL << 20;    // of an answer
  static constexpr uint64_t kForgetNs = 60'000'000'000;  // nobody takes: the listener is gone

  explicit Taping(base::Timers& timers) : timers_(timers) {}
  ~Taping();

  base::Result<Taped> Do(const auth::Caller& caller, const TapeOrder& order,
                         const std::shared_ptr<driver::Driver>& driver);

 private:
  base::Status Begin(const auth::Caller& caller, const TapeOrder& order,
                     const std::shared_ptr<driver::Driver>& driver);
  void End();
  void WaitForTheListener();

  base::Timers& timers_;
  std::shared_ptr<driver::Driver> driver_;  // has the tape
  std::shared_ptr<driver::Tape> tape_;
  uid_t uid_ = 0;
  std::string user_;
  base::Timers::Id alarm_ = 0;
};

}  // namespace profd::session
