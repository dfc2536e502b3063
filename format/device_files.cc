#include "format/device_files.h"

#include <cstring>

#include "format/kind.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

namespace {

constexpr std::string_view kFolder = "data/";  // some versions name the folder, too
constexpr size_t kMostPidDigits = 10;

}  // namespace

std::optional<DeviceFile> DeviceFileOf(std::string_view name) {
  if (name == file::kSystemCpu) return DeviceFile::kSystemCpu;
  if (name == file::kSystemMemory) return DeviceFile::kSystemMemory;
  if (name == file::kCpuSamples) return DeviceFile::kCpuProfile;
  const size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits > kMostPidDigits || digits == name.npos || name.front() == '0') return {};
  const std::string_view rest = name.substr(digits);
  if (rest == file::kProcessCpu) return DeviceFile::kProcessCpu;
  if (rest == file::kProcessMemory) return DeviceFile::kProcessMemory;
  return {};
}

std::optional<FilePiece> ReadFilePiece(const std::byte* packet) {
  const auto size = Load<uint64_t>(packet + offsetof(AdprofPacket, chunk_size));
  if (size > sizeof AdprofPacket::chunk) return {};
  const auto* const name = reinterpret_cast<const char*>(packet + offsetof(AdprofPacket, file_name));
  std::string_view file(name, ::strnlen(name, sizeof AdprofPacket::file_name));
  if (file.starts_with(kFolder)) file.remove_prefix(kFolder.size());
  const auto what = DeviceFileOf(file);
  if (!what) return {};
  const auto* const text = reinterpret_cast<const char*>(packet + offsetof(AdprofPacket, chunk));
  return FilePiece{*what, file, {text, static_cast<size_t>(size)}};
}

}  // namespace profd::format
