#include "daemon/host/files/row_text.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::host {
namespace {

TEST(RowText, ABlockSaysItsLengthAndEndsWithAnEmptyLine) {
  std::string text;
  AppendBlock(text, 18446744073709551615U, 7, "cpu  1 2 3\ncpu0 1 2 3\n");
  EXPECT_EQ(text, "TimeStamp:18446744073709551615\nIndex:7\nDataLen:22\ncpu  1 2 3\ncpu0 1 2 3\n\n");
}

TEST(RowText, CpuLinesEndWhereOthersBegin) {
  EXPECT_EQ(CpuLines("cpu  1\ncpu0 1\ncpu1 2\nintr 5\ncpu9 9\n"), "cpu  1\ncpu0 1\ncpu1 2\n");
  EXPECT_EQ(CpuLines("cpu  1"), "cpu  1");
  EXPECT_EQ(CpuLines("intr 5\n"), "");
  EXPECT_EQ(CpuLines(""), "");
}

TEST(RowText, FirstLine) {
  EXPECT_EQ(FirstLine("a\nb\n"), "a\n");
  EXPECT_EQ(FirstLine("a"), "a");
  EXPECT_EQ(FirstLine("\nb"), "\n");
  EXPECT_EQ(FirstLine(""), "");
}

}  // namespace
}  // namespace profd::host
