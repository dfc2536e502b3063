#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace profd::base {
namespace {

using Function = uint32_t (*)(const void*, size_t, uint32_t);

class Crc32cTest : public ::testing::TestWithParam<Function> {};

// RFC 3720, B.4, and the check value that every catalogue of CRCs has.
TEST_P(Crc32cTest, KnownAnswers) {
  const Function crc = GetParam();
  EXPECT_EQ(crc("", 0, 0), 0U);
  EXPECT_EQ(crc("123456789", 9, 0), 0xe3069283U);
  std::vector<uint8_t> bytes(32, 0);
  EXPECT_EQ(crc(bytes.data(), 32, 0), 0x8a9136aaU);
  bytes.assign(32, 0xff);
  EXPECT_EQ(crc(bytes.data(), 32, 0), 0x62a8ab43U);
  for (uint8_t i = 0; i < 32; ++i) bytes[i] = i;
  EXPECT_EQ(crc(bytes.data(), 32, 0), 0x46dd794eU);
  for (uint8_t i = 0; i < 32; ++i) bytes[i] = static_cast<uint8_t>(31 - i);
  EXPECT_EQ(crc(bytes.data(), 32, 0), 0x113fdb5cU);
}

// Bit by bit, as the definition has it.
uint32_t Slow(const uint8_t* at, size_t bytes) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= at[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
  }
  return ~crc;
}

// Every length around the sizes that the fast road treats apart, at every alignment.
TEST_P(Crc32cTest, EveryLengthAndAlignment) {
  const Function crc = GetParam();
  std::mt19937 random(7);
  std::vector<uint8_t> bytes(40'000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (const size_t around : {16UL, 768UL, 1536UL, 12'288UL, 24'576UL}) {
    for (size_t length = around - 12; length < around + 12; ++length) {
      const size_t at = length % 8;
      EXPECT_EQ(crc(&bytes[at], length, 0), Slow(&bytes[at], length)) << length;
    }
  }
  // In pieces it is the same.
  const uint32_t whole = crc(bytes.data(), bytes.size(), 0);
  EXPECT_EQ(crc(&bytes[13'001], bytes.size() - 13'001, crc(bytes.data(), 13'001, 0)), whole);
}

INSTANTIATE_TEST_SUITE_P(Roads, Crc32cTest, ::testing::Values(&Crc32c, &Crc32cByTable));

}  // namespace
}  // namespace profd::base
