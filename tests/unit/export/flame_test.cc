#include "client/export/stacks/flame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::client {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Svg(std::string_view collapsed) {
  auto svg = FlameSvg(collapsed, {.title = "<t>", .unit = "samples"});
  EXPECT_TRUE(svg.ok());
  return svg.ok() ? *svg : "";
}

TEST(Flame, WidthsAreShares) {
  const std::string svg = Svg("job;main;work 3\njob;main;wait_[k] 1\njob;main;work 2\nnoise\n");
  EXPECT_THAT(svg, HasSubstr("6 samples; the kernel is blue"));
  EXPECT_THAT(
      svg,
      HasSubstr("<title>all: 6 samples, 100.00 %</title><rect x=\"10.00\" y=\"-17.00\" width=\"1180.00\""));
  EXPECT_THAT(
      svg,
      HasSubstr("<title>work: 5 samples, 83.33 %</title><rect x=\"206.67\" y=\"-68.00\" width=\"983.33\""));
  EXPECT_THAT(svg, HasSubstr("<title>wait_[k]: 1 samples, 16.67 %</title>"));
}

TEST(Flame, NamesAreText) {
  const std::string svg = Svg("job;</title><script>alert(1)</script>;a&b\"\x1b[2J 4\n");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("&lt;/title&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(svg, HasSubstr("a&amp;b&quot;?[2J: 4 samples"));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;t&gt;</title>"));
}

TEST(Flame, DeepAndNarrowStacksStayDrawable) {
  std::string stack = "job";
  for (int i = 0; i < 2000; ++i) stack += ";f" + std::to_string(i);
  std::string many = stack + " 1000000\n";
  for (int i = 0; i < 5000; ++i) many += "job;g" + std::to_string(i) + " 1\n";
  const std::string svg = Svg(many);
  EXPECT_LT(svg.size(), 200'000u);
  EXPECT_THAT(svg, Not(HasSubstr("g17")));
}

TEST(Flame, NothingIsNoPicture) {
  for (const char* none : {"", "\n", "no number\n", "zero 0\n"})
    EXPECT_EQ(FlameSvg(none, {}).status().code(), base::Code::kNotFound) << none;
}

}  // namespace
}  // namespace profd::client
