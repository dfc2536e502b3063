// What is said on the dynolog fabric. Sources: pytorch/kineto, libkineto/src/IpcFabricConfigClient.cpp;
// facebookincubator/dynolog, dynolog/src/ipcfabric/Messages.h; Ascend/msmonitor, plugin/ipc_monitor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace profd::fabric {

inline constexpr size_t kHeaderBytes = 40;  // u64 size of the body, char type[32]
inline constexpr size_t kMostBytes = 4096;  // of a datagram to us
inline constexpr size_t kMostPids = 16;     // clients name 11 at most
inline constexpr uint32_t kActivities = 2;  // of Poll::kinds: takes a config now
inline constexpr uint32_t kOfMonitor = 3;   // … what msMonitor's clients always say

// "ctxt": a client is there.
struct Registration {
  int32_t rank = 0, pid = 0;
  int64_t job = 0;
};
// "req": is there something to record? Its own pid first, then its parents, in its own pid namespace.
struct Poll {
  uint32_t kinds = 0;
  int64_t job = 0;
  std::vector<int32_t> pids;
};
// "npuTraceStatus", "npuMonitorStatus": how far what was ordered is.
struct Report {
  enum Status : int32_t { kUninitialized = -1, kIdle, kRunning, kReady };
  bool of_trace = true;
  int32_t status = kIdle;
  int32_t step = -1, first = -1, last = -1;  // of a training loop; -1: not known
};

// Why nothing was made of a datagram.
enum class Drop : uint8_t {
  kLength,   // shorter than a header, or longer than any client sends
  kSize,     // says another size than it has
  kType,     // no text, or one that no client sends
  kBody,     // not as its type has it
  kSender,   // the kernel does not say who, or it has no address that is answered here
  kTooFast,  // its user says more than profd listens to
};
inline constexpr size_t kDrops = 6;
const char* DropName(Drop drop);  // "size"

using Message = std::variant<Drop, Registration, Poll, Report>;
Message Read(std::span<const uint8_t> datagram);

// Answers, whole datagrams.
std::string RegisteredAnswer(int32_t processes);
std::string PollAnswer(std::string_view config);  // "": nothing to do

}  // namespace profd::fabric
