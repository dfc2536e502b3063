// "host:port" as settings and options have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace profd::base {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 0;
};

// "node7:9478", "10.0.0.7:9478", "[::1]:9478"; kInvalidArgument names the text.
Result<HostPort> ParseHostPort(std::string_view text);
// The same as text.
std::string ToText(const HostPort& host_port);
// 127.0.0.0/8 or ::1; a name is not, whatever it resolves to.
bool IsLoopback(const std::string& host);

}  // namespace profd::base
