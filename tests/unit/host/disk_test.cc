#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "format/directory/own_folder.h"
#include "tests/unit/host/harness.h"

namespace profd::host {
namespace {

class DiskTest : public ::testing::Test {
 protected:
  ~DiskTest() override { ::unlink(path_.c_str()); }

  std::string Write(size_t bytes) const { return std::to_string(bytes) + " " + path_; }
  bool Accounts() {
    worker_.Tell("write " + Write(4096));
    return WrittenBytes(worker_.pid()) > 0;
  }

  double KibPerSecondSummed() const {
    double sum = 0;
    for (const std::string& line : Lines(rig_.writer.Text(1, "host_disk.data"))) {
      const std::vector<std::string> words = Words(line);
      if (words.at(0) != "start_time") sum += std::stod(words.at(6));
    }
    return sum;
  }

  const std::string path_ = std::string(PROFD_BUILD_DIR) + "/host_test_disk_" + std::to_string(::getpid());
  Worker worker_;
  SamplerRig rig_;
};

TEST_F(DiskTest, LinesAreWhatTheReaderExpects) {
  rig_.Start(1, {"host-disk@50"}, {worker_.pid()});
  rig_.Until("lines", [&] { return rig_.writer.File(1, "host_disk.data")->records > 3; });
  rig_.Stop(1);
  const std::vector<std::string> lines = Lines(rig_.writer.Text(1, "host_disk.data"));
  EXPECT_TRUE(lines.front().starts_with("start_time "));
  EXPECT_EQ(lines.back(), lines.front()) << "one start, at both ends";
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> words = Words(lines[i]);
    ASSERT_EQ(words.size(), 13u) << lines[i];
    EXPECT_EQ(words[0].size(), 8u);
    EXPECT_EQ(words[1], std::to_string(worker_.pid()));
    EXPECT_EQ(words[2], "be/4");
    EXPECT_EQ(words[3], ::getuid() == 0 ? "root" : std::to_string(::getuid()));
    EXPECT_EQ(words[5], "K/s");
    EXPECT_EQ(words[7], "K/s");
    EXPECT_EQ(words[9] + words[11], "%%");
    EXPECT_EQ(words[12], "host_test_worke");
  }
}

TEST_F(DiskTest, RatesAddUpToWhatWasWritten) {
  if (!Accounts()) GTEST_SKIP() << "this file system does not account";
  // Lines have no stamps; the rows of host-mem carry those of the same ticks.
  rig_.Start(1, {"host-disk@50", "host-mem@50"}, {worker_.pid()});
  rig_.Until("the start", [&] { return rig_.writer.File(1, "host_disk.data")->records > 0; });
  const int64_t before = WrittenBytes(worker_.pid());
  worker_.Tell("write " + Write(3'000'000));
  const double written = static_cast<double>(WrittenBytes(worker_.pid()) - before);
  EXPECT_GE(written, 3e6);
  rig_.Until("the bytes", [&] { return KibPerSecondSummed() > 0; });
  const uint64_t seen = rig_.writer.File(1, "host_disk.data")->records;
  rig_.Until("more lines", [&] { return rig_.writer.File(1, "host_disk.data")->records > seen + 2; });
  rig_.Stop(1);

  const std::vector<std::string> lines = Lines(rig_.writer.Text(1, "host_disk.data"));
  std::vector<uint64_t> stamps;
  for (const std::string& row : Lines(rig_.writer.Text(1, "host_mem.data")))
    stamps.push_back(std::stoull(row));
  EXPECT_EQ(lines.at(0), "start_time " + std::to_string(stamps.at(0)));
  constexpr double kPeriod = 1.0 / 50;
  double kib = 0;
  size_t line = 1;
  for (size_t i = 1; i < stamps.size(); ++i) {
    ASSERT_LT(line, lines.size());
    if (line + 1 == lines.size()) {
      // The last ones, of which host-disk had no bytes in time, and no later one that told them.
      EXPECT_LE(stamps.size() - i, rig_.Stats(1, "host-disk").lost_records);
      break;
    }
    // Ticks that were missed before this one have the same line each. host-mem missed the same ones; those
    // whose bytes were not read in time, which host-disk loses alone, have a row of host-mem and a line.
    uint64_t repeated = 0;
    for (const format::Loss& loss : rig_.writer.File(1, "host_mem.data")->losses) {
      if (loss.to_ns == stamps[i]) repeated += loss.records;
    }
    kib += std::stod(Words(lines[line]).at(6)) * kPeriod * static_cast<double>(1 + repeated);
    for (; repeated > 0; --repeated, ++line) EXPECT_EQ(lines.at(line + 1), lines[line]);
    ++line;
  }
  EXPECT_EQ(line + 1, lines.size()) << "only the end line is left";
  EXPECT_NEAR(kib * 1024, written, 1024 * 0.005 * kPeriod * static_cast<double>(line) + 1)
      << "rounded to 0.01 K/s";
}

TEST_F(DiskTest, PerProcessTotalsAreExactAndAReapedChildCountsOnce) {
  if (!Accounts()) GTEST_SKIP() << "this file system does not account";
  const int64_t before = WrittenBytes(worker_.pid());
  rig_.Start(1, {"host-disk@50"}, {worker_.pid()});
  rig_.Until("the start", [&] { return rig_.writer.File(1, "host_disk.data")->records > 0; });
  const pid_t child = worker_.TellForPid("fork-write " + Write(1'000'000));
  const int64_t by_child = WrittenBytes(child);
  const std::string of_child = std::to_string(child) + "-Disk.data";
  const std::string of_worker = std::to_string(worker_.pid()) + "-Disk.data";
  const auto total = [&](const std::string& name) -> int64_t {
    const std::vector<std::string> lines = Lines(rig_.writer.Text(1, name));
    return lines.empty() ? -1 : std::stoll(Words(lines.back()).at(2));
  };
  rig_.Until("the child's bytes", [&] { return total(of_child) == by_child; });
  worker_.Tell("end-child");
  worker_.Tell("write " + Write(500'000));
  const int64_t by_worker = WrittenBytes(worker_.pid()) - before - by_child;
  EXPECT_GE(by_worker, 500'000);
  rig_.Until("the worker's own bytes", [&] { return total(of_worker) == by_worker; });
  rig_.Stop(1);
  EXPECT_EQ(rig_.writer.File(1, of_child)->folder, format::kOwnFolder);
  int64_t last = 0;
  for (const std::string& line : Lines(rig_.writer.Text(1, of_worker))) {
    ASSERT_EQ(Words(line).size(), 3u);
    EXPECT_GE(std::stoll(Words(line)[2]), last);
    last = std::stoll(Words(line)[2]);
    EXPECT_LE(last, by_worker) << "never the child's bytes";
  }
}

}  // namespace
}  // namespace profd::host
