// host-cpu-profile: where the processors were; host-off-cpu: where threads waited. Two files of text each
// below profd/, docs/formats.md:
//   cpu-profile.data, off-cpu.data   a line per sample: raw ns, pid, tid, cpu, period, stack
//   …-names.data                     what these numbers stand for; never aged
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "format/kind.h"

namespace profd::format {

inline constexpr std::string_view kCpuProfileFile = file::kCpuProfile;
inline constexpr std::string_view kCpuProfileNamesFile = "cpu-profile-names.data";
inline constexpr std::string_view kCpuProfileKind = NameOf(Kind::kHostCpuProfile);
inline constexpr std::string_view kOffCpuFile = file::kOffCpu;
inline constexpr std::string_view kOffCpuNamesFile = "off-cpu-names.data";
inline constexpr std::string_view kOffCpuKind = NameOf(Kind::kHostOffCpu);
inline constexpr uint64_t kLeastWaitNs = 50'000;  // shorter ones are not kept
// Innermost, like a function of the kernel, of a thread that waits because others run in its place.
inline constexpr std::string_view kWaitsForCpu = "[waits for a CPU]";

inline bool IsProfileFile(std::string_view file) {
  return file == kCpuProfileFile || file == kCpuProfileNamesFile || file == kOffCpuFile ||
         file == kOffCpuNamesFile;
}

struct CpuSample {
  uint64_t raw_ns = 0;
  int64_t pid = 0, tid = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;  // what it stands for: ns of CPU time, or cycles; off-CPU the length of the wait, ns
  uint32_t stack = 0;   // 0: none
};
std::optional<CpuSample> ParseCpuSample(std::string_view line);

// One frame of a stack, the innermost first.
struct CpuFrame {
  enum class What : uint8_t {
    kKernel,   // `number`: of the kernel's function
    kModule,   // `number`: of the module; `offset` in its file
    kPython,   // `number`: of the Python function; `offset`: the line that it is at, 0: not known
    kAddress,  // `offset`: an address in memory without a file
  };
  What what = What::kAddress;
  uint32_t number = 0;
  uint64_t offset = 0;
};
// "k12", "3+1a2b", "p7", "p7:14", "@7f0012345678"; nullopt when it is none.
std::optional<CpuFrame> ParseCpuFrame(std::string_view text);

}  // namespace profd::format
