// Datagrams of the fabric as they were seen on the wire: recorded from libkineto 114171df and msMonitor's
// client b942bf5 (samples/dynolog-ipc, kineto_req.bin, msmonitor_*.bin); the answers are as dynolog's server
// gives them (reply_*.bin).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace profd::fabric {

inline std::string FromHex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return bytes;
}

// u64 size, char type[32], body.
inline std::string Recorded(uint64_t size, std::string_view type, std::string_view body_hex) {
  std::string bytes(40, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  type.copy(bytes.data() + 8, 32);
  return bytes + FromHex(body_hex);
}

inline std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Type 2, 6 pids, the first 4941.
inline const std::string kKinetoPoll = Recorded(40, "req",
                                                "02000000060000000000000000000000"
                                                "4d1300004c1300001e1300001d1300004416000041160000");
// Rank 5, pid 4203.
inline const std::string kMonitorRegistration = Recorded(16, "ctxt", "050000006b1000000000000000000000");
inline const std::string kMonitorStatus =
    Recorded(32, "npuMonitorStatus", "00000000ffffffffffffffffffffffff6b100000000000000000000000000000");
inline const std::string kTraceStatus =
    Recorded(32, "npuTraceStatus", "00000000ffffffffffffffffffffffff6b100000000000000000000000000000");
// Running, step 11 of 10 to 12 (msmonitor_client.jsonl).
inline const std::string kTraceRuns =
    Recorded(32, "npuTraceStatus", "010000000b0000000a0000000c000000480e0000000000000000000000000000");
// Type 3, 5 pids.
inline const std::string kMonitorPoll = Recorded(36, "req",
                                                 "03000000050000000000000000000000"
                                                 "6b1000000d0e00000c0e00004416000041160000");

inline const std::string kRegisteredAnswer = Recorded(4, "ctxt", "01000000");
inline const std::string kNothingToDo = Recorded(0, "req", "");

}  // namespace profd::fabric
