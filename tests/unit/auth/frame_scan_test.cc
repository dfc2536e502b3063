#include "daemon/auth/door/frame_scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace profd::auth {
namespace {

std::string FrameOf(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(length >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
  return bytes + std::string(length, 'x');
}

TEST(FrameScanTest, FramesAreSeenWhereverTheBytesAreCut) {
  std::string bytes(FrameScan::kClientPreface, 'P');
  for (uint32_t stream = 0; stream < 100; ++stream) {
    bytes += FrameOf(static_cast<uint8_t>(stream % 10), 4, stream << 24 | stream, stream * 7 % 300);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    FrameScan scan(FrameScan::kClientPreface);
    uint32_t seen = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = 1 + random() % 40;
      const std::string piece = bytes.substr(at, size);
      EXPECT_EQ(scan.Pass(piece,
                          [&](const Frame& frame) {
                            EXPECT_EQ(frame.type, seen % 10);
                            EXPECT_EQ(frame.flags, 4);
                            EXPECT_EQ(frame.stream, (seen << 24 | seen) & 0x7fffffffU);
                            EXPECT_EQ(frame.length, seen * 7 % 300);
                            ++seen;
                            return true;
                          }),
                piece.size());
      at += piece.size();
    }
    EXPECT_EQ(seen, 100U);
  }
}

TEST(FrameScanTest, AFrameThatMayNotPassIsSeenAgain) {
  const std::string first = FrameOf(Frame::kData, 0, 1, 5), second = FrameOf(Frame::kPing, 0, 0, 8);
  const std::string both = first + second;
  FrameScan scan;
  std::vector<uint8_t> seen;
  const auto not_pings = [&](const Frame& frame) {
    seen.push_back(frame.type);
    return frame.type != Frame::kPing;
  };
  const size_t passed = scan.Pass(both, not_pings);
  EXPECT_EQ(passed, first.size() + 8);  // all but the last byte of the head
  EXPECT_EQ(scan.Pass(both.substr(passed), not_pings), 0U);
  EXPECT_EQ(seen, (std::vector<uint8_t>{Frame::kData, Frame::kPing, Frame::kPing}));
  EXPECT_EQ(scan.Pass(both.substr(passed), [](const Frame&) { return true; }), 9U);
}

}  // namespace
}  // namespace profd::auth
