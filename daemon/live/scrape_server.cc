#include "daemon/live/scrape_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace profd::live {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr size_t kMostConnections = 16;
constexpr size_t kMostRequestBytes = 8192;
constexpr uint64_t kPatienceNs = 5'000'000'000;
constexpr uint64_t kRetryNs = 100'000'000;

std::string Reply(const char* status, const char* type, const std::string& body, bool with_body) {
  return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         (with_body ? body : "");
}

Status Bad(const std::string& address, const std::string& why) {
  return {Code::kInvalidArgument,
          "metrics.listen: '" + address + "' " + why + "; expected e.g. 127.0.0.1:9477"};
}

std::string PortOf(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "";
  ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, nullptr, 0, port.data(), port.size(),
                NI_NUMERICSERV);
  return port.data();
}

}  // namespace

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(const std::string& address, base::Executor& ctl,
                                                          std::function<std::string()> text) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return Bad(address, "is no address with a port");
  std::string host = address.substr(0, colon);
  const std::string head = host;
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) {
    return Bad(address, "is no numeric address with a port");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  base::UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), kMostConnections) != 0) {
    return Status::FromErrno("cannot listen on metrics.listen " + address);
  }
  std::string bound = head + ":" + PortOf(socket.get());
  return std::unique_ptr<ScrapeServer>(
      new ScrapeServer(std::move(socket), std::move(bound), ctl, std::move(text)));
}

ScrapeServer::ScrapeServer(base::UniqueFd listener, std::string address, base::Executor& ctl,
                           std::function<std::string()> text)
    : listener_(std::move(listener)), address_(std::move(address)), ctl_(ctl), text_(std::move(text)) {
  Listen();
}

ScrapeServer::~ScrapeServer() {
  while (!connections_.empty()) Close(connections_.begin()->first);
  ctl_.Cancel(retry_);
  if (listening_) ctl_.Unwatch(watch_);
}

// With as many connections as there may be the next one waits in the kernel.
void ScrapeServer::Listen() {
  if (listening_ || connections_.size() >= kMostConnections) return;
  listening_ = true;
  watch_ = ctl_.WatchReadable(listener_.get(), [this] {
    listening_ = false;
    if (Accept()) return Listen();
    // No descriptor is left: the connection stays where it is, and would wake this again at once.
    retry_ = ctl_.After(kRetryNs, [this] { Listen(); });
  });
}

bool ScrapeServer::Accept() {
  base::UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) return errno == EAGAIN || errno == ECONNABORTED;
  const uint64_t id = next_id_++;
  Connection& connection = connections_[id];
  connection.socket = std::move(socket);
  connection.timer = ctl_.After(kPatienceNs, [this, id] { Close(id); });
  connection.watch = ctl_.WatchReadable(connection.socket.get(), [this, id] { Receive(id); });
  return true;
}

void ScrapeServer::Receive(uint64_t id) {
  Connection& connection = connections_.at(id);
  std::array<char, 4096> bytes{};
  const ssize_t got = ::recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    connection.watch = ctl_.WatchReadable(connection.socket.get(), [this, id] { Receive(id); });
    return;
  }
  if (got <= 0) return Close(id);
  connection.request.append(bytes.data(), static_cast<size_t>(got));
  const bool whole = connection.request.find("\r\n\r\n") != std::string::npos;
  if (!whole && connection.request.size() < kMostRequestBytes) {
    connection.watch = ctl_.WatchReadable(connection.socket.get(), [this, id] { Receive(id); });
    return;
  }
  connection.reply = whole ? Answer(connection.request)
                           : Reply("431 Request Header Fields Too Large", "text/plain", "too large\n", true);
  Send(id);
}

std::string ScrapeServer::Answer(const std::string& request) const {
  const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
  const size_t space = line.find(' ');
  const std::string_view method = line.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? "" : line.substr(space + 1);
  const std::string_view path = rest.substr(0, rest.find_first_of(" ?"));
  const bool is_head = method == "HEAD";
  if (rest.find(" HTTP/1.") == std::string_view::npos) {
    return Reply("400 Bad Request", "text/plain", "expected HTTP/1.1\n", true);
  }
  if (!is_head && method != "GET") return Reply("405 Method Not Allowed", "text/plain", "GET only\n", true);
  if (path != "/metrics") return Reply("404 Not Found", "text/plain", "there is /metrics\n", !is_head);
  return Reply("200 OK", "text/plain; version=0.0.4; charset=utf-8", text_(), !is_head);
}

void ScrapeServer::Send(uint64_t id) {
  Connection& connection = connections_.at(id);
  while (connection.sent < connection.reply.size()) {
    const ssize_t sent = ::send(connection.socket.get(), connection.reply.data() + connection.sent,
                                connection.reply.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      connection.watch = ctl_.WatchWritable(connection.socket.get(), [this, id] { Send(id); });
      return;
    }
    if (sent <= 0) return Close(id);
    connection.sent += static_cast<size_t>(sent);
  }
  Close(id);
}

void ScrapeServer::Close(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  ctl_.Cancel(found->second.timer);
  ctl_.Unwatch(found->second.watch);
  connections_.erase(found);
  Listen();
}

}  // namespace profd::live
