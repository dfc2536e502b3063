// The emitter in this process, with a region of a test's.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "libagent/src/emitter.h"
#include "libagent/src/process.h"
#include "tests/unit/libagent/region.h"

namespace profd::agent::testing {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

class EmitterTest : public ::testing::Test {
 protected:
  void Attach(Geometry geometry = {}) {
    region_ = std::make_unique<Region>(geometry);
    region_->Seal();
    ASSERT_EQ(AttachRegion(region_->fd(), ::dup(region_->wake())), AttachError::kOk);
  }
  void TearDown() override { DetachRegion(); }

  // On a busy machine a thread in the middle of a record may not run for longer than Disarm() waits.
  static bool DisarmInTime() {
    for (int attempt = 0; attempt < 50; ++attempt) {
      if (Disarm()) return true;
    }
    return false;
  }

  // What this thread emitted, its own records left out.
  std::vector<ReadRecord> Events() { return EventsOf(region_->DrainAll()); }

  std::unique_ptr<Region> region_;
};

}  // namespace profd::agent::testing
