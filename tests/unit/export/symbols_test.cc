#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "client/export/symbols/elf_symbols.h"
#include "client/export/symbols/perf_map.h"

namespace profd::client {

[[gnu::noinline]] int FunctionToBeFound(int value) { return value * 31; }

namespace {

FileIdentity IdentityOf(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0);
  return {::major(facts.st_dev), ::minor(facts.st_dev), facts.st_ino, UINT64_MAX};
}

std::string OwnProgram() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Where in the file the code at an address of this process lies.
uint64_t FileOffset(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[5];
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx", &begin, &end, rights, &offset) == 4 &&
        begin <= address && address < end) {
      return address - begin + offset;
    }
  }
  return 0;
}

class ElfSymbolsTest : public ::testing::Test {
 protected:
  ElfSymbolsTest() {
    const char* base = std::getenv("TMPDIR");
    folder_ = std::string(base == nullptr ? "/tmp" : base) + "/profd-symbols-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~ElfSymbolsTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string folder_;
};

TEST_F(ElfSymbolsTest, FindsFunctionsOfThisProgram) {
  const std::string path = OwnProgram();
  const auto symbols = ElfSymbols::Read(path, IdentityOf(path));
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  const uint64_t at = FileOffset(reinterpret_cast<uint64_t>(&FunctionToBeFound));
  ASSERT_NE(at, 0u);
  EXPECT_EQ(Demangled(symbols->Find(at)), "profd::client::FunctionToBeFound(int)");
  EXPECT_EQ(Demangled(symbols->Find(at + 1)), "profd::client::FunctionToBeFound(int)");
  EXPECT_EQ(symbols->Find(UINT64_MAX), "");
  EXPECT_EQ(FunctionToBeFound(1), 31);
}

TEST_F(ElfSymbolsTest, TheVdsoIsEverybodys) {
  const auto symbols = ElfSymbols::ReadVdso();
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  EXPECT_GT(symbols->size(), 0u);
}

TEST_F(ElfSymbolsTest, AnotherFileOfTheNameIsNotBelieved) {
  const std::string path = OwnProgram();
  FileIdentity identity = IdentityOf(path);
  ++identity.inode;
  EXPECT_EQ(ElfSymbols::Read(path, identity).status().code(), base::Code::kFailedPrecondition);
  identity = IdentityOf(path);
  identity.unchanged_since_ns = 1;
  EXPECT_EQ(ElfSymbols::Read(path, identity).status().code(), base::Code::kFailedPrecondition);
  EXPECT_FALSE(ElfSymbols::Read(folder_, IdentityOf(folder_)).ok());
  EXPECT_FALSE(ElfSymbols::Read(folder_ + "/none", {}).ok());
}

TEST_F(ElfSymbolsTest, StrippedOnesHaveThoseOfTheDebugFileOfTheirBuildId) {
  std::string path = OwnProgram();
  const std::string stripped = folder_ + "/stripped", debug = folder_ + "/debug";
  if (std::system(("strip -o " + stripped + " " + path).c_str()) != 0) GTEST_SKIP() << "strip is not there";
  const auto own = ElfSymbols::Read(path, IdentityOf(path));
  ASSERT_TRUE(own.ok());
  if (own->build_id().size() < 3) GTEST_SKIP() << "the linker writes no build id";
  const uint64_t at = FileOffset(reinterpret_cast<uint64_t>(&FunctionToBeFound));
  const auto without = ElfSymbols::Read(stripped, IdentityOf(stripped), debug);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->build_id(), own->build_id());
  EXPECT_NE(Demangled(without->Find(at)), "profd::client::FunctionToBeFound(int)");
  const std::string folder = debug + "/.build-id/" + own->build_id().substr(0, 2);
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(path, folder + "/" + own->build_id().substr(2) + ".debug");
  const auto with = ElfSymbols::Read(stripped, IdentityOf(stripped), debug);
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(Demangled(with->Find(at)), "profd::client::FunctionToBeFound(int)");
}

TEST_F(ElfSymbolsTest, WhateverStandsInAFileItIsSurvived) {
  std::ifstream in("/bin/true", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  ASSERT_GT(whole.size(), 1000u);
  unsigned random = 1;
  const auto next = [&random](size_t below) { return (random = random * 1664525 + 1013904223) / 16 % below; };
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    if (round % 2 == 0) {
      bytes.resize(next(bytes.size()));
    } else {
      // The headers: what says where everything is.
      const size_t front = next(2) == 0 ? 0 : bytes.size() - std::min<size_t>(bytes.size(), 2048);
      for (int i = 0; i < 20; ++i)
        bytes[std::min(bytes.size() - 1, front + next(2048))] = static_cast<char>(next(256));
    }
    const std::string path = Write("damaged", bytes);
    const auto symbols = ElfSymbols::Read(path, IdentityOf(path));
    if (symbols.ok()) symbols->Find(next(whole.size()));
  }
}

TEST(PerfMap, FindsTheLatestOfAPlace) {
  const PerfMap map = PerfMap::Parse(
      "1000 10 LazyCompile:~first /a.js:1\n"
      "damaged\n"
      "2000 zz nothing\n"
      "1000 20 LazyCompile:*second /a.js:1\n"
      "ffffffffffffffff 10 beyond\n"
      "3000 8 last");
  EXPECT_EQ(map.Find(0xfff), "");
  EXPECT_EQ(map.Find(0x1000), "LazyCompile:*second /a.js:1");
  EXPECT_EQ(map.Find(0x101f), "LazyCompile:*second /a.js:1");
  EXPECT_EQ(map.Find(0x1020), "");
  EXPECT_EQ(map.Find(0x2000), "");
  EXPECT_EQ(map.Find(0x3007), "last");
  EXPECT_TRUE(PerfMap::Parse("").empty());
}

}  // namespace
}  // namespace profd::client
