#include "client/export/read/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::client {
namespace {

using testing::ElementsAre;

TEST(Report, NotesOfManyPlacesAreOneForPeople) {
  Report report;
  report.Note("no device 7 in it");
  report.Note("device 0", 3, "task of nobody", "tasks of nobody");
  report.Note("device 1", 1, "task of nobody", "tasks of nobody");
  report.Note("device 1", 0, "launch", "launches");
  EXPECT_THAT(report.notes(),
              ElementsAre("no device 7 in it", "device 0: 3 tasks of nobody", "device 1: 1 task of nobody"));
  EXPECT_THAT(report.NotesInShort(),
              ElementsAre("no device 7 in it", "device 0, device 1: 4 tasks of nobody"));
  for (int device = 2; device < 6; ++device)
    report.Note("device " + std::to_string(device), 1, "task of nobody", "tasks of nobody");
  EXPECT_THAT(report.NotesInShort().at(1), "device 0, device 1, device 2 and 3 more: 8 tasks of nobody");
}

TEST(Report, WhatEveryRecordingHasCutIsOneLine) {
  Report report;
  report.Cut("a", 1, "range without end", "ranges without end");
  EXPECT_THAT(report.notes(), ElementsAre("a: 1 range without end"));
  EXPECT_THAT(report.NotesInShort().at(0), testing::StartsWith("1 task, range or iteration is cut by"));
  report.Cut("b", 2, "task without end", "tasks without end");
  Report all;
  all.Add(report);
  all.Add(report);  // of another thread, which has read the same
  EXPECT_THAT(all.notes(), ElementsAre("a: 1 range without end", "b: 2 tasks without end"));
  ASSERT_EQ(all.NotesInShort().size(), 1U);
  EXPECT_THAT(all.NotesInShort().at(0), testing::StartsWith("3 tasks, ranges and iterations are cut by"));
  EXPECT_TRUE(all.complete());
}

}  // namespace
}  // namespace profd::client
