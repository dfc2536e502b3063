#include "format/decode/host/cpu_profile.h"

#include <gtest/gtest.h>

namespace profd::format {
namespace {

TEST(CpuProfile, ReadsSamples) {
  const auto sample = ParseCpuSample("123456789 42 43 7 10101010 5");
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->raw_ns, 123456789u);
  EXPECT_EQ(sample->pid, 42);
  EXPECT_EQ(sample->tid, 43);
  EXPECT_EQ(sample->cpu, 7u);
  EXPECT_EQ(sample->period, 10101010u);
  EXPECT_EQ(sample->stack, 5u);
  for (const char* line : {"", "1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 3 4 5 x", "1 2 3 -4 5 6"})
    EXPECT_FALSE(ParseCpuSample(line)) << line;
}

TEST(CpuProfile, ReadsFrames) {
  const auto kernel = ParseCpuFrame("k12");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->what, CpuFrame::What::kKernel);
  EXPECT_EQ(kernel->number, 12u);
  const auto module = ParseCpuFrame("3+1a2b");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->what, CpuFrame::What::kModule);
  EXPECT_EQ(module->number, 3u);
  EXPECT_EQ(module->offset, 0x1a2bu);
  const auto address = ParseCpuFrame("@7f0012345678");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->what, CpuFrame::What::kAddress);
  EXPECT_EQ(address->offset, 0x7f0012345678u);
  const auto python = ParseCpuFrame("p7");
  ASSERT_TRUE(python);
  EXPECT_EQ(python->what, CpuFrame::What::kPython);
  EXPECT_EQ(python->number, 7u);
  EXPECT_EQ(python->offset, 0u);
  const auto at_line = ParseCpuFrame("p7:14");
  ASSERT_TRUE(at_line);
  EXPECT_EQ(at_line->number, 7u);
  EXPECT_EQ(at_line->offset, 14u);
  for (const char* text :
       {"", "p7:", "p:1", "p7:x", "p7:-1", "k7:14", "k", "kx", "p", "p1x", "@", "@z", "3", "+1", "3+", "x+1"})
    EXPECT_FALSE(ParseCpuFrame(text)) << text;
}

}  // namespace
}  // namespace profd::format
