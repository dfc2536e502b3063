// Outputs whose file cannot grow any more.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "client/export/write/output.h"
#include "format/decode/catalogue.h"

namespace profd::client {
namespace {

using Make = base::Result<std::unique_ptr<ExportOutput>>(const std::string&, const CaptureFacts&,
                                                         const OutputOptions&);

class FullDisk : public testing::TestWithParam<Make*> {
 protected:
  FullDisk() {
    folder_ = std::filesystem::temp_directory_path() / ("full_disk_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~FullDisk() override {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
  rlimit before_{};
};

TEST_P(FullDisk, SaysSoAndLeavesNothing) {
  for (const bool gzip : {false, true}) {
    auto made = GetParam()((folder_ / "out").string(), {}, {.vendor_compatible = false, .gzip = gzip});
    ASSERT_TRUE(made.ok()) << made.status().message();
    std::unique_ptr<ExportOutput> output = std::move(*made);
    const rlimit most{200'000, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &most);
    format::RowBatch batch{format::FindSeries("hbm"), 0, {}, {}, {}};
    for (uint64_t i = 0; i < 4096; ++i) {
      batch.wall_ns.push_back(i * 7919);
      batch.keys.insert(batch.keys.end(), {static_cast<int64_t>(i % 4), 0});
      batch.values.push_back(static_cast<double>(i * i) / 3);
    }
    for (int i = 0; i < 500; ++i) output->Rows(batch);
    const base::Status status = output->Finish();
    setrlimit(RLIMIT_FSIZE, &before_);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(output->status().ok());
    EXPECT_NE(status.message().find("out"), std::string::npos) << status.message();
    output.reset();
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
  }
}

INSTANTIATE_TEST_SUITE_P(Outputs, FullDisk,
                         testing::Values(&MakeChromeOutput, &MakePerfettoOutput, &MakeDatabaseOutput));

}  // namespace
}  // namespace profd::client
