#include "base/host_port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace profd::base {

namespace {

constexpr size_t kMostHostChars = 253;  // of a name in DNS

bool IsIpv6(const std::string& host) {
  in6_addr address{};
  // A scope ("fe80::1%eth0") is the resolver's to understand.
  return ::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &address) == 1;
}

bool IsName(std::string_view host) {
  return !host.empty() && host.size() <= kMostHostChars && std::ranges::all_of(host, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
  });
}

}  // namespace

Result<HostPort> ParseHostPort(std::string_view text) {
  const Status wrong(Code::kInvalidArgument, "'" + OneLine(text, kMostHostChars) +
                                                 "' is not HOST:PORT, e.g. node7:9478 or [::1]:9478");
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  const std::string_view port = text.substr(colon + 1);
  HostPort parsed{.host = std::string(text.substr(0, colon))};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  if (error != std::errc() || end != port.data() + port.size()) return wrong;
  std::string& host = parsed.host;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    return IsIpv6(host) ? Result(parsed) : wrong;
  }
  return IsName(host) ? Result(parsed) : wrong;
}

std::string ToText(const HostPort& host_port) {
  const bool brackets = host_port.host.find(':') != std::string::npos;
  return (brackets ? "[" + host_port.host + "]" : host_port.host) + ":" + std::to_string(host_port.port);
}

bool IsLoopback(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace profd::base
