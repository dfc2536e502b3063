#include "daemon/host/process/code_map.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "base/clock.h"
#include "daemon/host/events/kernel_names.h"

namespace profd::host {
namespace {

uint64_t FileOffset(const CodeMap& map, uint64_t address) {
  const CodeMapping* mapping = map.Find(address);
  return mapping == nullptr ? UINT64_MAX : address - mapping->begin + mapping->file_offset;
}

TEST(CodeMap, FindsWhatWasMappedLast) {
  CodeMap map;
  EXPECT_EQ(map.Find(0), nullptr);
  map.Add({0x1000, 0x5000, 0x100, 1});
  EXPECT_EQ(map.Find(0xfff), nullptr);
  EXPECT_EQ(FileOffset(map, 0x1000), 0x100u);
  EXPECT_EQ(FileOffset(map, 0x4fff), 0x40ffu);
  EXPECT_EQ(map.Find(0x5000), nullptr);

  map.Add({0x2000, 0x3000, 0, 2});  // in the middle of it
  EXPECT_EQ(map.Find(0x1fff)->module, 1u);
  EXPECT_EQ(map.Find(0x2000)->module, 2u);
  EXPECT_EQ(map.Find(0x3000)->module, 1u);
  EXPECT_EQ(FileOffset(map, 0x3000), 0x2100u);

  map.Add({0x0, 0x2800, 0, 3});  // over its front and half of the next
  EXPECT_EQ(map.Find(0x27ff)->module, 3u);
  EXPECT_EQ(map.Find(0x2800)->module, 2u);
  EXPECT_EQ(FileOffset(map, 0x2800), 0x800u);

  map.Add({0x0, 0x10000, 0, 4});  // over all
  for (const uint64_t address : {0x0, 0x2800, 0x4000, 0xffff}) EXPECT_EQ(map.Find(address)->module, 4u);
  map.Add({0x7000, 0x7000, 0, 5});  // nothing
  EXPECT_EQ(map.Find(0x7000)->module, 4u);
  map.Clear();
  EXPECT_EQ(map.Find(0x7000), nullptr);
}

TEST(CodeMap, ReadsTheCodeOfAProcess) {
  const auto here = reinterpret_cast<uint64_t>(&ReadCode);
  std::set<std::string> paths;
  int mine = 0;
  ReadCode(::getpid(), [&](const CodeMapping& mapping, const Module& module) {
    EXPECT_LT(mapping.begin, mapping.end);
    paths.insert(module.path);
    if (here < mapping.begin || here >= mapping.end) return;
    ++mine;
    EXPECT_TRUE(module.path.ends_with("host_test")) << module.path;
    EXPECT_NE(module.inode, 0u);
    EXPECT_FALSE(IsAnonymous(module.path));
  });
  EXPECT_EQ(mine, 1);
  EXPECT_TRUE(paths.contains("[vdso]"));
  ReadCode(0, [](const CodeMapping&, const Module&) { FAIL() << "no process has this number"; });
}

TEST(CodeMap, KnowsMemoryWithoutAFile) {
  for (const char* path :
       {"", "//anon", "[heap]", "[anon:v8]", "/memfd:jit (deleted)", "/dev/zero (deleted)"})
    EXPECT_TRUE(IsAnonymous(path)) << path;
  for (const char* path : {"[vdso]", "/usr/bin/node", "/home/anon/x"})
    EXPECT_FALSE(IsAnonymous(path)) << path;
}

TEST(KernelNames, NamesFunctionsOrSaysThatItCannot) {
  KernelNames::Hold();
  const auto names = KernelNames::Load();
  EXPECT_EQ(names->empty(), !KernelNames::Readable());
  EXPECT_EQ(names->Find(0), "[kernel]");
  EXPECT_EQ(names, KernelNames::Load()) << "shared by those who use it";
}

// What each of some processes spends of the processor for the names, all at once.
std::vector<uint64_t> Spent(size_t processes) {
  int go[2], told[2];
  EXPECT_EQ(::pipe(go), 0);
  EXPECT_EQ(::pipe(told), 0);
  std::vector<pid_t> children;
  while (children.size() < processes) {
    if (const pid_t child = ::fork(); child != 0) {
      children.push_back(child);
      continue;
    }
    char byte;
    ::close(go[1]);
    while (::read(go[0], &byte, 1) > 0) {
    }
    const bool loaded = !KernelNames::Load()->empty();
    const uint64_t spent_ns = loaded ? base::ReadClockNs(CLOCK_THREAD_CPUTIME_ID) : 0;
    ::_exit(::write(told[1], &spent_ns, sizeof spent_ns) == sizeof spent_ns ? 0 : 1);
  }
  ::close(go[0]);
  ::close(go[1]);
  ::close(told[1]);
  std::vector<uint64_t> all;
  for (uint64_t one; ::read(told[0], &one, sizeof one) == sizeof one;) all.push_back(one);
  ::close(told[0]);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return all;
}

// A turn that nobody ends: its owner was killed.
TEST(KernelNames, TurnsOfTheKilledPassOn) {
  KernelNames::Hold();
  for (int killed = 0; killed < 20; ++killed) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) KernelNames::Load();
    }
    ::usleep(2000 * killed);  // wherever in the middle that is
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(KernelNames::Load()->empty(), !KernelNames::Readable());
}

// The kernel would make the whole list anew for each piece of it: some thirty times as much.
TEST(KernelNames, ProcessesTakeTurns) {
  KernelNames::Hold();
  if (!KernelNames::Readable()) GTEST_SKIP() << "no addresses in /proc/kallsyms";
  const std::vector<uint64_t> alone = Spent(1), together = Spent(6);
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(together.size(), 6u);
  for (const uint64_t spent_ns : together) EXPECT_LT(spent_ns, 10 * alone[0]);
}

}  // namespace
}  // namespace profd::host
