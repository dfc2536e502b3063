#include "daemon/host/stacks/python_stacks.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "daemon/host/stacks/python_code.h"
#include "daemon/host/stacks/python_layout.h"

namespace profd::host {
namespace {

using Entered = PythonLayout::Entered;
using Lines = PythonLayout::Lines;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// What dis.findlinestarts() and co_lines() of real interpreters say of one function of eleven lines.
TEST(PythonLine, AsTheInterpretersSayIt) {
  const std::string of_39 = FromHex("0002060102ff060204010201040102ff040304fd02030601");
  const std::vector<std::pair<int, uint32_t>> lines_39 = {{0, 3},  {5, 3},   {6, 4},   {8, 3},   {14, 5},
                                                          {18, 6}, {20, 7},  {24, 8},  {26, 7},  {30, 10},
                                                          {34, 7}, {36, 10}, {41, 10}, {42, 11}, {44, 11}};
  for (const auto& [at, line] : lines_39) EXPECT_EQ(PythonLine(Lines::kPairs, of_39, 1, at), line) << at;

  // The example of 3.10's Objects/lnotab_notes.txt.
  const std::string of_310 = FromHex("06012c01fe052e000a801001007f0449");
  const std::vector<std::pair<int, uint32_t>> lines_310 = {
      {0, 1}, {5, 1}, {6, 2}, {49, 2}, {50, 7}, {349, 7}, {350, 0}, {359, 0}, {360, 8}, {375, 8}, {376, 208}};
  for (const auto& [at, line] : lines_310) EXPECT_EQ(PythonLine(Lines::kRanges, of_310, 0, at), line) << at;

  const std::string of_311 = FromHex(
      "8000f004010915f000010915d81213f003010915f100010915f4000109158041e00708f000050512f002040912dd13149051d8"
      "1516"
      "f103011418f400011418f00600111288418841f8900188418845884588458845d80b0c8048");
  const std::vector<std::pair<int, uint32_t>> lines_311 = {
      {-2, 1}, {0, 1},  {2, 3},   {6, 4},  {8, 3},   {24, 3},  {26, 5},  {30, 6},
      {46, 8}, {48, 7}, {62, 10}, {68, 0}, {70, 10}, {82, 11}, {84, 11}, {86, 0}};
  for (const auto& [at, line] : lines_311)
    EXPECT_EQ(PythonLine(Lines::kLocations, of_311, 1, at), line) << at;

  const std::string of_313 = FromHex(
      "8000f106001314f303010915da12138851f303000a0bd91213f003000506f000010915e60708f002040912dc13149051d81516"
      "f303011418f0060011128941d80b0c8048f9f211010915f8f00e0011128941fa");
  const std::vector<std::pair<int, uint32_t>> lines_313 = {
      {0, 1},  {2, 4},   {6, 3},   {14, 4}, {22, 3}, {38, 5}, {52, 6},  {54, 7}, {66, 8},
      {68, 7}, {76, 10}, {82, 11}, {86, 0}, {90, 3}, {96, 0}, {98, 10}, {104, 0}};
  for (const auto& [at, line] : lines_313)
    EXPECT_EQ(PythonLine(Lines::kLocations, of_313, 1, at), line) << at;
}

TEST(PythonLine, OfAnyBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string table(random() % 40, '\0');
    for (char& c : table) c = static_cast<char>(random());
    for (const Lines lines : {Lines::kPairs, Lines::kRanges, Lines::kLocations})
      PythonLine(lines, table, static_cast<uint32_t>(random()), static_cast<int64_t>(random() % 400) - 4);
  }
}

TEST(PythonLayouts, AreOfTheVersionsThatAreRead) {
  for (const char* version : {"3.8", "3.9.2", "3.10", "3.11", "3.12.5", "3.13"})
    EXPECT_TRUE(ReadsPython(version));
  for (const char* version : {"", "3", "3.7", "3.14", "3.1", "2.7", "3.81"})
    EXPECT_FALSE(ReadsPython(version));
  for (const PythonLayout& layout : PythonLayouts()) {
    for (const uint64_t at : {layout.code, layout.previous, layout.instruction, layout.mark})
      EXPECT_LE(at + 8, kPythonFrameBytes);
    for (const uint64_t at : {layout.first_line, layout.file_name, layout.name, layout.table})
      EXPECT_LE(at + 8, kPythonCodeBytes);
  }
}

// A thread that is in outer(), which has called middle(), which has called inner(), all of train.py, and its
// stack, as an interpreter of the layout has them, in this process.
class Interpreter {
 public:
  static constexpr uint64_t kEvaluation = 0x1000;
  static constexpr uint64_t kPart = 256;  // of each call of the loop
  static constexpr uint64_t kPlace = 96;

