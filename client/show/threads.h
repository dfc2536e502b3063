// Where the threads of a process are: `profctl dump`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/show/screen/table.h"
#include "profd/v1/control.pb.h"

namespace profd::client {

struct ShownFrame {
  std::string function;  // "work (train.py:12)", or a name of C++
  std::string module;    // "libc.so.6", "train.py"; "" = not known
  uint32_t line = 0;     // of Python; 0: none
  friend bool operator==(const ShownFrame&, const ShownFrame&) = default;
};

struct ShownThread {
  v1::ThreadPlace place;
  std::vector<ShownFrame> frames;  // the innermost first
};

struct ShownProcess {
  v1::StacksReply reply;
  std::vector<ShownThread> threads;
  std::vector<std::string> notes;  // what is missing, and why
};

// With the names of functions, out of files of this machine.
ShownProcess WithNames(v1::StacksReply reply);

// Threads that are at the same place are shown once, unless `look.all`.
std::string RenderThreads(const ShownProcess& process, const Look& look);

}  // namespace profd::client
