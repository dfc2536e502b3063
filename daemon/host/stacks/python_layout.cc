#include "daemon/host/stacks/python_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace profd::host {

namespace {

using Entered = PythonLayout::Entered;
using Lines = PythonLayout::Lines;

// By the headers of 3.8.8, 3.9.2, 3.10.0b2, 3.11.7 and 3.12.5: offsetof() of _PyRuntimeState,
// PyInterpreterState, PyThreadState, CFrame, PyFrameObject or _PyInterpreterFrame, PyCodeObject.
constexpr PythonLayout kLayouts[] = {
    {.version = 0x0308,
     .entered = Entered::kFrame,
     .lines = Lines::kPairs,
     .interpreters = 32,
     .next_interpreter = 0,
     .threads = 8,
     .next_thread = 8,
     .thread_id = 176,
     .native_id = 0,
     .current = 24,
     .record_current = 0,
     .code = 32,
     .previous = 24,
     .instruction = 104,
     .instruction_bytes = 1,
     .mark = 0,
     .locals = 360,
     .first_line = 40,
     .file_name = 104,
     .name = 112,
     .table = 120,
     .instructions = 0,
     .ascii_bytes = 48,
     .compact_bytes = 72},
    {.version = 0x0309,
     .entered = Entered::kFrame,
     .lines = Lines::kPairs,
     .interpreters = 32,
     .next_interpreter = 0,
     .threads = 8,
     .next_thread = 8,
     .thread_id = 176,
     .native_id = 0,
     .current = 24,
     .record_current = 0,
     .code = 32,
     .previous = 24,
     .instruction = 104,
     .instruction_bytes = 1,
     .mark = 0,
     .locals = 360,
     .first_line = 40,
     .file_name = 104,
     .name = 112,
     .table = 120,
     .instructions = 0,
     .ascii_bytes = 48,
     .compact_bytes = 72},
    {.version = 0x030a,
     .entered = Entered::kFrame,
     .lines = Lines::kRanges,
     .interpreters = 32,
     .next_interpreter = 0,
     .threads = 8,
     .next_thread = 8,
     .thread_id = 176,
     .native_id = 0,
     .current = 24,
     .record_current = 0,
     .code = 32,
     .previous = 24,
     .instruction = 96,
     .instruction_bytes = 2,
     .mark = 0,
     .locals = 352,
     .first_line = 40,
     .file_name = 104,
     .name = 112,
     .table = 120,
     .instructions = 0,
     .ascii_bytes = 48,
     .compact_bytes = 72},
    {.version = 0x030b,
     .entered = Entered::kRecord,
     .lines = Lines::kLocations,
     .interpreters = 40,
     .next_interpreter = 0,
     .threads = 16,
     .next_thread = 8,
     .thread_id = 152,
     .native_id = 160,
     .current = 56,
     .record_current = 8,
     .code = 32,
     .previous = 48,
     .instruction = 56,
     .instruction_bytes = 0,
     .mark = 68,
     .locals = 0,
     .first_line = 72,
     .file_name = 112,
     .name = 128,
     .table = 136,
     .instructions = 184,
     .ascii_bytes = 48,
     .compact_bytes = 72},
    {.version = 0x030c,
     .entered = Entered::kRecord,
     .lines = Lines::kLocations,
     .interpreters = 40,
     .next_interpreter = 0,
     .threads = 72,
     .next_thread = 8,
     .thread_id = 136,
     .native_id = 144,
     .current = 56,
     .record_current = 0,
     .code = 0,
     .previous = 8,
     .instruction = 56,
     .instruction_bytes = 0,
     .mark = 70,
     .locals = 0,
     .first_line = 68,
     .file_name = 112,
     .name = 128,
     .table = 136,
     .instructions = 192,
     .ascii_bytes = 40,
     .compact_bytes = 56},
};

// What a 3.13 says of itself at the beginning of _PyRuntime (_Py_DebugOffsets of its pycore_runtime.h).
constexpr uint32_t kSaysItself = 0x030d;
struct SaidBy313 {
  char cookie[8];
  uint64_t version, free_threaded;
  uint64_t runtime_bytes, finalizing, interpreters;
  uint64_t interpreter_bytes, id, next_interpreter, threads, others[9];
  uint64_t thread_bytes, previous_thread, next_thread, interpreter, current, thread_id, native_id,
      other_of_thread[2];
  uint64_t frame_bytes, previous, code, instruction, locals, owner;
  uint64_t code_bytes, file_name, name, qualified_name, table, first_line, arguments, local_names,
      local_kinds, instructions;
  uint64_t object_bytes, type;
  uint64_t other_types[4 + 3 + 3 + 3 + 2 + 3];
  uint64_t bytes_bytes, bytes_size, bytes_value;
  uint64_t text_bytes, text_state, text_length, ascii_bytes;
};
constexpr uint64_t kFurthest = 1 << 20;

std::optional<PythonLayout> LayoutOf313(ProcessMemory& memory, uint64_t runtime) {
  const auto said = memory.Get<SaidBy313>(runtime);
  if (!said || std::memcmp(said->cookie, "xdebugpy", sizeof said->cookie) != 0 ||
      said->version >> 16 != kSaysItself || said->free_threaded != 0 || said->type != kPythonType)
    return std::nullopt;
  const PythonLayout layout{.version = kSaysItself,
                            .entered = Entered::kEntry,
                            .lines = Lines::kLocations,
                            .interpreters = said->interpreters,
                            .next_interpreter = said->next_interpreter,
                            .threads = said->threads,
                            .next_thread = said->next_thread,
                            .thread_id = said->thread_id,
                            .native_id = said->native_id,
                            .current = said->current,
                            .record_current = 0,
                            .code = said->code,
                            .previous = said->previous,
                            .instruction = said->instruction,
                            .instruction_bytes = 0,
                            .mark = said->owner,
                            .locals = 0,
                            .first_line = said->first_line,
                            .file_name = said->file_name,
                            .name = said->qualified_name,
                            .table = said->table,
                            .instructions = said->instructions,
                            .ascii_bytes = said->ascii_bytes,
                            .compact_bytes = said->ascii_bytes + 16};
  for (const uint64_t at : {layout.code, layout.previous, layout.instruction, layout.mark})
    if (at > kPythonFrameBytes - sizeof(uint64_t)) return std::nullopt;
  for (const uint64_t at : {layout.first_line, layout.file_name, layout.name, layout.table})
    if (at > kPythonCodeBytes - sizeof(uint64_t)) return std::nullopt;
  for (const uint64_t at : {layout.interpreters, layout.next_interpreter, layout.threads, layout.next_thread,
                            layout.native_id, layout.current, layout.instructions, layout.ascii_bytes})
    if (at > kFurthest) return std::nullopt;
  return layout;
}

// Those before 3.11 do not say which they are: by functions that came with each (C API, "New in version").
uint32_t VersionOf(ProcessMemory& memory, const ElfImage& image, uint64_t bias) {
  if (const auto said = image.Find(memory, bias, "Py_Version"))
    return static_cast<uint32_t>(memory.Get<uint64_t>(bias + said->address).value_or(0) >> 16);
  constexpr std::pair<std::string_view, uint32_t> kCameWith[] = {
      {"PyIter_Send", 0x030a}, {"PyFrame_GetBack", 0x0309}, {"PyCode_NewWithPosOnlyArgs", 0x0308}};
  for (const auto& [function, version] : kCameWith)
    if (image.Find(memory, bias, function)) return version;
  return 0;
}

}  // namespace

std::span<const PythonLayout> PythonLayouts() { return kLayouts; }

bool ReadsPython(std::string_view version) {
  const auto is = [version](uint32_t known) {
    const std::string text = std::to_string(known >> 8) + '.' + std::to_string(known & 0xff);
    return version == text || version.starts_with(text + '.');
  };
  return is(kSaysItself) || std::ranges::any_of(kLayouts, is, &PythonLayout::version);
}

std::optional<PythonLayout> FindPythonLayout(ProcessMemory& memory, const ElfImage& image, uint64_t bias,
                                             uint64_t runtime) {
  const uint32_t version = VersionOf(memory, image, bias);
  if (version == kSaysItself) return LayoutOf313(memory, runtime);
  const auto row = std::ranges::find(kLayouts, version, &PythonLayout::version);
  if (row == std::end(kLayouts)) return std::nullopt;
  return *row;
}

}  // namespace profd::host
