#include "daemon/host/scouts/foreign_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace profd::host {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kPatienceNs = 30 * kSecondNs;

// What a reader is asked for, or says.
template <typename Each>
void ForEachOrder(std::string_view request, Each each) {
  request.remove_prefix(sizeof(FileRound));
  for (FileOrder order; request.size() >= sizeof order; request.remove_prefix(sizeof order)) {
    std::memcpy(&order, request.data(), sizeof order);
    if (order.what == FileOrder::What::kRead) each(order);
  }
}
void Say(std::string& answer, uint64_t key, int64_t bytes, std::string_view text = {}) {
  const FileText head{.key = key, .bytes = bytes};
  answer.append(reinterpret_cast<const char*>(&head), sizeof head).append(text);
}
void Say(std::string& answer, uint64_t key, std::string_view text) {
  Say(answer, key, static_cast<int64_t>(text.size()), text);
}

// "" where there was no answer in time.
std::string Text(ForeignFile& file) {
  char buffer[4096];
  const ssize_t got = file.Read(buffer, sizeof buffer);
  return got < 0 ? std::string() : std::string(buffer, static_cast<size_t>(got));
}
void BeginRound(ForeignFiles& files, uint64_t for_ns = 5 * kSecondNs) {
  files.Begin(base::MonotonicNs() + for_ns);
}

TEST(ForeignFiles, AreRead) {
  ForeignFiles files(8);
  ForeignFile stat(files, ForeignFile::Name::kStat, ::getpid(), 0, 4000);
  ForeignFile io(files, ForeignFile::Name::kIo, ::getpid(), 0, 4000);
  BeginRound(files);
  stat.Want();
  io.Want();
  files.Ask();
  EXPECT_THAT(Text(stat), StartsWith(std::to_string(::getpid()) + " ("));
  EXPECT_THAT(Text(io), HasSubstr("read_bytes"));
}

TEST(ForeignFiles, ThereAreSoManyReadersAndNoMore) {
  ForeignFiles files(0, [] {
    return StandIn::Answer([](std::string_view request) {
      std::string answer;
      ForEachOrder(request,
                   [&](const FileOrder& order) { Say(answer, order.key, std::to_string(::getpid())); });
      return answer;
    });
  });
  constexpr uid_t kUsers = 70;
  std::vector<ForeignFile> all;
  for (uid_t user = 0; user < kUsers; ++user)
    all.emplace_back(files, ForeignFile::Name::kStat, ::getpid(), 0, 5000 + user);
  BeginRound(files, kPatienceNs);
  for (ForeignFile& file : all) file.Want();
  files.Ask();
  std::set<std::string> readers;
  for (ForeignFile& file : all) readers.insert(Text(file));
  EXPECT_THAT(readers, SizeIs(65));  // 64 of a user each, one for all others
  EXPECT_FALSE(readers.contains(""));
}

