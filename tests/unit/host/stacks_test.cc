#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <vector>

#include "daemon/host/process/code_map.h"
#include "daemon/host/stacks/call_frames.h"
#include "daemon/host/stacks/elf_image.h"
#include "daemon/host/stacks/frame_table.h"
#include "daemon/host/stacks/unwinder.h"

namespace profd::host {
namespace {

using Bytes = std::vector<std::byte>;
using Cfa = FrameRow::Cfa;
using Saved = FrameRow::Saved;

Bytes Of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Length and place of the CIE do not matter here.
const Bytes kHead(8);
// "zR": factors 1 and -8, the return address is register 16, pointers count from themselves in 4 bytes; CFA
// is the stack pointer + 8, where the return address lies right below.
const Bytes kCie = kHead + Of({1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1});
constexpr uint64_t kAt = 0x1000;  // of the FDE

// Of a function of 256 bytes at 0x2000.
std::optional<CallFrames> Frames(const Bytes& program, const Bytes& cie = kCie) {
  const auto from_here = static_cast<uint32_t>(0x2000 - (kAt + 8));
  Bytes fde = kHead;
  for (const uint32_t number : {from_here, uint32_t{256}}) {
    for (int i = 0; i < 4; ++i) fde.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
  fde.push_back(std::byte{0});
  return ReadCallFrames(cie, fde + program, kAt, kX86Machine);
}

TEST(CallFrames, FollowWhatAFunctionDoes) {
  // push %rbp; mov %rsp,%rbp; …; leave; ret; another part that has not got so far
  const auto frames = Frames(Of({0x41, 0x0e, 16, 0x86, 2,  // advance 1: CFA + 16, frame pointer below
                                 0x43, 0x0d, 6,            // advance 3: CFA counts from the frame pointer
                                 0x02, 100, 0x0a,          // advance 100: remember
                                 0xc6, 0x0c, 7, 8,         // as at the beginning
                                 0x41, 0x0b, 0, 0}));      // advance 1: as remembered
  ASSERT_TRUE(frames);
  EXPECT_EQ(frames->begin, 0x2000u);
  EXPECT_EQ(frames->end, 0x2100u);
  EXPECT_EQ(frames->Find(0x1fff), nullptr);
  EXPECT_EQ(frames->Find(0x2100), nullptr);
  const FrameRow* row = frames->Find(0x2000);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->cfa, Cfa::kStack);
  EXPECT_EQ(row->cfa_offset, 8);
  EXPECT_EQ(row->frame, Saved::kSame);
  EXPECT_EQ(row->returns, Saved::kAtCfa);
  EXPECT_EQ(row->returns_offset, -8);
  row = frames->Find(0x2003);
  EXPECT_EQ(row->cfa_offset, 16);
  EXPECT_EQ(row->frame, Saved::kAtCfa);
  EXPECT_EQ(row->frame_offset, -16);
  row = frames->Find(0x2004);
  EXPECT_EQ(row->cfa, Cfa::kFrame);
  EXPECT_EQ(row->cfa_offset, 16);
  row = frames->Find(0x2004 + 100);
  EXPECT_EQ(row->cfa, Cfa::kStack);
  EXPECT_EQ(row->frame, Saved::kSame);
  row = frames->Find(0x20ff);
  EXPECT_EQ(row->cfa, Cfa::kFrame);
  EXPECT_EQ(row->frame, Saved::kAtCfa);
}

TEST(CallFrames, FollowTheRegistersThatAreKept) {
  if (kUnwindMachine.stack != kX86Machine.stack) GTEST_SKIP() << "of another machine";
  // rbx and r12 are pushed; r12 is then somewhere else, and rbx as it was.
  const auto frames = Frames(Of({0x41, 0x83, 3, 0x8c, 2, 0x41, 0x09, 12, 1, 0xc3, 0, 0}));
  ASSERT_TRUE(frames);
  EXPECT_EQ(frames->Find(0x2000)->kept[0], FrameRow::kStays);
  EXPECT_EQ(frames->Find(0x2001)->kept[0], -24);
  EXPECT_EQ(frames->Find(0x2001)->kept[1], -16);
  EXPECT_EQ(frames->Find(0x2002)->kept[0], FrameRow::kStays);
  EXPECT_EQ(frames->Find(0x2002)->kept[1], FrameRow::kGone);
}

TEST(CallFrames, KnowTheExpressionsThatCompilersMake) {
  const auto linkage =
      Frames(Of({0x0f, 11, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}));
  ASSERT_TRUE(linkage);
  EXPECT_EQ(linkage->Find(0x2000)->cfa, Cfa::kLinkage);
  EXPECT_EQ(linkage->Find(0x2000)->cfa_offset, 11);
  // A function that aligns its stack: CFA lies at frame pointer - 8, the saved one at the frame pointer.
  const auto aligned = Frames(Of({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}));
  ASSERT_TRUE(aligned);
  EXPECT_EQ(aligned->Find(0x2000)->cfa, Cfa::kAtFrame);
  EXPECT_EQ(aligned->Find(0x2000)->cfa_offset, -8);
  EXPECT_EQ(aligned->Find(0x2000)->frame, Saved::kAtFrame);
  EXPECT_EQ(aligned->Find(0x2000)->frame_offset, 0);
  EXPECT_EQ(Frames(Of({0x0f, 2, 0x33, 0x22}))->Find(0x2000)->cfa, Cfa::kUnknown);
  EXPECT_EQ(Frames(Of({0x0c, 10, 0}))->Find(0x2000)->cfa, Cfa::kUnknown);  // in another register
  EXPECT_TRUE(Frames(Of({0x07, 16}))->Find(0x2000)->outermost);
  const auto signal = Frames({}, kHead + Of({1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b}));
  EXPECT_EQ(signal->Find(0x2000)->cfa, Cfa::kSignal);
}

TEST(CallFrames, RefuseWhatIsNone) {
  EXPECT_FALSE(Frames(Of({0x0b})));        // restores what it has not remembered
  EXPECT_FALSE(Frames(Of({0x3f})));        // no such instruction
  EXPECT_FALSE(Frames(Of({0x0c, 7})));     // cut off
  EXPECT_FALSE(Frames(Of({0x0e, 0xff})));  // a number without an end
  EXPECT_FALSE(Frames({}, kHead + Of({9})));
  EXPECT_FALSE(Frames({}, kHead + Of({1, 'z', 'R', 0, 1, 0x78, 17, 1, 0x1b})));  // another machine's
  EXPECT_FALSE(Frames({}, {}));
  EXPECT_FALSE(ReadCallFrames(kCie, {}, 0));
  EXPECT_FALSE(ReadEntryHead(Of({0, 0, 0, 0, 1, 0, 0, 0}), 0));
}

[[gnu::noinline]] int SomeFunction(int value) {
  volatile int twice = 2 * value;
  return twice;
}

TEST(FrameTable, HasTheFunctionsOfThisProgram) {
  const auto address = reinterpret_cast<uint64_t>(&SomeFunction);
  CodeMapping code;
  ReadCode(::getpid(), [&](const CodeMapping& mapping, const Module&) {
    if (mapping.begin <= address && address < mapping.end) code = mapping;
  });
  ASSERT_NE(code.begin, 0u);
  const auto image = FindImage(::getpid(), code);
  ASSERT_TRUE(image);
  ProcessMemory memory(::getpid());
  const auto elf = ElfImage::Read(memory, *image);
  ASSERT_TRUE(elf);
  const uint64_t bias = code.begin - elf->AddressOf(code.file_offset).value();
  FrameTable table(memory, *elf, bias);
  const FrameRow* row = table.Find(memory, bias, address - bias);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->begin, address - bias);
  EXPECT_EQ(row->cfa, Cfa::kStack);
  EXPECT_EQ(table.Find(memory, bias, 0), nullptr);
  EXPECT_EQ(table.Find(memory, bias, UINT64_MAX), nullptr);
  // Of a process that is no more.
  ProcessMemory nobody(0);
  EXPECT_FALSE(ElfImage::Read(nobody, *image));
  EXPECT_EQ(FrameTable(nobody, *elf, bias).Find(nobody, bias, address - bias), nullptr);
}

// A stack of words from 0x7000 up.
class UnwindTest : public testing::Test {
 protected:
  NativeStack Run(UserRegisters registers, std::map<uint64_t, FrameRow> rows) {
    const StackCopy copy{0x7000, std::as_bytes(std::span(words_))};
    NativeStack found;
    Unwind(
        registers, copy,
        [&](uint64_t address) {
          if (address < 0x1000 || address >= 0x5000) return CodeAt{};
          const auto row = rows.find(address & ~uint64_t{0xfff});
          return CodeAt{true, 0, row == rows.end() ? nullptr : &row->second};
        },
        found);
    return found;
  }
  static FrameRow ByStack(int32_t offset) {
    FrameRow row;
    row.cfa = Cfa::kStack;
    row.cfa_offset = offset;
    row.returns = Saved::kAtCfa;
    row.returns_offset = -8;
    return row;
  }
  std::array<uint64_t, 8> words_{};
};

TEST_F(UnwindTest, ByCallFramesAndByFramePointersInTurns) {
  words_ = {0, 0x2010, 0x7020, 0x3010, 0x7777, 0x4010, 0, 0};
  FrameRow outermost = ByStack(8);
  outermost.outermost = true;
  // 0x1… leaves 16 bytes; 0x2… has nothing but its frame pointer; so has 0x3…; nobody called 0x4….
  const NativeStack stack = Run({.frame = 0x7010, .stack = 0x7000, .instruction = 0x1234, .returns = 0},
                                {{0x1000, ByStack(16)}, {0x4000, outermost}});
  ASSERT_EQ(stack.frames.size(), 4u);
  EXPECT_EQ(stack.frames[0].address, 0x1234u);
  EXPECT_EQ(stack.frames[0].cfa, 0x7010u);
  EXPECT_EQ(stack.frames[1].address, 0x200fu);
  EXPECT_EQ(stack.frames[2].address, 0x300fu);
  EXPECT_EQ(stack.frames[3].address, 0x400fu);
  EXPECT_TRUE(stack.complete);
}

TEST_F(UnwindTest, GivesEachFunctionItsRegisters) {
  // 0x1… has saved the second in its part, and lost the third.
  words_ = {0, 0xaaaa, 0x2010, 0, 0x3010, 0, 0, 0};
  FrameRow saves = ByStack(24);
  saves.kept[1] = -16;
  saves.kept[2] = FrameRow::kGone;
  UserRegisters registers{.frame = 0x77, .stack = 0x7000, .instruction = 0x1234, .returns = 0};
  registers.kept = {1, 2, 3, 4, 5};
  const NativeStack stack = Run(registers, {{0x1000, saves}, {0x2000, ByStack(16)}});
  ASSERT_GE(stack.frames.size(), 3u);
  const auto of = [&stack](size_t i) {
    const auto& all = stack.frames[i].registers;
    return std::vector<uint64_t>{all[0], all[1], all[2], all[3], all[4], all.back()};
  };
  EXPECT_EQ(of(0), (std::vector<uint64_t>{1, 2, 3, 4, 5, 0x77}));
  EXPECT_EQ(of(1), (std::vector<uint64_t>{1, 0xaaaa, 0, 4, 5, 0x77}));
  EXPECT_EQ(of(2), of(1));
}

TEST_F(UnwindTest, EndsWhereTheStackDoes) {
  words_ = {0, 0x2010, 0, 0, 0, 0, 0, 0};
  const NativeStack stack = Run({.frame = 0, .stack = 0x7000, .instruction = 0x1234, .returns = 0},
                                {{0x1000, ByStack(16)}, {0x2000, ByStack(4096)}});
  ASSERT_EQ(stack.frames.size(), 2u);
  EXPECT_FALSE(stack.complete);
  EXPECT_EQ(stack.next, 0x2010u);
}

TEST_F(UnwindTest, DoesNotGoRoundInCircles) {
  words_ = {0x7000, 0x1010, 0x7000, 0x1010, 0, 0, 0, 0};
  EXPECT_LE(Run({.frame = 0x7000, .stack = 0x7000, .instruction = 0x1234, .returns = 0}, {}).frames.size(),
            3u);
  EXPECT_EQ(Run({.frame = 0, .stack = 0x7000, .instruction = 0x1234, .returns = 0}, {{0x1000, ByStack(0)}})
                .frames.size(),
            1u);
  EXPECT_EQ(Run({.frame = 0, .stack = 0x7000, .instruction = 0x1234, .returns = 0}, {{0x1000, ByStack(-64)}})
                .frames.size(),
            1u);
  // Where nobody knows of code there may be some all the same, but only innermost.
  EXPECT_EQ(Run({.frame = 0x7000, .stack = 0x7000, .instruction = 0x9999, .returns = 0}, {}).frames.size(),
            2u);
}

}  // namespace
}  // namespace profd::host
