// Functions of Python that the framework's tracer saw begin and end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/export/framework/input/calls.h"

namespace profd::client::framework {

struct PythonSpan {
  int64_t begin = 0, end = 0;
  Ref thread = 0;
  std::string name;
  uint64_t id = 0, parent = 0;     // its call's number on its thread; 0: none
  std::optional<uint64_t> module;  // which one of its class, on its thread
};

// An end belongs to whatever ran last: its name is not compared. What is open at the end of a thread ends
// with the last call there. Thread by thread, each by ends.
std::vector<PythonSpan> ReplayPython(const Calls& calls);

}  // namespace profd::client::framework
