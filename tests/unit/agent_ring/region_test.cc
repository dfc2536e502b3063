#include "daemon/agent/lanes/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "libagent/abi/lane.h"
#include "libagent/src/process.h"
#include "tests/unit/support/process_lanes.h"

namespace profd::agent {
namespace {

TEST(RegionTest, IsWhatTheAgentAccepts) {
  const auto region = Region::Make({.lanes = 4, .lane_slots = 256, .names_bytes = 1 << 16});
  ASSERT_TRUE(region.ok()) << region.status().message();
  EXPECT_EQ(AttachRegion((*region)->memfd(), -1), AttachError::kOk);
  DetachRegion();
  EXPECT_NE(::fcntl((*region)->memfd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl((*region)->wake_fd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl((*region)->wake_fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(RegionTest, NobodyChangesItsSize) {
  const auto region = Region::Make({.lanes = 1, .lane_slots = 256, .names_bytes = 1 << 16});
  ASSERT_TRUE(region.ok());
  const int memfd = (*region)->memfd();
  EXPECT_NE(::ftruncate(memfd, 0), 0);
  EXPECT_NE(::ftruncate(memfd, 1 << 30), 0);
  EXPECT_NE(::fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(RegionTest, RefusesWhatTheAgentWouldRefuse) {
  for (const Geometry& geometry : {Geometry{.lanes = 0}, Geometry{.lanes = 1025}, Geometry{.lane_slots = 128},
                                   Geometry{.lane_slots = 300}, Geometry{.names_bytes = 100}}) {
    const auto region = Region::Make(geometry);
    EXPECT_EQ(region.status().code(), base::Code::kInvalidArgument);
    EXPECT_NE(region.status().message().find("out of range"), std::string::npos);
  }
}

TEST(RegionTest, GivesTheRingsBack) {
  const Geometry geometry{.lanes = 16, .lane_slots = 1 << 12, .names_bytes = 1 << 16};
  const auto made = Region::Make(geometry);
  ASSERT_TRUE(made.ok());
  Region& region = **made;
  const ProcessLanes process(region);
  const uint64_t rings = abi::RingsOffset(geometry.lanes);
  const uint64_t names = abi::NamesOffset(geometry.lanes, geometry.lane_slots);
  std::memset(process.bytes() + rings, 0xff, names - rings);
  std::memset(process.bytes() + names, 0x11, geometry.names_bytes);
  struct stat before {};
  struct stat after {};
  ::fstat(region.memfd(), &before);
  region.ReleaseRings();
  ::fstat(region.memfd(), &after);
  EXPECT_EQ((before.st_blocks - after.st_blocks) * 512, static_cast<int64_t>(names - rings));
  EXPECT_EQ(before.st_size, after.st_size);
  EXPECT_EQ(process.bytes()[rings], std::byte{0});
  EXPECT_EQ(process.bytes()[names], std::byte{0x11});
  EXPECT_EQ(region.untrusted_header()->magic, abi::kRegionMagic);
}

}  // namespace
}  // namespace profd::agent
