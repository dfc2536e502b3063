#include "daemon/host/scouts/scout.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/host/scouts/scout_texts.h"

namespace profd::host {
namespace {

std::string Lines(char first, size_t bytes) {
  std::string lines;
  while (lines.size() < bytes) lines += first + std::to_string(lines.size()) + '\n';
  return lines;
}

class Wordy : public Scout {
 public:
  base::Status Begin(const ScoutOrder& /*order*/, const std::vector<NamedPid>& /*members*/) override {
    lines.names = Lines('n', 5 << 20);
    lines.samples = Lines('s', 9 << 20);
    lines.Lose(3, 1, 2);
    return base::Status::Ok();
  }
  void TakeIn(const std::vector<NamedPid>& /*members*/) override {}
  void Look() override {}
  uint64_t PeriodNs() const override { return 1'000'000'000; }
  void End() override { lines.samples = "the end\n"; }
};

TEST(Scout, SaysMuchInSeveralReports) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  TextChannel profd{base::UniqueFd(ends[0])};
  std::thread scout([end = ends[1]] {
    TextChannel channel{base::UniqueFd(end)};
    Wordy wordy;
    ServeScout(channel, wordy);
  });
  profd.Put(ScoutCall{.what = ScoutCall::What::kBegin, .order = {}, .members = {}}.Text());
  profd.Put(ScoutCall{}.Text());
  std::string names, samples;
  uint64_t lost = 0;
  for (bool last = false; !last && !profd.gone();) {
    const auto text = profd.Next();
    if (!text) {
      profd.Wait(1'000'000'000);
      continue;
    }
    const auto report = ScoutReport::Of(*text);
    ASSERT_TRUE(report);
    last = report->last;
    names += report->lines.names;
    if (!report->lines.samples.empty()) {
      EXPECT_EQ(names.size(), Lines('n', 5 << 20).size()) << "what samples say stands before them";
    }
    samples += report->lines.samples;
    lost += report->lines.lost;
    EXPECT_TRUE(report->lines.samples.empty() || report->lines.samples.ends_with('\n'));
  }
  scout.join();
  EXPECT_TRUE(names == Lines('n', 5 << 20));
  EXPECT_TRUE(samples == Lines('s', 9 << 20) + "the end\n");
  EXPECT_EQ(lost, 3U);
}

}  // namespace
}  // namespace profd::host
