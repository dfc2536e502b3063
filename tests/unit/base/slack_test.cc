#include "daemon/base/memory/slack.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace profd::base {
namespace {

constexpr uint64_t kFirstNs = 1'000'000, kPatienceNs = 60'000'000'000;
constexpr size_t kPieceBytes = 4096, kPieces = 16384;

size_t ResidentBytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                             &std::fclose);
  unsigned long all = 0, resident = 0;
  // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
  EXPECT_EQ(std::fscanf(file.get(), "%lu %lu", &all, &resident), 2);
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// As a flood: very much that is let go of, below a little that stays and that the heap cannot shrink past.
std::unique_ptr<char[]> Flood() {
  std::vector<std::unique_ptr<char[]>> pieces;
  for (size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::make_unique<char[]>(kPieceBytes));
    std::memset(pieces.back().get(), 1, kPieceBytes);
  }
  return std::move(pieces.back());
}

class SlackTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has an allocator of its own";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
#endif
  }
  // Whether it came to that, once this is so.
  bool ComesDownTo(
      size_t bytes, const std::function<bool()>& is_so = [] { return true; }) {
    bool came = false;
    const std::function<void()> look = [&] {
      came = is_so() && ResidentBytes() <= bytes;
      if (came) return ctl_.Stop();
      ctl_.After(kFirstNs, look);
    };
    ctl_.Post(look);
    ctl_.After(kPatienceNs, [this] { ctl_.Stop(); });
    ctl_.Run();
    return came;
  }

  Executor ctl_;
};

TEST_F(SlackTest, GivesBackWhatWasLetGoOf) {
  Slack slack(ctl_, kFirstNs);
  const size_t before = ResidentBytes();
  const auto stays = Flood();
  ASSERT_GT(ResidentBytes(), before + kPieces * kPieceBytes / 2) << "the allocator keeps it";
  Slack::Comes();
  EXPECT_TRUE(ComesDownTo(before + kPieces * kPieceBytes / 4));
}

TEST_F(SlackTest, AndWhatIsLetGoOfAfterwards) {
  Slack slack(ctl_, kFirstNs);
  const size_t before = ResidentBytes();
  Slack::Comes();
  std::unique_ptr<char[]> stays;
  ctl_.After(4 * kFirstNs, [&stays] { stays = Flood(); });
  EXPECT_TRUE(ComesDownTo(before + kPieces * kPieceBytes / 4, [&stays] { return stays != nullptr; }));
}

}  // namespace
}  // namespace profd::base