  explicit Interpreter(const PythonLayout& layout) : layout(layout) {
    runtime_ = Object();
    const uint64_t interpreter = Object();
    state = Object();
    Put(runtime_ + layout.interpreters, interpreter);
    Put(interpreter + layout.threads, state);
    Put(state + layout.thread_id, static_cast<uint64_t>(::pthread_self()));
    if (layout.native_id != 0) Put(state + layout.native_id, static_cast<uint64_t>(::gettid()));
    stack_.resize(kPart / 8 * 3 + 4);
    MakeCalls();
  }

  uint64_t Begin() const { return reinterpret_cast<uint64_t>(stack_.data()); }
  // Of the innermost call: 0.
  uint64_t CfaOf(size_t call) const { return Begin() + kPart * (call + 1); }
  size_t calls() const { return layout.entered == Entered::kFrame ? 3 : 2; }

  PythonStacks Stacks() const {
    return {layout, {runtime_, code_type_, frame_type_, kEvaluation, kEvaluation + 64}};
  }
  // As it was unwound; `missing`: so many calls from the outermost, which the copy does not have either.
  PythonStacks::Found Look(PythonStacks& stacks, size_t missing = 0, const PythonFrames* noted = nullptr) {
    NativeStack native;
    for (size_t i = 0; i + missing < calls(); ++i) {
      native.frames.push_back(
          {.address = 0x10, .stack = CfaOf(i) - kPart, .cfa = CfaOf(i) - kPart + 16, .registers = {}});
      native.frames.push_back(
          {.address = kEvaluation + 1, .stack = CfaOf(i) - kPart + 16, .cfa = CfaOf(i), .registers = {}});
      if (in_registers) native.frames.back().registers[1] = frames[i];
    }
    native.complete = missing == 0;
    const StackCopy copy{Begin(), std::as_bytes(std::span(stack_).first(kPart / 8 * (calls() - missing)))};
    ProcessMemory memory(::getpid());
    const auto number = [this](const PythonFunction& function) {
      EXPECT_EQ(function.file, "/x/train.py");
      names_.push_back(function.name);
      return static_cast<uint32_t>(names_.size() - 1);
    };
    return stacks.Of(memory, ::gettid(), native, copy, number, noted);
  }
  // Another function comes into the place of that frame's.
  void Replace(uint64_t frame, const std::string& name, uint32_t words) {
    const uint64_t code = Code(name, words);
    Put(frame + layout.code, code);
    if (layout.instruction_bytes == 0) Put(frame + layout.instruction, code + layout.instructions + 4);
  }
  // As the kernel's program notes them.
  PythonFrames Noted() const {
    PythonFrames noted;
    Get(state + layout.current, noted.current);
    uint64_t at = noted.current;
    if (layout.entered == Entered::kRecord) Get(at + layout.record_current, at);
    while (at != 0) {
      auto& frame = noted.frames.at(noted.count++);
      frame.at = at;
      Get(at + layout.code, frame.code);
      Get(at + layout.instruction, frame.instruction);
      uint8_t mark = 0;
      Get(at + layout.mark, mark);
      frame.mark = mark;
      Get(at + layout.previous, at);
    }
    return noted;
  }
  // "inner:12 middle:12 | outer:12".
  std::string Text(const PythonStacks::Found& found) const {
    std::string text;
    const auto add = [&](const PythonStacks::Places& places) {
      for (const auto& [function, line] : places)
        text += ' ' + names_.at(function) + ':' + std::to_string(line);
    };
    for (size_t i = 0; i < found.evaluations.size(); ++i) {
      if (i > 0) text += " |";
      add(found.evaluations[i]);
    }
    if (!found.callers.empty()) text += " ->";
    add(found.callers);
    return text;
  }
  void MoveToRegisters() {
    in_registers = true;
    for (size_t i = 0; i < 3; ++i) Put(CfaOf(i) - kPlace, uint64_t{0});
  }
  template <typename T>
  static void Put(uint64_t at, T value) {
    std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
  }
  template <typename T>
  static void Get(uint64_t at, T& value) {
    std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  }
  uint64_t Object(size_t bytes = 512) {
    objects_.emplace_back(bytes / 8);
    return reinterpret_cast<uint64_t>(objects_.back().data());
  }

