// What a profile makes of the kernel's records, made by hand here.
#include "daemon/host/scouts/profile_book.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace profd::host {
namespace {

constexpr pid_t kThread = 77;

class ProfileBookTest : public testing::Test {
 protected:
  static std::vector<std::byte> Record(uint32_t type, uint16_t misc, std::initializer_list<uint64_t> words) {
    perf_event_header header{};
    header.type = type;
    header.misc = misc;
    header.size = static_cast<uint16_t>(sizeof header + words.size() * 8);
    std::vector<std::byte> record(sizeof header);
    std::memcpy(record.data(), &header, sizeof header);
    for (const uint64_t word : words) {
      const auto at = record.size();
      record.resize(at + 8);
      std::memcpy(record.data() + at, &word, 8);
    }
    return record;
  }
  static uint64_t Ids(pid_t pid, pid_t tid) {
    return static_cast<uint32_t>(pid) | static_cast<uint64_t>(tid) << 32;
  }
  // Without a call chain, registers and a stack.
  void Sample(ProfileBook& book, pid_t pid, pid_t tid, uint64_t time_ns, uint64_t period = 1) {
    book.Take(Record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, {Ids(pid, tid), time_ns, 3, period, 0, 0}),
              kernel_);
  }
  void Switch(ProfileBook& book, uint16_t misc, pid_t tid, uint64_t time_ns) {
    book.Take(Record(PERF_RECORD_SWITCH, misc, {Ids(self_, tid), time_ns, 3}), kernel_);
  }
  std::string Line(uint64_t time_ns, pid_t tid, uint64_t period) const {
    return std::to_string(time_ns) + ' ' + std::to_string(self_) + ' ' + std::to_string(tid) + " 3 " +
           std::to_string(period) + " 0\n";
  }

  const pid_t self_ = ::getpid();
  const KernelNames kernel_{};
};

TEST_F(ProfileBookTest, SamplesAreThoseOfMembers) {
  ProfileBook book(ProfileBook::What::kOnCpu);
  book.TakeIn(self_, "me");
  Sample(book, self_, kThread, 1000, 10);
  Sample(book, self_ + 1, self_ + 1, 1001, 10);
  EXPECT_EQ(book.lines.samples, Line(1000, kThread, 10));
  EXPECT_NE(book.lines.names.find("process " + std::to_string(self_) + " me\n"), std::string::npos);
  EXPECT_NE(book.lines.names.find("thread " + std::to_string(self_) + " 77 "), std::string::npos);
  EXPECT_TRUE(book.IsStranger(self_ + 1));
  EXPECT_FALSE(book.IsStranger(self_));
  // Whose number is then given to a child of a member.
  book.Take(Record(PERF_RECORD_FORK, 0, {Ids(self_ + 1, self_), Ids(self_ + 1, self_), 2000, 0, 0, 0}),
            kernel_);
  book.lines = {};
  Sample(book, self_ + 1, self_ + 1, 2001, 10);
  EXPECT_FALSE(book.lines.samples.empty());
  EXPECT_FALSE(book.IsStranger(self_ + 1));
  book.Take(Record(PERF_RECORD_LOST, 0, {0, 5, 0, 0, 0}), kernel_);
  EXPECT_EQ(book.lines.lost, 5u);
}

TEST_F(ProfileBookTest, AThreadThatEndsHasNoNumberAnyMore) {
  ProfileBook book(ProfileBook::What::kOnCpu);
  book.TakeIn(self_, "me");
  Sample(book, self_, -1, 1000, 10);
  EXPECT_EQ(book.lines.samples, Line(1000, self_, 10));
  EXPECT_NE(book.lines.names.find("thread " + std::to_string(self_) + ' ' + std::to_string(self_) + ' '),
            std::string::npos);
}

TEST_F(ProfileBookTest, AWaitIsFromOneSwitchToTheNext) {
  constexpr uint16_t kOut = PERF_RECORD_MISC_SWITCH_OUT, kPreempted = PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  ProfileBook book(ProfileBook::What::kOffCpu);
  book.TakeIn(self_, "me");
  Switch(book, 0, kThread, 500);  // it has waited before anybody looked
  Sample(book, self_, kThread, 1000);
  Switch(book, kOut, kThread, 1001);
  book.LookAtWaits(kernel_);
  Switch(book, 0, kThread + 1, 5000);  // another one
  Switch(book, 0, kThread, 61'000);
  EXPECT_EQ(book.lines.samples, Line(1000, kThread, 60'000));
  book.lines = {};
  // It was not let, though it had something to do; looked at before that is known, and after.
  for (const bool early : {false, true}) {
    Sample(book, self_, kThread, 100'000);
    if (early) book.LookAtWaits(kernel_);
    Switch(book, kOut | kPreempted, kThread, 100'001);
    if (!early) book.LookAtWaits(kernel_);
    Switch(book, 0, kThread, 900'000);
    EXPECT_TRUE(book.lines.samples.ends_with(" 3 800000 1\n")) << book.lines.samples;
  }
  EXPECT_NE(book.lines.names.find("kernel 0 [waits for a CPU]\nstack 1 " + std::to_string(self_) + " k0\n"),
            std::string::npos);
  book.lines = {};
  // A moment only.
  Sample(book, self_, kThread, 1'000'000);
  Switch(book, kOut, kThread, 1'000'001);
  Switch(book, 0, kThread, 1'049'999);
  EXPECT_EQ(book.lines.samples, "");
  // It goes on waiting; then nobody knows.
  Sample(book, self_, kThread, 2'000'000);
  book.EndWaits(3'000'000, kernel_);
  EXPECT_EQ(book.lines.samples, Line(2'000'000, kThread, 1'000'000));
  book.lines = {};
  Sample(book, self_, kThread, 4'000'000);
  book.ForgetWaits();
  Switch(book, 0, kThread, 5'000'000);
  EXPECT_EQ(book.lines.samples, "");
}

TEST_F(ProfileBookTest, AnyRecordWillDo) {
  for (const auto what : {ProfileBook::What::kOnCpu, ProfileBook::What::kOffCpu}) {
    ProfileBook book(what);
    book.TakeIn(self_, "me");
    for (uint32_t type = 0; type < 24; ++type) {
      for (size_t words = 0; words < 12; ++words) {
        for (const uint64_t word : {uint64_t{0}, ~uint64_t{0}, Ids(self_, self_)}) {
          std::vector<std::byte> record = Record(type, 0xffff, {});
          for (size_t i = 0; i < words; ++i) {
            const auto* bytes = reinterpret_cast<const std::byte*>(&word);
            record.insert(record.end(), bytes, bytes + 8);
          }
          book.Take(record, kernel_);
        }
      }
    }
    book.LookAtWaits(kernel_);
    book.EndWaits(UINT64_MAX, kernel_);
  }
}

}  // namespace
}  // namespace profd::host
