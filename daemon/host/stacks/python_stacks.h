// Which Python functions a CPython 3.11 was in, for the calls of its evaluation loop that a stack has. What a
// sample's own copy of the stack holds is of its moment; the interpreter's frames are read a little later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/host/stacks/elf_image.h"
#include "daemon/host/stacks/process_memory.h"
#include "daemon/host/stacks/unwinder.h"

namespace profd::host {

struct PythonFunction {
  std::string name, file;
  uint32_t line = 0;  // where it begins
};

// One interpreter in one process.
// **Thread:** one. Bounded, and total on whatever the process has in its memory.
class PythonStacks {
 public:
  using NumberOf = std::function<uint32_t(const PythonFunction&)>;

  // nullopt: this file is no Python 3.11.
  static std::optional<PythonStacks> Find(ProcessMemory& memory, const ElfImage& image, uint64_t bias);

  bool Evaluates(uint64_t address) const { return address >= evaluation_begin_ && address < evaluation_end_; }
  // For each frame of `frames` that evaluates, in order: numbers of its functions, innermost first; empty
  // where it is not known. `number` gives a function its number, once.
  std::vector<std::vector<uint32_t>> Of(ProcessMemory& memory, const std::vector<NativeFrame>& frames,
                                        const StackCopy& stack, const NumberOf& number);

 private:
  bool LearnPlace(ProcessMemory& memory, const std::vector<NativeFrame>& frames, const StackCopy& stack,
                  const NumberOf& number);
  std::vector<uint32_t> From(ProcessMemory& memory, uint64_t frame, const NumberOf& number);
  std::optional<PythonFunction> ReadCode(ProcessMemory& memory, uint64_t code) const;

  uint64_t runtime_ = 0, code_type_ = 0;
  uint64_t evaluation_begin_ = 0, evaluation_end_ = 0;
  uint64_t place_ =
      0;  // of the record of an evaluation in its part of the stack, from the CFA down; 0: not known
  std::unordered_map<uint64_t, uint32_t> codes_;
  uint64_t codes_since_ns_ = 0, tried_at_ns_ = 0;
};

}  // namespace profd::host
