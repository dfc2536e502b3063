#include "daemon/base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "base/unique_fd.h"

namespace profd::base {

namespace {

uint64_t Number(const char* text) {
  uint64_t value = 0;
  if (text == nullptr) return 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  return error == std::errc() && at == end ? value : 0;
}

}  // namespace

void TellServiceManager(std::string_view lines) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || (*path != '/' && *path != '@') || std::strlen(path) >= sizeof address.sun_path)
    return;
  address.sun_family = AF_UNIX;
  const size_t length = std::strlen(path);
  std::memcpy(address.sun_path, path, length);
  if (*path == '@') address.sun_path[0] = '\0';  // an abstract name
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  // Not heard is not served: systemd acts on the silence.
  [[maybe_unused]] const ssize_t sent =
      ::sendto(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&address),
               static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

void TellReloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t us =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
  TellServiceManager("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us) +
                     "\nSTATUS=reads the settings again");
}

uint64_t WatchdogNs() {
  // The variables may have been inherited from another service.
  const char* pid = std::getenv("WATCHDOG_PID");
  if (pid != nullptr && Number(pid) != static_cast<uint64_t>(::getpid())) return 0;
  return Number(std::getenv("WATCHDOG_USEC")) * 1000;
}

}  // namespace profd::base