  bool in_registers = false;  // Entered::kFrame: calls have their frames there, and nowhere else
  const PythonLayout layout;
  std::array<uint64_t, 3> frames = {};  // inner's, middle's, outer's
  uint64_t state = 0;

 private:
  uint64_t Text(const std::string& value) {
    const uint64_t at = Object();
    Put(at + 16, value.size());
    Put(at + 32, uint32_t{1 << 2 | 1 << 5 | 1 << 6});  // a byte each, compact, ASCII
    std::memcpy(reinterpret_cast<void*>(at + layout.ascii_bytes), value.data(), value.size());
    return at;
  }
  // Begins at line 10; from its fourth byte on it is at line 12.
  uint64_t Code(const std::string& name, uint32_t words = kVariables) {
    const uint64_t at = Object(), table = Object();
    Put(at + kPythonType, code_type_);
    Put(at + layout.first_line, int32_t{10});
    if (layout.entered != Entered::kFrame) Put(at + layout.first_line + 4, words);
    Put(at + layout.name, Text(name));
    Put(at + layout.file_name, Text("/x/train.py"));
    Put(at + layout.table, table);
    const std::string bytes = FromHex(layout.lines == Lines::kPairs    ? "0402"
                                      : layout.lines == Lines::kRanges ? "04000402"
                                                                       : "e900e904");
    Put(table + 16, bytes.size());
    std::memcpy(reinterpret_cast<void*>(table + 32), bytes.data(), bytes.size());
    return at;
  }
  uint64_t Frame(const std::string& name, uint64_t caller) {
    const uint64_t at = layout.entered == Entered::kFrame ? Object() : NextFrame(), code = Code(name);
    if (layout.entered == Entered::kFrame) Put(at + kPythonType, frame_type_);
    Put(at + layout.code, code);
    Put(at + layout.previous, caller);
    if (layout.instruction_bytes != 0) {
      Put(at + layout.instruction, static_cast<int32_t>(4 / layout.instruction_bytes));
    } else {
      Put(at + layout.instruction, code + layout.instructions + 4);
    }
    return at;
  }
  static constexpr uint32_t kVariables = 7;
  // Where the caller's ends.
  uint64_t NextFrame() {
    const uint64_t at = frame_stack_;
    frame_stack_ += kPythonFrameHead + 8 * kVariables;
    return at;
  }
  // A frame that stands for a call of the loop, from 3.12 on.
  void MakeEntry(uint64_t at, uint64_t caller) {
    Put(at + layout.mark, kOwnedByStack);
    Put(at + layout.previous, caller);
  }

