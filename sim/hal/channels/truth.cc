#include "sim/hal/channels/truth.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>

namespace profd::sim {
namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
    table[i] = value;
  }
  return table;
}();

}  // namespace

uint32_t Crc32(uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

Truth::~Truth() {
  if (fd_ >= 0) ::close(fd_);
}

bool Truth::Open(const std::string& file) {
  fd_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  return fd_ >= 0;
}

void Truth::Write(uint32_t device, uint32_t channel, const Sample& sample, bool dropped) {
  char head[160];
  const int size = std::snprintf(head, sizeof head,
                                 R"({"device":%u,"channel":%u,"k":%)" PRIu64 R"(,"host_raw_ns":%)" PRIu64
                                 R"(,"stamp":%)" PRIu64 R"(,"values":{)",
                                 device, channel, sample.number, sample.host_raw_ns, sample.stamp);
  const std::lock_guard lock(mutex_);
  lines_.append(head, static_cast<size_t>(size));
  lines_ += sample.values();
  lines_ += dropped ? "},\"dropped\":true}\n" : "}}\n";
}

void Truth::WriteStart(uint32_t device, uint32_t channel, const StartRequest& request) {
  if (!on()) return;
  std::string hex;
  for (const char byte : request.payload) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<uint8_t>(byte)));
    hex += digits;
  }
  char head[160];
  const int size = std::snprintf(head, sizeof head,
                                 R"({"event":"start","device":%u,"channel":%u,"host_raw_ns":%)" PRIu64
                                 R"(,"period_ms":%u,"user_data":")",
                                 device, channel, request.start_ns, request.period_ms);
  {
    const std::lock_guard lock(mutex_);
    lines_.append(head, static_cast<size_t>(size));
    lines_ += hex + "\"}\n";
  }
  Flush();
}

void Truth::WriteStop(uint32_t device, uint32_t channel, const Counters& c) {
  if (!on()) return;
  char crc[16] = "null";
  if (c.crc_valid) std::snprintf(crc, sizeof crc, "%" PRIu32, c.crc32);
  char line[640];
  const int size = std::snprintf(
      line, sizeof line,
      R"({"event":"stop","device":%u,"channel":%u,"host_raw_ns":%)" PRIu64 R"(,"generated_bytes":%)" PRIu64
      R"(,"generated_records":%)" PRIu64 R"(,"delivered_bytes":%)" PRIu64 R"(,"dropped_bytes":%)" PRIu64
      R"(,"dropped_records":%)" PRIu64 R"(,"overwritten_bytes":%)" PRIu64 R"(,"discarded_bytes":%)" PRIu64
      R"(,"crc32":%s})"
      "\n",
      device, channel, RawNs(), c.generated_bytes, c.generated_records, c.delivered_bytes, c.dropped_bytes,
      c.dropped_records, c.overwritten_bytes, c.discarded_bytes, crc);
  {
    const std::lock_guard lock(mutex_);
    lines_.append(line, static_cast<size_t>(size));
  }
  Flush();
}

void Truth::WriteLine(const std::string& line) {
  if (!on()) return;
  {
    const std::lock_guard lock(mutex_);
    lines_ += line + "\n";
  }
  Flush();
}

void Truth::Flush() {
  if (!on()) return;
  const std::lock_guard lock(mutex_);
  for (std::string_view rest = lines_; !rest.empty();) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written <= 0) break;  // a full disk costs the check its lines, not the simulation
    rest.remove_prefix(static_cast<size_t>(written));
  }
  lines_.clear();
}

}  // namespace profd::sim
