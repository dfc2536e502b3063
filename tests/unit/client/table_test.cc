#include "client/show/screen/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/words/text.h"

namespace profd::client {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Table, AlignsAndLeavesEmptyColumnsOut) {
  Table table({"NAME", ">SIZE", "EMPTY", "NONE", "LAST"});
  table.Add({"a"s, "1"s, ""s, "-"s, "x"s});
  table.Add({"größer"s, "1000"s, ""s, "-"s, ""s});
  EXPECT_EQ(table.Text({}),
            "NAME    SIZE  LAST\n"
            "a          1  x\n"
            "größer  1000\n");
}

TEST(Table, ColoursDoNotMoveColumns) {
  Table table({"A", "B"});
  table.Add({{"x", Colour::kBad}, "y"s});
  EXPECT_EQ(table.Text({.coloured = true}), "\033[1mA\033[0m  \033[1mB\033[0m\n\033[31mx\033[0m  y\n");
}

Table Wide() {
  Table table({"SESSION", "?USER", ">SIZE", "NAME", "?DIRECTORY", "~REASON"});
  table.Add({"2573d124"s, "root"s, "25.5 MB"s, "a name of some length"s, "/var/lib/profd/spool/PROF_1"s,
             "the device is held by a session of another user until tomorrow; ask for it"s});
  table.Add({"s"s, "ada"s, "1 B"s, ""s, ""s, ""s});
  return table;
}

TEST(Table, FitsWhateverWidthThereIs) {
  for (size_t columns = 40; columns < 200; ++columns) {
    std::istringstream lines(Wide().Text({.columns = columns}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(Width(line), columns) << line;
  }
}

TEST(Table, GrowsWithTheWidth) {
  const std::string all = Wide().Text({});
  EXPECT_THAT(all, HasSubstr("until tomorrow; ask for it\n"));
  EXPECT_EQ(Wide().Text({.columns = 300}), all);
  EXPECT_EQ(
      Wide().Text({.columns = 120}),
      "SESSION   USER     SIZE  NAME                   DIRECTORY                    REASON\n"
      "2573d124  root  25.5 MB  a name of some length  /var/lib/profd/spool/PROF_1  the device is held "
      "by a session of another\n"
      "                                                                             user until tomorrow; "
      "ask for it\n"
      "s         ada       1 B\n");
  EXPECT_EQ(Wide().Text({.columns = 60}),
            "SESSION      SIZE  NAME\n"
            "2573d124  25.5 MB  a name of some length\n"
            "    the device is held by a session of another user until\n"
            "    tomorrow; ask for it\n"
            "s             1 B\n"
            "no room for USER, DIRECTORY: -o wide shows all\n");
}

TEST(Table, RowsAreChosenAndSorted) {
  Table table({"NAME", ">SIZE", "HELD BY"});
  table.Add({"b"s, {"1.0 kB", 1000}, "ada"s});
  table.Add({"a"s, {"2 B", 2}, ""s});
  table.Add({"c"s, {"30 B", 30}, "Bob"s});
  Table sizes = table, names = table, some = table, any = table, wrong = table;
  EXPECT_THAT(*sizes.Choose("size", {}), ElementsAre(0, 2, 1));
  EXPECT_THAT(*sizes.Choose("-SIZE", {}), ElementsAre(2, 1, 0));  // of the rows as they are now
  EXPECT_THAT(*names.Choose("name", {}), ElementsAre(1, 0, 2));
  EXPECT_THAT(*some.Choose("", {"held-by=bob"}), ElementsAre(2));
  EXPECT_EQ(some.Text({}), "NAME  SIZE  HELD BY\nc     30 B  Bob\n");
  EXPECT_THAT(*any.Choose("", {"A", "1.0"}), ElementsAre(0));
  EXPECT_THAT(wrong.Choose("weight", {}).status().message(), HasSubstr("there are name, size, held-by"));
  EXPECT_FALSE(wrong.Choose("", {"weight=1"}).ok());
}

TEST(Table, RowsThatDifferByNumberAreOne) {
  Table table({">DEV", "STATE"});
  for (const auto& number : {"0"s, "1"s, "2"s, "5"s, "7"s})
    table.Add({number, number == "1" ? "lost"s : "ok"s});
  table.Add({"8"s, "busy"s});
  table.Add({"9"s, "busy"s});
  table.Fold([](const std::vector<Table::Cell>& row) { return row[1].text != "busy"; });
  EXPECT_EQ(table.Text({}), "    DEV  STATE\n0,2,5,7  ok\n      1  lost\n      8  busy\n      9  busy\n");
}

TEST(Ranges, AreAsShortAsTheyCanBe) {
  EXPECT_EQ(RangesText({}), "");
  EXPECT_EQ(RangesText({7, 0, 1, 2, 9, 10}), "0-2,7,9,10");
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("one two three", 0), "one two three");
  EXPECT_EQ(Wrapped("one two three", 8), "one two\n  three");
  EXPECT_EQ(Wrapped("/a/path/that/is/long is whole", 8), "/a/path/that/is/long\n  is\n  whole");
}

TEST(Counted, SaysEachOnce) {
  EXPECT_THAT(Counted({"a", "b", "a", "a"}), ElementsAre("a (3 times)", "b"));
  EXPECT_THAT(Counted({"device 1: 30 lost", "device 12: 30 lost", "device x: 30 lost", "device 3: 30 lost"}),
              ElementsAre("device …: 30 lost (3 times)", "device x: 30 lost"));
  EXPECT_THAT(Counted({"a 1", "a 1 2", "a"}), ElementsAre("a 1", "a 1 2", "a"));
}

}  // namespace
}  // namespace profd::client
