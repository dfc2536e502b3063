#include "daemon/host/stacks/python_stacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "daemon/host/process/process_image.h"

namespace profd::host {

namespace {

using Entered = PythonLayout::Entered;

constexpr size_t kMaxInterpreters = 16, kMaxThreads = 1024, kMaxFrames = 512, kMaxCodes = 1 << 14;
constexpr size_t kMaxTableBytes = 16 << 20;
constexpr uint64_t kMostOfAPart = 2048;  // of a call of the loop; compilers need a quarter
constexpr uint64_t kSearchEveryNs = 100'000'000;
constexpr uint64_t kKnownForNs = 10'000'000'000;  // then memory may be another's
// Of its stack an interpreter has pieces; a frame on another piece than its caller's is further away.
constexpr uint64_t kPieceBytes = 16 << 10;
// What a thread's id leads to (glibc's struct pthread, nptl/descr.h) has its number, behind a header and a
// list.
#if defined(__aarch64__)
constexpr uint64_t kThreadNumber = 192 + 16;
#else
constexpr uint64_t kThreadNumber = 704 + 16;
#endif

// A frame begins where its caller's ends: else another function has come since into the place of one of them.
bool Fit(uint64_t frame, uint64_t caller, uint64_t caller_end) {
  return frame == 0 || caller == 0 || frame - caller >= kPieceBytes || frame == caller_end;
}

template <typename T, size_t N>
T At(const std::array<std::byte, N>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

struct PythonStacks::Look {
  ProcessMemory& memory;
  const pid_t tid;
  const NativeStack& native;
  const StackCopy& stack;
  const NumberOf& number;
  const PythonFrames* noted;
  std::vector<const NativeFrame*> evaluations = {};
  size_t frames_read = 0;
  std::optional<std::optional<uint64_t>> current = {};  // of the thread, once asked for

  std::optional<uint64_t> Held(const NativeFrame& frame, const Holder& holder) {
    if (holder.reg) return frame.registers[*holder.reg] - holder.locals;
    const auto word = frame.cfa != 0 ? Word(frame.cfa - holder.place) : std::nullopt;
    return word ? std::optional(*word - holder.locals) : std::nullopt;
  }
  // Deeper than the copy goes: what is there now is most likely what was there.
  std::optional<uint64_t> Word(uint64_t at) {
    const auto copied = stack.Word(at);
    return copied ? copied : memory.Get<uint64_t>(at);
  }
};

std::optional<PythonStacks> PythonStacks::Find(ProcessMemory& memory, const ElfImage& image, uint64_t bias) {
  const auto runtime = image.Find(memory, bias, "_PyRuntime"), code = image.Find(memory, bias, "PyCode_Type"),
             frame = image.Find(memory, bias, "PyFrame_Type"),
             evaluation = image.Find(memory, bias, "_PyEval_EvalFrameDefault");
  if (!runtime || !code || !frame || !evaluation || evaluation->bytes == 0) return std::nullopt;
  const auto layout = FindPythonLayout(memory, image, bias, bias + runtime->address);
  if (!layout) return std::nullopt;
  return PythonStacks(*layout, {.runtime = bias + runtime->address,
                                .code_type = bias + code->address,
                                .frame_type = bias + frame->address,
                                .evaluation_begin = bias + evaluation->address,
                                .evaluation_end = bias + evaluation->address + evaluation->bytes});
}

PythonStacks::Found PythonStacks::Of(ProcessMemory& memory, pid_t tid, const NativeStack& native,
                                     const StackCopy& stack, const NumberOf& number,
                                     const PythonFrames* noted) {
  if (codes_.size() >= kMaxCodes || table_bytes_ > kMaxTableBytes ||
      base::MonotonicNs() - known_since_ns_ > kKnownForNs)
    Forget();
  Look look{memory, tid, native, stack, number, noted};
  if (noted != nullptr) look.current = noted->count > 0 ? noted->frames[0].at : noted->rest;
  for (const NativeFrame& frame : native.frames)
    if (Evaluates(frame.address)) look.evaluations.push_back(&frame);
  Found found;
  found.evaluations.resize(look.evaluations.size());
  if (!look.evaluations.empty() && !holder_) Learn(look);

  bool any = false;
  uint64_t caller = 0;  // of the outermost …
  uint64_t outer = 0;   // … and where it begins
  const auto fits = [&](const Evaluation& evaluation) {
    return noted != nullptr || Fit(outer, evaluation.inner, evaluation.inner_end);
  };
  for (size_t i = 0; i < look.evaluations.size(); ++i) {
    const auto frame = FrameOf(look, i);
    // A frame that another has called since the sample is another's.
    if (i > 0 && frame && caller != 0 && caller != *frame) found.evaluations[i - 1].clear();
    auto evaluation = frame ? Evaluate(look, *frame) : std::nullopt;
    if (evaluation && i > 0 && !fits(*evaluation)) {
      found.evaluations[i - 1].clear();
      evaluation.reset();
    }
    caller = evaluation ? evaluation->caller : 0;
    outer = evaluation ? evaluation->outer : 0;
    if (!evaluation) continue;
    any = true;
    found.evaluations[i] = std::move(evaluation->places);
  }
  if (native.complete && !any && layout_.entered == Entered::kFrame) TakeCurrent(look, found.evaluations);
  if (native.complete) return found;
  if (!any) caller = Current(look).value_or(0);
  any = any && !found.evaluations.back().empty();
  while (caller != 0) {
    const auto evaluation = Evaluate(look, caller);
    if (!evaluation || !fits(*evaluation)) return found;
    outer = evaluation->outer;
    found.callers.insert(found.callers.end(), evaluation->places.begin(), evaluation->places.end());
    caller = evaluation->caller;
  }
  found.to_the_first = any || !found.callers.empty();
  return found;
}

// Where it is not known where the calls have their frames: those that the thread has now, when they are as
// many.
void PythonStacks::TakeCurrent(Look& look, std::vector<Places>& evaluations) {
  std::vector<Places> now;
  uint64_t frame = Current(look).value_or(0);
  while (frame != 0 && now.size() < evaluations.size()) {
    auto evaluation = Evaluate(look, frame);
    if (!evaluation) return;
    now.push_back(std::move(evaluation->places));
    frame = evaluation->caller;
  }
  if (frame == 0 && now.size() == evaluations.size()) evaluations = std::move(now);
}

void PythonStacks::Forget() {
  codes_.clear();
  threads_.clear();
  states_.clear();
  table_bytes_ = 0;
  known_since_ns_ = base::MonotonicNs();
}

std::optional<PythonStacks::Frame> PythonStacks::ReadFrame(Look& look, uint64_t at) {
  if (at == 0 || at % 8 != 0 || look.frames_read++ >= kMaxFrames) return std::nullopt;
  if (look.noted != nullptr) {
    bool is_noted = false;
    auto frame = NotedFrame(look, at, is_noted);
    // One that is none of the sample's has come since.
    if (is_noted || look.noted->rest == 0) return frame;
  }
  const auto bytes = look.memory.Get<std::array<std::byte, kPythonFrameBytes>>(at);
  if (!bytes) return std::nullopt;
  Frame frame;
  frame.previous = At<uint64_t>(*bytes, layout_.previous);
  const bool owned_by_stack = layout_.version >= 0x030c && At<uint8_t>(*bytes, layout_.mark) == kOwnedByStack;
  if (layout_.entered == Entered::kFrame) {
    if (At<uint64_t>(*bytes, kPythonType) != parts_.frame_type) return std::nullopt;
    frame.is_last = true;
  } else {
    frame.is_last = owned_by_stack || (layout_.version < 0x030c && At<uint8_t>(*bytes, layout_.mark) != 0);
  }
  if (owned_by_stack) return frame;
  if (layout_.entered != Entered::kFrame) {
    const uint64_t owner = layout_.version < 0x030c ? kOwnerOf311 : layout_.mark;
    frame.bytes = At<uint8_t>(*bytes, owner) == kOwnedByGenerator ? 0 : 1;
  }
  const uint64_t instruction = layout_.instruction_bytes != 0 ? At<uint32_t>(*bytes, layout_.instruction)
                                                              : At<uint64_t>(*bytes, layout_.instruction);
  return FrameOfCode(look, At<uint64_t>(*bytes, layout_.code), instruction, frame);
}

std::optional<PythonStacks::Frame> PythonStacks::NotedFrame(Look& look, uint64_t at, bool& is_noted) {
  const PythonFrames& noted = *look.noted;
  for (size_t i = 0; i < noted.count; ++i) {
    const PythonFrames::Frame& found = noted.frames[i];
    if (found.at != at) continue;
    is_noted = true;
    Frame frame;
    frame.previous = i + 1 < noted.count ? noted.frames[i + 1].at : noted.rest;
    const bool owned_by_stack = layout_.version >= 0x030c && found.mark == kOwnedByStack;
    frame.is_last =
        layout_.entered == Entered::kFrame || owned_by_stack || (layout_.version < 0x030c && found.mark != 0);
    if (owned_by_stack) return frame;
    return FrameOfCode(look, found.code, found.instruction, frame);
  }
  return std::nullopt;
}

std::optional<PythonStacks::Frame> PythonStacks::FrameOfCode(Look& look, uint64_t at_code,
                                                             uint64_t at_instruction, Frame frame) {
  auto known = codes_.find(at_code);
  if (known == codes_.end()) {
    auto code = ReadPythonCode(look.memory, layout_, parts_.code_type, at_code);
    if (!code) return std::nullopt;
    table_bytes_ += code->table.size();
    known = codes_
                .emplace(at_code, Code{look.number(code->function), code->function.line,
                                       std::move(code->table), code->frame_bytes})
                .first;
  }
  const Code& code = known->second;
  const int64_t instruction =
      layout_.instruction_bytes != 0
          ? static_cast<int32_t>(at_instruction) * static_cast<int64_t>(layout_.instruction_bytes)
          : static_cast<int64_t>(at_instruction - at_code - layout_.instructions);
  frame.code = &code;
  frame.bytes *= code.frame_bytes;
  frame.line = PythonLine(layout_.lines, code.table, code.first_line, instruction);
  return frame;
}

// Since 3.11 Python functions that call each other do so within one call of the loop.
std::optional<PythonStacks::Evaluation> PythonStacks::Evaluate(Look& look, uint64_t at) {
  Evaluation evaluation;
  while (true) {
    const auto frame = ReadFrame(look, at);
    if (!frame) return std::nullopt;
    if (frame->code != nullptr) evaluation.places.push_back({frame->code->number, frame->line});
    if (frame->bytes != 0) {
      if (!Fit(evaluation.outer, at, at + frame->bytes)) return std::nullopt;
      if (evaluation.inner == 0) {
        evaluation.inner = at;
        evaluation.inner_end = at + frame->bytes;
      }
      evaluation.outer = at;
    }
    evaluation.last = at;
    evaluation.caller = frame->previous;
    if (frame->is_last) return evaluation;
    at = frame->previous;
  }
}

std::optional<uint64_t> PythonStacks::FrameOf(Look& look, size_t i) {
  const NativeFrame& native = *look.evaluations[i];
  if (!holder_) return std::nullopt;
  if (layout_.entered == Entered::kFrame) return look.Held(native, *holder_);
  if (native.cfa == 0) return std::nullopt;
  const uint64_t at = native.cfa - holder_->place;
  if (layout_.entered == Entered::kRecord) return look.Word(at + layout_.record_current);
  // The frame of the call itself says from where it was called; where the innermost is, the thread alone
  // says.
  std::optional<uint64_t> frame;
  if (i == 0) {
    frame = Current(look);
  } else if (look.evaluations[i - 1]->cfa != 0) {
    frame = look.Word(look.evaluations[i - 1]->cfa - holder_->place + layout_.previous);
  }
  const auto evaluation = frame ? Evaluate(look, *frame) : std::nullopt;
  return evaluation && evaluation->last == at ? frame : std::nullopt;
}

// What leads to the frames stands at the same place in each call's part of the stack, by how the interpreter
// was compiled. What is read of the threads is of now: it holds when the sample has it, too.
void PythonStacks::Learn(Look& look) {
  if (layout_.entered == Entered::kFrame) return LearnOfFrames(look);
  std::optional<uint64_t> at;
  if (look.noted != nullptr) {
    at = look.noted->current;
  } else if (const auto state = StateOf(look.memory, look.tid)) {
    at = look.memory.Get<uint64_t>(*state + layout_.current);
  }
  if (at && layout_.entered == Entered::kEntry) {
    const auto evaluation = Evaluate(look, *at);
    if (!evaluation) return;
    at = evaluation->last;
  }
  if (!at) return;
  for (const NativeFrame* frame : look.evaluations) {
    if (*at < frame->stack || *at >= frame->cfa) continue;
    if (layout_.entered == Entered::kRecord) {
      const auto current = look.stack.Word(*at + layout_.record_current);
      if (!current || !Evaluate(look, *current)) continue;
    }
    holder_ = Holder{frame->cfa - *at, {}, 0};
    return;
  }
}

// Each call has the frame that it is for somewhere, or where that frame's variables begin. Calls can have
// their callers' as well, in words for registers that are to be kept: the outermost has none, and the
// innermost is the thread's.
void PythonStacks::LearnOfFrames(Look& look) {
  const uint64_t now_ns = base::MonotonicNs();
  if (look.evaluations.size() < 2 || now_ns - learned_at_ns_ < kSearchEveryNs) return;
  learned_at_ns_ = now_ns;  // it may take hundreds of reads
  const NativeFrame& innermost = *look.evaluations.front();
  std::vector<Holder> holders;
  for (size_t reg = 0; reg < innermost.registers.size(); ++reg) holders.push_back({0, reg, 0});
  const uint64_t most = innermost.cfa == 0 ? 0 : std::min(innermost.cfa - innermost.stack, kMostOfAPart);
  for (uint64_t place = 8; place <= most; place += 8) holders.push_back({place, {}, 0});
  for (Holder& holder : holders) {
    for (const uint64_t locals : {uint64_t{0}, layout_.locals}) {
      holder.locals = locals;
      if (!HoldFrames(look, holder)) continue;
      holder_ = holder;
      return;
    }
  }
}

bool PythonStacks::HoldFrames(Look& look, const Holder& holder) {
  std::optional<uint64_t> innermost, caller;
  for (const NativeFrame* frame : look.evaluations) {
    const auto at = look.Held(*frame, holder);
    if (!at || (caller && *at != *caller) || !IsFrame(look.memory, *at)) return false;
    if (!innermost) innermost = at;
    caller = look.memory.Get<uint64_t>(*at + layout_.previous);
    if (!caller) return false;
  }
  // A register is the call's own, three times in a row.
  if (holder.reg && look.evaluations.size() >= 3) return true;
  return (look.native.complete && *caller == 0) || Current(look) == innermost;
}

bool PythonStacks::IsFrame(ProcessMemory& memory, uint64_t at) const {
  if (at == 0 || at % 8 != 0 || memory.Get<uint64_t>(at + kPythonType) != parts_.frame_type) return false;
  const auto code = memory.Get<uint64_t>(at + layout_.code);
  return code && memory.Get<uint64_t>(*code + kPythonType) == parts_.code_type;
}

// The frame that the thread is in now.
std::optional<uint64_t> PythonStacks::Current(Look& look) {
  if (look.current) return *look.current;
  const auto state = StateOf(look.memory, look.tid);
  auto at = state ? look.memory.Get<uint64_t>(*state + layout_.current) : std::nullopt;
  if (at && layout_.entered == Entered::kRecord) at = look.memory.Get<uint64_t>(*at + layout_.record_current);
  look.current = at;
  return at;
}

std::optional<uint64_t> PythonStacks::StateOf(ProcessMemory& memory, pid_t tid) {
  Thread& thread = threads_[tid];
  if (thread.inner == 0) thread.inner = InnerPid(tid);
  if (thread.state != 0 && InnerOf(memory, thread.state) == thread.inner) return thread.state;
  thread.state = 0;
  if (base::MonotonicNs() - searched_at_ns_ >= kSearchEveryNs) Search(memory);
  const auto known = states_.find(thread.inner);
  if (known == states_.end() || InnerOf(memory, known->second) != thread.inner) return std::nullopt;
  thread.state = known->second;
  return thread.state;
}

std::optional<PythonThread> PythonStacks::ThreadOf(ProcessMemory& memory, pid_t tid) {
  const auto state = StateOf(memory, tid);
  if (!state) return std::nullopt;
  const uint64_t id_at = layout_.native_id != 0 ? layout_.native_id : layout_.thread_id;
  const auto id = memory.Get<uint64_t>(*state + id_at);
  if (!id) return std::nullopt;
  const auto word = [](uint64_t at) { return static_cast<uint32_t>(at); };
  return PythonThread{.tid = static_cast<uint32_t>(tid),
                      .current = word(layout_.current),
                      .record = layout_.entered == Entered::kRecord ? 1u : 0u,
                      .frame = word(layout_.record_current),
                      .code = word(layout_.code),
                      .previous = word(layout_.previous),
                      .instruction = word(layout_.instruction),
                      .mark = word(layout_.mark),
                      .id_at = word(id_at),
                      .state = *state,
                      .id = *id};
}

// It may take thousands of reads, so it takes in all threads at once: one that is none of Python's must not
// keep the next one from being found.
void PythonStacks::Search(ProcessMemory& memory) {
  searched_at_ns_ = base::MonotonicNs();
  states_.clear();
  size_t left = kMaxThreads;
  auto interpreter = memory.Get<uint64_t>(parts_.runtime + layout_.interpreters);
  for (size_t i = 0; interpreter && *interpreter != 0 && i < kMaxInterpreters; ++i) {
    auto state = memory.Get<uint64_t>(*interpreter + layout_.threads);
    for (; state && *state != 0 && left > 0; --left) {
      if (const auto inner = InnerOf(memory, *state)) states_.try_emplace(*inner, *state);
      state = memory.Get<uint64_t>(*state + layout_.next_thread);
    }
    interpreter = memory.Get<uint64_t>(*interpreter + layout_.next_interpreter);
  }
}

std::optional<pid_t> PythonStacks::InnerOf(ProcessMemory& memory, uint64_t state) const {
  if (layout_.native_id != 0) {
    const auto number = memory.Get<uint64_t>(state + layout_.native_id);
    return number ? std::optional(static_cast<pid_t>(*number)) : std::nullopt;
  }
  const auto id = memory.Get<uint64_t>(state + layout_.thread_id);
  return id ? memory.Get<int32_t>(*id + kThreadNumber) : std::nullopt;
}

}  // namespace profd::host
