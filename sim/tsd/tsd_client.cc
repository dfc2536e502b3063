// The simulated launcher of processes on devices, libtsdclient.so: what the vendor's collector and profd call
// of it. The devices are those of the simulated driver in the same process.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/hal/channels/faults.h"
#include "sim/hal/exports/export.h"

using profd::sim::Call;

extern "C" {
bool halSimFails(Call call, unsigned device, void* answer, size_t bytes, int* result);
bool halSimCanOpenProcess();
int halSimOpenProcess(unsigned device, const char* const* texts, const size_t* sizes, size_t count,
                      int* process);
bool halSimProcessRuns(unsigned device, int process);
int halSimCloseProcess(unsigned device, int process);
}

namespace {

constexpr int32_t kAdprof = 8;
constexpr int32_t kCanAdprof = 5;
constexpr uint32_t kOk = 0, kInternalError = 1;
constexpr int32_t kNormal = 0, kExited = 1;

struct Argument {
  const char* text;
  uint64_t bytes;
};
struct OpenRequest {
  int32_t type;
  void* environment;
  uint64_t environment_count;
  const char* path;
  uint64_t path_bytes;
  const Argument* arguments;
  uint64_t argument_count;
  pid_t* process;
};
struct ProcessState {
  pid_t process;
  int32_t type;
  int32_t state;
};

std::optional<uint32_t> Fault(Call call, uint32_t device, void* answer = nullptr, size_t bytes = 0) {
  int result = 0;
  if (!halSimFails(call, device, answer, bytes, &result)) return std::nullopt;
  return static_cast<uint32_t>(result);
}

}  // namespace

PROFD_SIM_EXPORT uint32_t TsdCapabilityGet(uint32_t device, int32_t type, uint64_t answer) {
  if (type != kCanAdprof || answer == 0) return kInternalError;
  void* const to = reinterpret_cast<bool*>(answer);
  if (const auto fault = Fault(Call::kCanProcess, device, to, sizeof(bool))) return *fault;
  *static_cast<bool*>(to) = halSimCanOpenProcess();
  return kOk;
}

PROFD_SIM_EXPORT uint32_t TsdProcessOpen(uint32_t device, const OpenRequest* request) {
  if (request == nullptr || request->type != kAdprof || request->process == nullptr) return kInternalError;
  if (const auto fault = Fault(Call::kOpenProcess, device, request->process, sizeof *request->process))
    return *fault;
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (uint64_t i = 0; i < request->argument_count; ++i) {
    texts.push_back(request->arguments[i].text);
    sizes.push_back(request->arguments[i].bytes);
  }
  return static_cast<uint32_t>(
      halSimOpenProcess(device, texts.data(), sizes.data(), texts.size(), request->process));
}

PROFD_SIM_EXPORT uint32_t TsdGetProcListStatus(uint32_t device, ProcessState* states, uint32_t count) {
  if (states == nullptr || count == 0) return kInternalError;
  if (const auto fault = Fault(Call::kProcessStates, device, states, count * sizeof *states)) return *fault;
  for (uint32_t i = 0; i < count; ++i) {
    states[i].state = halSimProcessRuns(device, states[i].process) ? kNormal : kExited;
  }
  return kOk;
}

PROFD_SIM_EXPORT uint32_t ProcessCloseSubProcList(uint32_t device, const ProcessState* states,
                                                  uint32_t count) {
  if (states == nullptr || count == 0) return kInternalError;
  if (const auto fault = Fault(Call::kCloseProcess, device)) return *fault;
  uint32_t result = kOk;
  for (uint32_t i = 0; i < count; ++i) {
    const int code = halSimCloseProcess(device, states[i].process);
    if (code != 0) result = static_cast<uint32_t>(code);
  }
  return result;
}