  void MakeCalls() {
    if (layout.entered == Entered::kFrame) {
      frames[2] = Frame("outer", 0);
      frames[1] = Frame("middle", frames[2]);
      frames[0] = Frame("inner", frames[1]);
      for (size_t i = 0; i < 3; ++i) {
        Put(CfaOf(i) - kPlace, frames[i] + layout.locals);
        // Of a register that is to be kept.
        if (i < 2) Put(CfaOf(i) - 16, frames[i + 1]);
      }
      Put(state + layout.current, frames[0]);
      return;
    }
    // outer() and middle() within one call of the loop.
    const bool entries = layout.version >= 0x030c;
    const auto entry_of = [&](size_t call) {
      return layout.entered == Entered::kEntry ? CfaOf(call) - kPlace : Object();
    };
    const uint64_t outer_entry = entries ? entry_of(1) : 0, inner_entry = entries ? entry_of(0) : 0;
    frames[2] = Frame("outer", outer_entry);
    frames[1] = Frame("middle", frames[2]);
    frames[0] = Frame("inner", entries ? inner_entry : frames[1]);
    if (entries) {
      MakeEntry(outer_entry, 0);
      MakeEntry(inner_entry, frames[1]);
    } else {
      Put(frames[2] + layout.mark, char{1});
      Put(frames[0] + layout.mark, char{1});
    }
    if (layout.entered == Entered::kEntry) {
      Put(state + layout.current, frames[0]);
      return;
    }
    Put(CfaOf(0) - kPlace + layout.record_current, frames[0]);
    Put(CfaOf(1) - kPlace + layout.record_current, frames[1]);
    Put(state + layout.current, CfaOf(0) - kPlace);
  }

  std::deque<std::vector<uint64_t>> objects_;
  std::vector<uint64_t> stack_;
  std::vector<std::string> names_;
  uint64_t runtime_ = 0;
  uint64_t code_type_ = Object(), frame_type_ = Object(), frame_stack_ = Object(4096);
};

// As 3.13.5 says of itself.
PythonLayout Of313() {
  PythonLayout layout = PythonLayouts().back();
  layout.version = 0x030d;
  layout.entered = Entered::kEntry;
  layout.interpreters = 632 - 600;  // within what the test makes
  layout.current = 72;
  layout.thread_id = 152;
  layout.native_id = 160;
  layout.instructions = 200;
  return layout;
}

class PythonStacksTest : public testing::TestWithParam<PythonLayout> {
 protected:
  Interpreter interpreter_{GetParam()};
  PythonStacks stacks_ = interpreter_.Stacks();
  const bool a_frame_each_ = GetParam().entered == Entered::kFrame;
  const std::string all_ =
      a_frame_each_ ? " inner:12 | middle:12 | outer:12" : " inner:12 | middle:12 outer:12";
};

TEST_P(PythonStacksTest, HaveFunctionsAndLines) {
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), all_);
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), all_);
}

TEST_P(PythonStacksTest, OfAStackThatEndsInBetweenTheCallersAreThePythonsOwn) {
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_, 1)),
            a_frame_each_ ? " inner:12 | middle:12 -> outer:12" : " inner:12 -> middle:12 outer:12");
  // Code that no way leads out of.
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_, interpreter_.calls())),
            " -> inner:12 middle:12 outer:12");
}

TEST_P(PythonStacksTest, AreFoundByRegisters) {
  if (!a_frame_each_) return;
  interpreter_.MoveToRegisters();
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), all_);
  interpreter_.Put(interpreter_.state + GetParam().current, uint64_t{0});
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_, 1)), " inner:12 | middle:12 -> outer:12");
}

TEST_P(PythonStacksTest, AreTheSamplesAndNotTheThreadsOfLater) {
  interpreter_.Look(stacks_);
  // Meanwhile all but outer() have returned.
  if (a_frame_each_) {
    interpreter_.Put(interpreter_.state + GetParam().current, interpreter_.frames[2]);
    EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), all_);
  } else if (GetParam().entered == Entered::kEntry) {
    interpreter_.Put(interpreter_.state + GetParam().current, interpreter_.frames[2]);
    EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), " | middle:12 outer:12");
  }
  // … and another thread has the state.
  interpreter_.Put(interpreter_.state + GetParam().thread_id, uint64_t{0});
  if (GetParam().native_id != 0) interpreter_.Put(interpreter_.state + GetParam().native_id, uint64_t{1});
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_, interpreter_.calls())), "");
}

