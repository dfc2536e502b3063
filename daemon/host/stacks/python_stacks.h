// Which Python functions a CPython was in, and at which lines, for the calls of its evaluation loop that a
// stack has. What a sample's own copy of the stack holds is of its moment, and so are the frames that the
// kernel has noted. Where it has noted none, the interpreter's frames are read a little later.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/host/events/python_probe.h"
#include "daemon/host/stacks/elf_image.h"
#include "daemon/host/stacks/process_memory.h"
#include "daemon/host/stacks/python_code.h"
#include "daemon/host/stacks/python_layout.h"
#include "daemon/host/stacks/unwinder.h"

namespace profd::host {

// One interpreter in one process.
// **Thread:** one. Bounded, and total on whatever the process has in its memory.
class PythonStacks {
 public:
  using NumberOf = std::function<uint32_t(const PythonFunction&)>;
  struct Place {
    uint32_t function = 0;  // its number
    uint32_t line = 0;      // 0: not known
  };
  using Places = std::vector<Place>;  // innermost first
  struct Found {
    // For each frame that evaluates, in order; empty where it is not known.
    std::vector<Places> evaluations;
    // Of a stack that ends before the thread's begin: the functions beyond …
    Places callers;
    // … down to the first that the thread was in.
    bool to_the_first = false;
  };

  // Where its parts are.
  struct Parts {
    uint64_t runtime = 0, code_type = 0, frame_type = 0;
    uint64_t evaluation_begin = 0, evaluation_end = 0;
  };
  PythonStacks(const PythonLayout& layout, const Parts& parts) : layout_(layout), parts_(parts) {}
  // nullopt: this file is no Python that can be read.
  static std::optional<PythonStacks> Find(ProcessMemory& memory, const ElfImage& image, uint64_t bias);

  bool Evaluates(uint64_t address) const {
    return address >= parts_.evaluation_begin && address < parts_.evaluation_end;
  }
  // Of a sample of this thread. `number` gives a function its number, once. `noted`: its frames at the
  // sample.
  Found Of(ProcessMemory& memory, pid_t tid, const NativeStack& native, const StackCopy& stack,
           const NumberOf& number, const PythonFrames* noted = nullptr);
  // What the kernel needs to know of a thread to note its frames; nullopt: it has none, or is not known yet.
  std::optional<PythonThread> ThreadOf(ProcessMemory& memory, pid_t tid);

 private:
  struct Code {
    uint32_t number = 0, first_line = 0;
    std::string table;
    uint64_t frame_bytes = 0;
  };
  struct Frame {
    const Code* code = nullptr;  // nullptr: of no function
    uint64_t previous = 0;
    uint32_t line = 0;
    bool is_last = false;  // of a call of the loop
    uint64_t bytes = 0;    // 0: it is not on the interpreter's stack
  };
  // What one call of the loop was in.
  struct Evaluation {
    Places places;
    uint64_t last = 0, caller = 0;                 // frames
    uint64_t inner = 0, inner_end = 0, outer = 0;  // of those on the interpreter's stack; 0: none is
  };
  struct Thread {
    pid_t inner = 0;  // as its own namespace numbers it
    uint64_t state = 0;
  };
  // What leads to a call's frame: a word of its part of the stack, or a register.
  struct Holder {
    uint64_t place = 0;  // from the CFA down; 0: none
    std::optional<size_t> reg = {};
    uint64_t locals = 0;  // it is where the frame's variables begin, that far behind it
  };
  struct Look;  // one sample's

  std::optional<Frame> ReadFrame(Look& look, uint64_t at);
  std::optional<Frame> NotedFrame(Look& look, uint64_t at, bool& is_noted);
  std::optional<Frame> FrameOfCode(Look& look, uint64_t code, uint64_t instruction, Frame frame);
  std::optional<Evaluation> Evaluate(Look& look, uint64_t frame);
  std::optional<uint64_t> FrameOf(Look& look, size_t evaluation);
  void TakeCurrent(Look& look, std::vector<Places>& evaluations);
  void Learn(Look& look);
  void LearnOfFrames(Look& look);
  bool HoldFrames(Look& look, const Holder& holder);
  bool IsFrame(ProcessMemory& memory, uint64_t at) const;
  std::optional<uint64_t> Current(Look& look);
  std::optional<uint64_t> StateOf(ProcessMemory& memory, pid_t tid);
  void Search(ProcessMemory& memory);
  // Of a thread's state: the number of the thread in its own namespace.
  std::optional<pid_t> InnerOf(ProcessMemory& memory, uint64_t state) const;
  void Forget();

  PythonLayout layout_;
  Parts parts_;
  std::optional<Holder> holder_;  // once it is known
  std::unordered_map<uint64_t, Code> codes_;
  std::unordered_map<pid_t, Thread> threads_;
  std::unordered_map<pid_t, uint64_t> states_;  // of the last search: by the threads' own numbers
  size_t table_bytes_ = 0;
  uint64_t known_since_ns_ = 0, learned_at_ns_ = 0, searched_at_ns_ = 0;
};

}  // namespace profd::host
