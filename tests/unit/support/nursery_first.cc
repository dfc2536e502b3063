// The process that stand-ins are forked from is made before there are threads, as profd's main does: one that
// is forked while a thread holds the allocator's lock hangs, and with it whoever asks (AddressSanitizer's
// lock knows nothing of forks).
#include <gtest/gtest.h>

#include "daemon/host/process/stand_in.h"

namespace profd::host {
namespace {

class NurseryFirst : public testing::Environment {
 public:
  void SetUp() override {
    const base::Status made = StandIn::Prepare();
    ASSERT_TRUE(made.ok()) << made.message();
  }
};

[[maybe_unused]] const testing::Environment* const g_nursery_first =
    testing::AddGlobalTestEnvironment(new NurseryFirst);

}  // namespace
}  // namespace profd::host