TEST(ForeignFiles, AReaderThatLiesHarmsItsOwnOnly) {
  ForeignFiles files(0, [] {
    return StandIn::Answer([](std::string_view request) {
      std::string answer;
      ForEachOrder(request, [&](const FileOrder& order) {
        for (uint64_t key = 0; key < 8; ++key)
          Say(answer, key, "of " + std::to_string(key) + " says " + std::to_string(order.pid));
        Say(answer, order.key, order.pid == 1 ? INT64_MIN : -1);
      });
      Say(answer, 1, INT64_MAX, "a text that goes on for ever");
      Say(answer, 2, "behind it");
      return answer;
    });
  });
  ForeignFile first(files, ForeignFile::Name::kStat, 1, 0, 4001);
  ForeignFile second(files, ForeignFile::Name::kStat, 2, 0, 4002);
  BeginRound(files);
  first.Want();
  second.Want();
  files.Ask();
  char buffer[64];
  EXPECT_EQ(first.Read(buffer, sizeof buffer), -1);
  EXPECT_EQ(errno, EHWPOISON);
  EXPECT_EQ(second.Read(buffer, sizeof buffer), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(ForeignFiles, NoTextIsLongerThanAFileIs) {
  std::string answer;
  Say(answer, 1, "short");
  Say(answer, 2, std::string(64 << 10, 'x'));
  Say(answer, 3, "short");
  FileTexts texts(answer);
  EXPECT_EQ(texts.Next().value().text, "short");
  EXPECT_FALSE(texts.Next());
  EXPECT_FALSE(texts.Next());
}

TEST(ForeignFiles, OneThatDiesIsStartedAnew) {
  StandIn::Board()[511] = 0;
  ForeignFiles files(0, [] {
    return StandIn::Answer([](std::string_view request) {
      // Once, of all that are started for it: that is shared.
      if (StandIn::Board()[511].fetch_add(1) == 0) ::_exit(1);
      std::string answer;
      ForEachOrder(request, [&](const FileOrder& order) { Say(answer, order.key, "here"); });
      return answer;
    });
  });
  ForeignFile file(files, ForeignFile::Name::kStat, 1, 0, 4003);
  BeginRound(files);
  EXPECT_EQ(Text(file), "");
  EXPECT_FALSE(files.some_hang());
  const uint64_t end_ns = base::MonotonicNs() + kPatienceNs;
  std::string text;
  while (text.empty() && base::MonotonicNs() < end_ns) {
    BeginRound(files, kSecondNs / 10);
    text = Text(file);
  }
  EXPECT_EQ(text, "here");
}

// Nobody waits here, so every answer is late.
TEST(ForeignFiles, WhatComesTooLateIsOfTheNextSample) {
  ForeignFiles files(0, [] {
    return StandIn::Answer([](std::string_view request) {
      std::string answer;
      ForEachOrder(request, [&](const FileOrder& order) { Say(answer, order.key, "late"); });
      return answer;
    });
  });
  ForeignFile file(files, ForeignFile::Name::kStat, 1, 0, 4006);
  const uint64_t end_ns = base::MonotonicNs() + kPatienceNs;
  std::string text;
  while (text.empty() && base::MonotonicNs() < end_ns) {
    BeginRound(files, 0);
    text = Text(file);
  }
  EXPECT_EQ(text, "late");
  // What was asked for a quarter of a second ago says nothing of the present.
  ::usleep(250'000);
  BeginRound(files, 0);
  EXPECT_EQ(Text(file), "");
}

// Each costs its user a reader, until they are all known. Whoever belongs to somebody else is read meanwhile,
// in as many rounds as its reader gets a processor in time.
TEST(ForeignFiles, SeveralOfAUserHang) {
  ForeignFiles files(0, [] {
    return StandIn::Answer([](std::string_view request) {
      FileRound round;
      std::memcpy(&round, request.data(), sizeof round);
      std::string answer;
      ForEachOrder(request, [&](const FileOrder& order) {
        StandIn::Board()[round.place] = static_cast<uint64_t>(order.pid);
        while (order.pid >= 101) ::pause();
        Say(answer, order.key, "here");
      });
      return answer;
    });
  });
  constexpr uid_t kHostile = 4004, kOther = 4005;
  std::vector<ForeignFile> hostile;
  for (const pid_t pid : {101, 102, 103})
    hostile.emplace_back(files, ForeignFile::Name::kStat, pid, 0, kHostile);
  ForeignFile other(files, ForeignFile::Name::kStat, 7, 0, kOther);
  const uint64_t end_ns = base::MonotonicNs() + kPatienceNs;
  std::set<pid_t> hang;
  size_t heard = 0;
  while (hang.size() < 2 && base::MonotonicNs() < end_ns) {
    BeginRound(files, kSecondNs / 20);
    for (ForeignFile& file : hostile) file.Want();
    other.Want();
    files.Ask();
    heard += Text(other) == "here" ? 1 : 0;
    for (ForeignFile& file : hostile) EXPECT_EQ(Text(file), "");
    for (const pid_t pid : {101, 102, 103}) {
      if (files.HangsSince(pid)) hang.insert(pid);
    }
  }
  EXPECT_THAT(hang, SizeIs(2));
  EXPECT_GT(heard, 1U);
  EXPECT_FALSE(files.HangsSince(7));
}

// More than a reader may say at once.
TEST(ForeignFiles, VeryManyOfOneUsersAreReadAllTheSame) {
  ForeignFiles files(0, [] {
    return StandIn::Answer([](std::string_view request) {
      std::string answer;
      ForEachOrder(request, [&](const FileOrder& order) { Say(answer, order.key, std::string(2000, 'x')); });
      return answer;
    });
  });
  std::vector<ForeignFile> all;
  for (int i = 0; i < 5000; ++i) all.emplace_back(files, ForeignFile::Name::kStat, ::getpid(), 0, 4010);
  BeginRound(files, kPatienceNs);
  for (ForeignFile& file : all) file.Want();
  files.Ask();
  size_t read = 0;
  for (ForeignFile& file : all) read += Text(file).size() == 2000 ? 1 : 0;
  EXPECT_EQ(read, all.size());
}

}  // namespace
}  // namespace profd::host
