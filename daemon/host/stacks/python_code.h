// What a code object of CPython says of its function: name, file, and which line an instruction is of. Total
// on whatever the process has in its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/host/stacks/process_memory.h"
#include "daemon/host/stacks/python_layout.h"

namespace profd::host {

struct PythonFunction {
  std::string name, file;
  uint32_t line = 0;  // where it begins
};

struct PythonCode {
  PythonFunction function;
  std::string table;  // of its lines, as CPython has it; "": too long
  // Of its frames where those are on a stack of their own, each behind its caller's; 0: they are objects.
  uint64_t frame_bytes = 0;
};

// nullopt: there is none, or none that can be read. `code_type`: what its type must be.
std::optional<PythonCode> ReadPythonCode(ProcessMemory& memory, const PythonLayout& layout,
                                         uint64_t code_type, uint64_t at);

// Of the instruction that many bytes behind the first; in front of it: where the function begins. 0: of no
// line.
uint32_t PythonLine(PythonLayout::Lines lines, std::string_view table, uint32_t first_line, int64_t at);

}  // namespace profd::host
