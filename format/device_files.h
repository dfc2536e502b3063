// Files of the device's own system on their way to the host (channel 145): packets, each with a piece of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace profd::format {

enum class DeviceFile : uint8_t {
  kSystemCpu,      // SystemCpuUsage.data
  kSystemMemory,   // Memory.data
  kProcessCpu,     // 4711-CpuUsage.data
  kProcessMemory,  // 4711-Memory.data
  kCpuProfile,     // ai_ctrl_cpu.data
};

struct FilePiece {
  DeviceFile what = DeviceFile::kSystemCpu;
  std::string_view file;  // its name without a folder; in the packet, as is the text
  std::string_view text;
};

// Of one AdprofPacket; nullopt where it holds no piece of a file that the vendor's process writes. The name
// decides which file profd writes, so that only names of the vendor's pass.
std::optional<FilePiece> ReadFilePiece(const std::byte* packet);
// What a file of such a name is; nullopt for any other.
std::optional<DeviceFile> DeviceFileOf(std::string_view name);

}  // namespace profd::format
