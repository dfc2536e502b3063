#include "client/words/text.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

TEST(Text, ForeignTextCannotCommandTheTerminal) {
  EXPECT_EQ(OneLine("plain"), "plain");
  EXPECT_EQ(OneLine("größe 训练 🙂"), "größe 训练 🙂");
  EXPECT_EQ(OneLine("a\nb\tc\x1b[31m\x7f"), "a?b?c?[31m?");
  EXPECT_EQ(OneLine("\xc2\x9b"), "??") << "CSI as a C1 character";
  EXPECT_EQ(OneLine("\xff\xfe"), "??");
  EXPECT_EQ(OneLine("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(OneLine("\xed\xa0\x80"), "???") << "surrogate";
  EXPECT_EQ(OneLine("\xf5\x80\x80\x80"), "????") << "beyond Unicode";
  EXPECT_EQ(OneLine("cut \xe8\xae"), "cut ??");
  EXPECT_EQ(OneLine(std::string_view("\0", 1)), "?");
}

TEST(Text, AnExcerptSaysThatItIsOne) {
  EXPECT_EQ(Excerpt("größe", 7), "größe");
  EXPECT_EQ(Excerpt("größe", 6), "größ…");
  EXPECT_EQ(Excerpt("a\nb", 2), "a?…");
}

TEST(Text, PlainText) {
  EXPECT_TRUE(IsPlainText(""));
  EXPECT_TRUE(IsPlainText("训练"));
  EXPECT_FALSE(IsPlainText("a\n"));
  EXPECT_FALSE(IsPlainText("\xe8\xae"));
}

TEST(Text, Width) {
  EXPECT_EQ(Width(""), 0U);
  EXPECT_EQ(Width("né…"), 3U);
}

TEST(Text, Values) {
  EXPECT_EQ(FormatValue(0.125, "1", true), "12.5 %");
  EXPECT_EQ(FormatValue(1.5e9, "By/s", false), "1.5 GB/s");
  EXPECT_EQ(FormatValue(2048, "By", false), "2.0 kB");
  EXPECT_EQ(FormatValue(1.8e9, "Hz", false), "1800 MHz");
  EXPECT_EQ(FormatValue(0.5, "s", false), "0.5 s");
  EXPECT_EQ(FormatValue(12, "1", false), "12");
}

TEST(Text, Bytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 kB");
  EXPECT_EQ(FormatBytes(999'949), "999.9 kB");
  EXPECT_EQ(FormatBytes(999'950), "1.0 MB");
  EXPECT_EQ(FormatBytes(12'345'678'901), "12.3 GB");
  EXPECT_EQ(FormatBytes(1e30), "1000000000000000.0 PB");
}

TEST(Text, Hz) {
  EXPECT_EQ(FormatHz(0), "-");
  EXPECT_EQ(FormatHz(50), "50 Hz");
  EXPECT_EQ(FormatHz(0.5), "0.5 Hz");
  EXPECT_EQ(FormatHz(10000), "10000 Hz");
}

TEST(Text, Duration) {
  EXPECT_EQ(FormatDuration(0), "0 ms");
  EXPECT_EQ(FormatDuration(999'999'999), "999 ms");
  EXPECT_EQ(FormatDuration(1'000'000'000), "1.0 s");
  EXPECT_EQ(FormatDuration(59'999'000'000), "59.9 s");
  EXPECT_EQ(FormatDuration(60'000'000'000), "1 m 00 s");
  EXPECT_EQ(FormatDuration(303'000'000'000), "5 m 03 s");
  EXPECT_EQ(FormatDuration(3'720'000'000'000), "1 h 02 m");
  EXPECT_EQ(FormatDuration(86'400'000'000'000), "24 h 00 m");
}

TEST(Text, WallTime) {
  EXPECT_EQ(FormatWallTime(0), "-");
  EXPECT_EQ(FormatWallTime(1'700'000'000'000'000'000).size(), std::string("2023-11-14 22:13:20").size());
}

}  // namespace
}  // namespace profd::client
