#include "daemon/store/trace_reader.h"

#include <gmock/gmock.h>
#include <sys/file.h>

#include "base/crc32c.h"
#include "format/directory/own_folder.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;
using testing::ElementsAre;

class TraceReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(dir_.path(), fs::perms::owner_all);
    Write("b.slice_0", std::string(600'000, 'b'));
    Write("device_0/data/a.slice_0", "a");
    Write("device_0/empty", "");
    fs::create_directories(root_ / "host" / "data");
    Write(format::ManifestPath(), "{}");
  }
  void Write(const std::string& path, const std::string& content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  base::Status Read(const std::string& path = "", uint64_t offset = 0) {
    return ReadTrace(dir_.path(), "me", "PROF_1", path, offset, [this](const TracePiece& piece) {
      EXPECT_EQ(piece.offset, sizes_[piece.path] + (piece.path == first_ ? skipped_ : 0));
      contents_[piece.path].append(reinterpret_cast<const char*>(piece.data.data()), piece.data.size());
      sizes_[piece.path] += piece.data.size();
      if (piece.end_of_file) {
        ended_.push_back(piece.path);
        sums_[piece.path] = piece.crc32c;
      }
      return ended_.size() < stop_after_;
    });
  }

  TempDir dir_;
  const fs::path root_ = dir_.path() / "me" / "PROF_1";
  std::map<std::string, std::string> contents_;
  std::map<std::string, uint64_t> sizes_;
  std::map<std::string, uint32_t> sums_;
  std::vector<std::string> ended_;
  std::string first_;
  uint64_t skipped_ = 0;
  size_t stop_after_ = SIZE_MAX;
};

TEST_F(TraceReaderTest, EveryFileInTheOrderOfPathsWithItsChecksum) {
  ASSERT_TRUE(Read().ok());
  EXPECT_THAT(ended_, ElementsAre(format::ManifestPath(), "b.slice_0", "device_0/data/a.slice_0",
                                  "device_0/empty", "host/data/"));
  for (const std::string& path : ended_) {
    if (path.ends_with('/')) continue;
    EXPECT_EQ(contents_[path], ReadFile(root_ / path));
    EXPECT_EQ(sums_[path], base::Crc32c(contents_[path].data(), contents_[path].size()));
  }
}

TEST_F(TraceReaderTest, GoesOnAtAByteAndStillSumsTheWholeFile) {
  first_ = "b.slice_0";
  for (const uint64_t from : {1ull, 262'144ull, 300'000ull, 600'000ull}) {
    contents_.clear(), sizes_.clear(), ended_.clear();
    skipped_ = from;
    ASSERT_TRUE(Read(first_, from).ok());
    const std::string whole = ReadFile(root_ / first_);
    EXPECT_EQ(contents_[first_], whole.substr(from));
    EXPECT_EQ(sums_[first_], base::Crc32c(whole.data(), whole.size()));
    EXPECT_EQ(ended_.size(), 4U);
  }
  contents_.clear(), sizes_.clear(), ended_.clear();
  ASSERT_TRUE(Read("device_0/empty").ok());
  EXPECT_THAT(ended_, ElementsAre("device_0/empty", "host/data/"));
}

TEST_F(TraceReaderTest, StopsWhenNobodyListens) {
  stop_after_ = 2;
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(ended_.size(), 2U);
}

TEST_F(TraceReaderTest, LinksAndPipesAreNoFiles) {
  fs::create_symlink("/etc/passwd", root_ / "link");
  fs::create_directory_symlink("/etc", root_ / "device_0" / "elsewhere");
  fs::create_hard_link(root_ / "b.slice_0", root_ / "second_name");
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  ASSERT_TRUE(Read().ok());
  for (const std::string& path : ended_) {
    EXPECT_THAT(path, testing::AnyOf("device_0/data/a.slice_0", "device_0/empty", "host/data/",
                                     format::ManifestPath()));
  }
}

TEST_F(TraceReaderTest, NotWhileItIsRemoved) {
  const base::UniqueFd dir(::open(root_.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(dir.get(), LOCK_EX), 0);
  EXPECT_EQ(Read().code(), Code::kAborted);
  EXPECT_EQ(ReadTrace(dir_.path(), "me", "PROF_2", "", 0, [](const TracePiece&) { return true; }).code(),
            Code::kNotFound);
}

}  // namespace
}  // namespace profd::store
