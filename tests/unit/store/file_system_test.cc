#include "daemon/store/files/file_system.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <array>

#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::UniqueFd;

class FileSystemTest : public ::testing::Test {
 protected:
  UniqueFd Create(const std::string& name) {
    auto file = fs_.CreateFile(fd_.get(), name);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : UniqueFd();
  }
  TempDir dir_;
  UniqueFd fd_ = dir_.Open();
  FileSystem& fs_ = PosixFileSystem();
};

TEST_F(FileSystemTest, TakesNamesAndNoPaths) {
  fs::create_directory(dir_.path() / "below");
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("../x"), std::string("/tmp"), std::string("a\0b", 3)}) {
    EXPECT_EQ(fs_.MakeDir(fd_.get(), name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(fs_.CreateFile(fd_.get(), name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(fs_.OpenFile(fd_.get(), name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(fs_.Rename(fd_.get(), name, "good").code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(fs_.Rename(fd_.get(), "good", name).code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(fs_.Remove(fd_.get(), name).code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(Tree(dir_.path()), std::vector<std::string>{"below/"});
}

TEST_F(FileSystemTest, ModesDoNotDependOnTheUmask) {
  for (const mode_t mask : {0U, 0077U}) {
    const mode_t before = ::umask(mask);
    const auto dir = fs_.MakeDir(fd_.get(), "dir");
    const auto file = fs_.CreateFile(fd_.get(), "file");
    ::umask(before);
    ASSERT_TRUE(dir.ok() && file.ok());
    struct stat found {};
    ASSERT_EQ(::fstat(dir->get(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0750U);
    ASSERT_EQ(::fstat(file->get(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0640U);
    EXPECT_TRUE(fs_.Remove(fd_.get(), "dir").ok());
    EXPECT_TRUE(fs_.Remove(fd_.get(), "file").ok());
  }
}

TEST_F(FileSystemTest, NeverFollowsALinkNorTakesWhatIsThere) {
  std::ofstream(dir_.path() / "victim") << "precious";
  fs::create_symlink("victim", dir_.path() / "link");
  fs::create_symlink("nowhere", dir_.path() / "dangling");
  for (const char* name : {"victim", "link", "dangling"}) {
    EXPECT_EQ(fs_.CreateFile(fd_.get(), name).status().code(), Code::kAlreadyExists) << name;
    EXPECT_EQ(fs_.MakeDir(fd_.get(), name).status().code(), Code::kAlreadyExists) << name;
  }
  EXPECT_FALSE(fs_.OpenFile(fd_.get(), "link").ok());
  EXPECT_EQ(ReadFile(dir_.path() / "victim"), "precious");
  EXPECT_FALSE(fs::exists(dir_.path() / "nowhere"));
}

TEST_F(FileSystemTest, OpensRegularFilesOnly) {
  ASSERT_EQ(::mkfifo((dir_.path() / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(fs_.OpenFile(fd_.get(), "fifo").ok());  // without a reader: returns instead of waiting
  const UniqueFd reader(::open((dir_.path() / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  EXPECT_EQ(fs_.OpenFile(fd_.get(), "fifo").status().code(), Code::kInvalidArgument);
}

TEST_F(FileSystemTest, AppendsAcrossPagesInOrder) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::string expected;
  const UniqueFd file = Create("file");
  // Ends before, at and behind page edges, from aligned and unaligned sizes, over none, one and several
  // pages.
  for (const size_t bytes :
       {size_t{1}, page - 1, page, page + 1, 2 * page - 1, 3 * page, size_t{7}, 5 * page - 7, page}) {
    std::string piece(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) piece[i] = static_cast<char>('a' + (expected.size() + i) % 23);
    // All of it cut nowhere, some of it, or none.
    const size_t at_once = (expected.size() % 3) * piece.size() / 2;
    ASSERT_TRUE(fs_.Append(file.get(), expected.size(), piece.data(), piece.size(), at_once).ok());
    expected += piece;
    ASSERT_EQ(ReadFile(dir_.path() / "file"), expected);
  }
  ASSERT_TRUE(fs_.Append(file.get(), expected.size(), nullptr, 0, 0).ok());
  EXPECT_EQ(fs::file_size(dir_.path() / "file"), expected.size());
}

TEST_F(FileSystemTest, EvictsAllButThePageThatGrows) {
  struct statfs facts {};
  ASSERT_EQ(::statfs(dir_.path().c_str(), &facts), 0);
  if (facts.f_type == TMPFS_MAGIC) GTEST_SKIP() << "tmpfs is memory";
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const UniqueFd file = Create("file");
  const std::string pages(64 * page, 'x');
  ASSERT_TRUE(fs_.Append(file.get(), 0, pages.data(), pages.size(), 0).ok());
  ASSERT_TRUE(fs_.Append(file.get(), pages.size(), "tail", 4, 0).ok());
  ASSERT_TRUE(fs_.Sync(file.get()).ok());
  fs_.Evict(file.get());
  const UniqueFd reading(::open((dir_.path() / "file").c_str(), O_RDONLY | O_CLOEXEC));
  void* map = ::mmap(nullptr, pages.size() + page, PROT_READ, MAP_SHARED, reading.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  std::array<unsigned char, 65> resident{};
  ASSERT_EQ(::mincore(map, pages.size() + page, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end() - 1, [](unsigned char is) { return is & 1; }), 0);
  EXPECT_TRUE(resident.back() & 1);
  ::munmap(map, pages.size() + page);
}

TEST_F(FileSystemTest, SaysWhatFailed) {
  const UniqueFd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const base::Status status = fs_.Append(read_only.get(), 0, "x", 1, 0);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("write"), std::string::npos);
  fs::create_directories(dir_.path() / "dir" / "below");
  EXPECT_FALSE(fs_.Remove(fd_.get(), "dir").ok());
  EXPECT_EQ(fs_.Remove(fd_.get(), "missing").code(), Code::kNotFound);
}

}  // namespace
}  // namespace profd::store
