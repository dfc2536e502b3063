#include "daemon/live/scrape_server.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/host_port.h"

namespace profd::live {

using base::Result;

namespace {

constexpr size_t kMostConnections = 16;
constexpr size_t kMostRequestBytes = 8192;
constexpr uint64_t kPatienceNs = 5'000'000'000;

std::string Reply(const char* status, const char* type, const std::string& body, bool with_body) {
  return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         (with_body ? body : "");
}

// The address without the port, "" when it is gone already.
std::string PeerOf(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  std::array<char, NI_MAXHOST> host{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "";
  ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, host.data(), host.size(), nullptr, 0,
                NI_NUMERICHOST);
  return host.data();
}

}  // namespace

std::string AnswerToScrape(std::string_view request, const std::function<std::string()>& text) {
  const std::string_view line = request.substr(0, request.find("\r\n"));
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
  return Reply("200 OK", "text/plain; version=0.0.4; charset=utf-8", text(), !is_head);
}

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(const std::string& address, base::Executor& ctl,
                                                          std::function<std::string()> text) {
  const char* const kSetting = "metrics.listen";
  auto on = base::ParseHostPort(address);
  if (!on.ok()) return on.status().In(kSetting);
  std::unique_ptr<ScrapeServer> server(new ScrapeServer(ctl, std::move(text)));
  auto listener = auth::Listener::StartTcp(
      *on, ctl, [self = server.get()](base::UniqueFd socket) { self->Admit(std::move(socket)); });
  if (!listener.ok()) return listener.status().In(kSetting);
  server->listener_ = std::move(listener).value();
  on->port = server->listener_->port();
  server->address_ = base::ToText(*on);
  return server;
}

ScrapeServer::~ScrapeServer() {
  while (!connections_.empty()) Close(connections_.begin()->first);
}

void ScrapeServer::Admit(base::UniqueFd socket) {
  if (connections_.size() >= kMostConnections) MakeRoom();
  const uint64_t id = next_id_++;
  Connection& connection = connections_[id];
  connection.from = PeerOf(socket.get());
  connection.socket = std::move(socket);
  connection.timer = ctl_.After(kPatienceNs, [this, id] { Close(id); });
  connection.watch = ctl_.WatchReadable(connection.socket.get(), [this, id] { Receive(id); });
}

void ScrapeServer::MakeRoom() {
  std::map<std::string_view, size_t> count;
  for (const auto& [id, connection] : connections_) ++count[connection.from];
  const auto most = std::ranges::max_element(count, {}, [](const auto& each) { return each.second; });
  // The oldest has the smallest number.
  const auto oldest =
      std::ranges::find_if(connections_, [&](const auto& each) { return each.second.from == most->first; });
  Close(oldest->first);
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
  connection.reply = whole ? AnswerToScrape(connection.request, text_)
                           : Reply("431 Request Header Fields Too Large", "text/plain", "too large\n", true);
  Send(id);
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
}

}  // namespace profd::live
