// Calls of operators as PyTorch's own profiler (kineto) writes them: *.pt.trace.json.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "client/export/framework/input/folder.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"

namespace profd::client::framework {

// profd.torch lets it write here, beside the PROF directory.
inline constexpr char kTorchTrace[] = "torch_operators.pt.trace.json";

// Texts are good during the call.
struct TorchCall {
  int64_t begin = 0, end = 0;  // wall clock
  uint64_t pid = 0, tid = 0, forward_tid = 0;
  int64_t sequence = -1;
  std::string name, types, dims, stack, modules, flops;  // "2,3;4;": of each input; "": it was not asked for
  bool has_types = false, has_dims = false, has_stack = false, has_modules = false, has_flops = false;
};

// What is damaged is left out and said in `report`.
void ReadTorchTrace(const Folder& folder, Report& report, Progress& progress,
                    const std::function<void(const TorchCall&)>& take);

}  // namespace profd::client::framework