TEST_P(PythonStacksTest, AreAsTheKernelHasNotedThemWhateverCameSince) {
  for (const bool learned : {true, false}) {
    PythonStacks stacks = interpreter_.Stacks();
    if (learned) interpreter_.Look(stacks);
    const PythonFrames noted = interpreter_.Noted();
    ASSERT_GE(noted.count, 3u);
    // middle() has returned, and outer() has called another, which has called what middle() had.
    const auto before = interpreter_.frames;
    std::array<std::array<std::byte, kPythonFrameBytes>, 3> kept;
    for (size_t i = 0; i < kept.size(); ++i) interpreter_.Get(before[i], kept[i]);
    interpreter_.Replace(interpreter_.frames[1], "another", 7);
    interpreter_.Put(interpreter_.frames[0] + GetParam().code, uint64_t{8});
    const std::string found = interpreter_.Text(interpreter_.Look(stacks, 0, &noted));
    // Where nothing says yet which call of the loop has which frame, those of 3.8 to 3.10 are the thread's in
    // turn.
    EXPECT_EQ(found, all_) << learned;
    EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks, interpreter_.calls(), &noted)),
              " -> inner:12 middle:12 outer:12");
    for (size_t i = 0; i < kept.size(); ++i) interpreter_.Put(before[i], kept[i]);
  }
}

TEST_P(PythonStacksTest, BeyondWhatIsNotedAreTheThreadsOwn) {
  interpreter_.Look(stacks_);
  PythonFrames noted = interpreter_.Noted();
  noted.rest = noted.frames.at(noted.count - 1).at;
  --noted.count;
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_, 0, &noted)), all_);
}

TEST_P(PythonStacksTest, AreNoneWhereAnotherHasComeIntoTheirPlace) {
  if (a_frame_each_) return;
  interpreter_.Look(stacks_);
  // outer() has called another meanwhile: inner() begins elsewhere than that one ends.
  interpreter_.Replace(interpreter_.frames[1], "another", 9);
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), " |");
  interpreter_.Replace(interpreter_.frames[1], "middle", 7);
  EXPECT_EQ(interpreter_.Text(interpreter_.Look(stacks_)), all_);
}

TEST_P(PythonStacksTest, BelieveNothing) {
  const auto& layout = GetParam();
  interpreter_.Look(stacks_);
  // Without end, without a code, of another type, from nowhere.
  const uint64_t inner = interpreter_.frames[0], outer = interpreter_.frames[2];
  interpreter_.Put(outer + layout.previous, inner);
  if (layout.entered != Entered::kFrame) interpreter_.Put(outer + layout.mark, char{0});
  interpreter_.Look(stacks_, 1);
  for (const uint64_t code : {uint64_t{0}, uint64_t{8}, uint64_t{0xfffffffffffffff8}, inner}) {
    interpreter_.Put(inner + layout.code, code);
    const auto found = interpreter_.Look(stacks_);
    EXPECT_TRUE(found.evaluations.front().empty());
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    for (const uint64_t frame : interpreter_.frames) {
      for (size_t at = 0; at < kPythonFrameBytes; at += 8) {
        if (random() % 4 == 0)
          interpreter_.Put(frame + at, random() % 2 == 0 ? random() : interpreter_.frames[random() % 3]);
      }
    }
    PythonStacks fresh = interpreter_.Stacks();
    interpreter_.Look(fresh);
    interpreter_.Look(fresh, 1);
  }
}

std::vector<PythonLayout> AllLayouts() {
  std::vector<PythonLayout> all(PythonLayouts().begin(), PythonLayouts().end());
  all.push_back(Of313());
  return all;
}
INSTANTIATE_TEST_SUITE_P(Of, PythonStacksTest, testing::ValuesIn(AllLayouts()), [](const auto& info) {
  return "Python3_" + std::to_string(info.param.version & 0xff);
});

}  // namespace
}  // namespace profd::host
