#include "daemon/host/stacks/python_stacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/clock.h"

namespace profd::host {

namespace {

// Places in the structures of CPython 3.11 on machines of 64 bits.
namespace py311 {
constexpr uint64_t kVersion = 0x030b;  // the upper half of Py_Version
constexpr uint64_t kInterpreters = 40;
constexpr uint64_t kThreads = 16;                        // of an interpreter
constexpr uint64_t kNextThread = 8, kThreadCFrame = 56;  // of a thread
constexpr uint64_t kCurrentFrame = 8;                    // of a CFrame, which lies on the stack
constexpr size_t kFrameBytes = 72;                       // of a frame, what is looked at:
constexpr size_t kCode = 32, kPrevious = 48, kIsEntry = 68;
constexpr size_t kCodeBytes = 136;  // of a code object:
constexpr size_t kType = 8, kFirstLine = 72, kFileName = 112, kName = 128;
constexpr size_t kTextBytes = 48;  // of a text:
constexpr size_t kLength = 16, kState = 32;
constexpr uint64_t kCompactText = 72;
}  // namespace py311

constexpr size_t kMaxThreads = 1024, kMaxFrames = 128, kMaxCodes = 1 << 14;
constexpr uint64_t kMaxCharacters = 300;
constexpr uint64_t kLearnEveryNs = 100'000'000;
constexpr uint64_t kCodesLastNs = 10'000'000'000;  // then their memory may be another's

template <typename T, size_t N>
T At(const std::array<std::byte, N>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void AppendCharacter(std::string& text, uint32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | character >> 6);
    text += static_cast<char>(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | character >> 12);
    text += static_cast<char>(0x80 | (character >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (character & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (character >> 18 & 7));
    text += static_cast<char>(0x80 | (character >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (character >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (character & 0x3f));
  }
}

std::optional<std::string> ReadText(ProcessMemory& memory, uint64_t at) {
  const auto head = memory.Get<std::array<std::byte, py311::kTextBytes>>(at);
  if (!head) return std::nullopt;
  const auto state = At<uint32_t>(*head, py311::kState);
  const uint32_t width = state >> 2 & 7;
  const bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
  const uint64_t length = std::min(At<uint64_t>(*head, py311::kLength), kMaxCharacters);
  if (!compact || (width != 1 && width != 2 && width != 4)) return std::nullopt;
  std::array<std::byte, 4 * kMaxCharacters> bytes;
  const auto wanted = std::span(bytes).first(length * width);
  if (memory.Read(at + (ascii ? py311::kTextBytes : py311::kCompactText), wanted) != wanted.size())
    return std::nullopt;
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    uint32_t character = 0;
    std::memcpy(&character, bytes.data() + i * width, width);
    AppendCharacter(text, character);
  }
  return text;
}

}  // namespace

std::optional<PythonStacks> PythonStacks::Find(ProcessMemory& memory, const ElfImage& image, uint64_t bias) {
  const auto version = image.Find(memory, bias, "Py_Version");
  const auto number = version ? memory.Get<uint64_t>(bias + version->address) : std::nullopt;
  if (!number || *number >> 16 != py311::kVersion) return std::nullopt;
  const auto runtime = image.Find(memory, bias, "_PyRuntime");
  const auto evaluation = image.Find(memory, bias, "_PyEval_EvalFrameDefault");
  const auto code_type = image.Find(memory, bias, "PyCode_Type");
  if (!runtime || !evaluation || !code_type) return std::nullopt;
  PythonStacks python;
  python.runtime_ = bias + runtime->address;
  python.code_type_ = bias + code_type->address;
  python.evaluation_begin_ = bias + evaluation->address;
  python.evaluation_end_ = python.evaluation_begin_ + evaluation->bytes;
  return python;
}

// Each call of the loop keeps a record of itself, a CFrame, in its part of the stack, all at the same place;
// the threads' states say where the newest ones are. That is by now: it holds when the sample has a frame of
// the interpreter there, too.
bool PythonStacks::LearnPlace(ProcessMemory& memory, const std::vector<NativeFrame>& frames,
                              const StackCopy& stack, const NumberOf& number) {
  const uint64_t now_ns = base::MonotonicNs();
  if (now_ns - tried_at_ns_ < kLearnEveryNs) return false;  // it may take a thousand reads
  tried_at_ns_ = now_ns;
  const auto interpreter = memory.Get<uint64_t>(runtime_ + py311::kInterpreters);
  auto thread = interpreter ? memory.Get<uint64_t>(*interpreter + py311::kThreads) : std::nullopt;
  for (size_t i = 0; thread && *thread != 0 && i < kMaxThreads; ++i) {
    const auto record = memory.Get<uint64_t>(*thread + py311::kThreadCFrame);
    for (const NativeFrame& frame : frames) {
      if (!record || !Evaluates(frame.address) || *record < frame.stack || *record >= frame.cfa) continue;
      const auto current = stack.Word(*record + py311::kCurrentFrame);
      if (!current || From(memory, *current, number).empty()) continue;
      place_ = frame.cfa - *record;
      return true;
    }
    thread = memory.Get<uint64_t>(*thread + py311::kNextThread);
  }
  return false;
}

std::vector<std::vector<uint32_t>> PythonStacks::Of(ProcessMemory& memory,
                                                    const std::vector<NativeFrame>& frames,
                                                    const StackCopy& stack, const NumberOf& number) {
  const uint64_t now_ns = base::MonotonicNs();
  if (codes_.size() >= kMaxCodes || now_ns - codes_since_ns_ > kCodesLastNs) {
    codes_.clear();
    codes_since_ns_ = now_ns;
  }
  std::vector<std::vector<uint32_t>> functions;
  for (const NativeFrame& frame : frames) {
    if (!Evaluates(frame.address)) continue;
    functions.emplace_back();
    if (frame.cfa == 0 || (place_ == 0 && !LearnPlace(memory, frames, stack, number))) continue;
    const uint64_t record = frame.cfa - place_;
    auto current = stack.Word(record + py311::kCurrentFrame);
    // Deeper than the copy goes: what is there now is most likely what was there.
    if (!current) current = memory.Get<uint64_t>(record + py311::kCurrentFrame);
    if (current) functions.back() = From(memory, *current, number);
  }
  return functions;
}

// Python functions that call each other do so within one call of the loop, up to the one that entered it.
std::vector<uint32_t> PythonStacks::From(ProcessMemory& memory, uint64_t frame, const NumberOf& number) {
  std::vector<uint32_t> functions;
  while (frame != 0 && frame % 8 == 0 && functions.size() < kMaxFrames) {
    const auto bytes = memory.Get<std::array<std::byte, py311::kFrameBytes>>(frame);
    if (!bytes) return {};
    const auto code = At<uint64_t>(*bytes, py311::kCode);
    auto known = codes_.find(code);
    if (known == codes_.end()) {
      const auto function = ReadCode(memory, code);
      if (!function) return {};
      known = codes_.emplace(code, number(*function)).first;
    }
    functions.push_back(known->second);
    if (At<uint8_t>(*bytes, py311::kIsEntry) != 0) break;
    frame = At<uint64_t>(*bytes, py311::kPrevious);
  }
  return functions;
}

std::optional<PythonFunction> PythonStacks::ReadCode(ProcessMemory& memory, uint64_t code) const {
  const auto bytes = memory.Get<std::array<std::byte, py311::kCodeBytes>>(code);
  if (!bytes || At<uint64_t>(*bytes, py311::kType) != code_type_) return std::nullopt;
  auto name = ReadText(memory, At<uint64_t>(*bytes, py311::kName));
  auto file = ReadText(memory, At<uint64_t>(*bytes, py311::kFileName));
  if (!name || !file) return std::nullopt;
  const auto line = static_cast<uint32_t>(std::max(0, At<int32_t>(*bytes, py311::kFirstLine)));
  return PythonFunction{std::move(*name), std::move(*file), line};
}

}  // namespace profd::host
