// The small languages of the command line. Every error is one line: what was given, what is expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "profd/v1/agent.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// "hbm,pcie=100Hz,llc:write=50Hz": kind, mode where it has one, rate (Hz or kHz).
base::Result<std::vector<v1::KindRequest>> ParseCollect(std::string_view text);

// "500ms", "10s", "1.5m", "1h", "2d". `option` names it in errors.
base::Result<uint64_t> ParseDurationNs(std::string_view option, std::string_view text);

// "+3s" from now, or "@1763791200.5", seconds since 1970: as wall ns. Less than an hour ahead.
base::Result<uint64_t> ParseInstant(std::string_view text, uint64_t now_wall_ns);

// 1 to `most`.
base::Result<size_t> ParseCount(std::string_view option, std::string_view text, size_t most);

// "5%", "5" → 5.
base::Result<double> ParsePercent(std::string_view option, std::string_view text);

// "500MB", "2GB", "1GiB": 200 MB to 4294967295 MB.
base::Result<uint64_t> ParseStorageLimit(std::string_view text);
// "hbm,pcie=16MB", "host-cpu=1MiB:first".
base::Result<v1::MemoryBuffer> ParseBuffer(std::string_view text);

// "age", "pause" or "stop".
base::Result<v1::OnFull> ParseOnFull(std::string_view text);

// "exit" or "crash".
base::Result<v1::SnapshotOn> ParseSnapshotOn(std::string_view text);

// "1234,5678"; each once.
base::Result<std::vector<int32_t>> ParsePids(std::string_view text);

struct DeviceList {
  bool all = false;
  std::vector<uint32_t> devices;  // ascending, each once
};
// "all" or "0,1".
// "run-%q{USER}" with what the environment has there; the rest stays.
base::Result<std::string> WithEnvironment(std::string_view option, std::string_view text);
// … and "%p" as `pid` (0: none), "%h" as this host, "%n" as the lowest number of which nothing is there yet.
base::Result<std::string> WithNames(std::string_view option, std::string_view text, int32_t pid);
base::Result<DeviceList> ParseDevices(std::string_view text);

// "key=value".
base::Result<std::pair<std::string, std::string>> ParseLabel(std::string_view text);

// "skip_first=2,wait=1,warmup=1,active=3,repeat=2": any of them, active at least.
base::Result<v1::StepSchedule> ParseSteps(std::string_view text);

// "with-stack,profiler-level=Level2": what each is, the daemon knows.
base::Result<std::map<std::string, std::string>> ParseFrameworkOptions(std::string_view text);

// "a,b" of --agent-domains, "c" of --agent-domains-exclude: one of the two at most.
base::Result<v1::DomainFilter> ParseDomains(std::string_view only, std::string_view exclude);

// A name for people: at most 128 bytes of UTF-8 without control characters.
base::Status CheckName(std::string_view option, std::string_view text);

// The socket from --socket, else PROFD_ADDRESS (may start with "unix:"), else the default.
base::Result<std::string> SocketPath(std::string_view option, const char* environment);

}  // namespace profd::client
