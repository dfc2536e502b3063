#include "client/ui/server.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "client/ui/peer.h"

namespace profd::ui {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using base::Code;
using base::Result;
using base::Status;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr size_t kMostConnections = 32;
constexpr size_t kMostBytes = 64 * 1024;         // of a body, and of all headers
constexpr size_t kPiece = 16 * 1024;             // of what is read
constexpr int64_t kPatienceNs = 30'000'000'000;  // with a browser that says nothing
constexpr size_t kSecretBytes = 32;

// What is ours asks ours, and nobody shows it in a frame.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// A page in its own, nameless origin: its script cannot ask ours for anything.
constexpr char kForeign[] = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'";

Result<std::string> Secret() {
  std::array<unsigned char, kSecretBytes> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Status::FromErrno("find a secret");
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Takes as long for any wrong one.
bool IsSecret(std::string_view given, std::string_view secret) {
  unsigned char differs = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    differs = static_cast<unsigned char>(
        differs | (static_cast<unsigned char>(c) ^ static_cast<unsigned char>(secret[i])));
  }
  return differs == 0;
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

// A name that another site made point here is another's; a port is whichever ssh -L was given.
bool IsLoopback(std::string_view host) {
  const size_t colon = host.rfind(':');
  const std::string_view name = host.ends_with(']') ? host : host.substr(0, colon);
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

Answer Refused(unsigned status, const std::string& why) {
  return {.status = status, .type = "text/plain; charset=utf-8", .body = why + "\n"};
}

}  // namespace

class Server::Impl {
 public:
  Impl(Handler answer, std::string secret)
      : answer_(std::move(answer)), secret_(std::move(secret)), acceptor_(io_) {}
  ~Impl() { Stop(); }

  Status Open(uint16_t port) {
    boost::system::error_code error;
    const tcp::endpoint here(asio::ip::address_v4::loopback(), port);
    acceptor_.open(here.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(here, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error == boost::system::errc::address_in_use) {
      return {Code::kUnavailable,
              "port " + std::to_string(port) +
                  " of 127.0.0.1 is in use by another program: name another one with --port, or none"};
    }
    if (error)
      return {Code::kUnavailable, "listen on 127.0.0.1:" + std::to_string(port) + ": " + error.message()};
    port_ = acceptor_.local_endpoint(error).port();
    return {};
  }

  uint16_t port() const { return port_; }
  const std::string& secret() const { return secret_; }

  void Run() {
    while (!stopped_) {
      boost::system::error_code error;
      tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (stopped_) break;
      if (error || !MayConnect(socket)) continue;  // it is closed
      const std::lock_guard lock(mutex_);
      if (open_.size() >= kMostConnections) continue;  // it is closed
      open_.insert(socket.native_handle());
      base::StartThread("ui", [this, shared = std::make_shared<tcp::socket>(std::move(socket))] {
        Serve(*shared);
        const std::lock_guard closing(mutex_);
        open_.erase(shared->native_handle());
        boost::system::error_code ignored;
        shared->close(ignored);
        closed_.notify_all();
      }).detach();
    }
    std::unique_lock lock(mutex_);
    for (const int descriptor : open_) ::shutdown(descriptor, SHUT_RDWR);
    closed_.wait(lock, [this] { return open_.empty(); });
  }

  void Stop() {
    if (stopped_.exchange(true)) return;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // wakes accept()
  }

 private:
  // Others could keep all connections for themselves, with ones that they close at once, too, or have heard
  // of the secret. Of root's is who forwards a port (sshd, where it does not become the user first).
  static bool MayConnect(tcp::socket& socket) {
    const auto peer = PeerOf(socket.native_handle());
    return !peer || (!peer->is_gone && (peer->uid == 0 || peer->uid == ::geteuid()));
  }

  // A whole request, or false: the browser has gone, or says nothing for too long. asio itself waits for
  // ever.
  bool Read(tcp::socket& socket, boost::beast::flat_buffer& buffer,
            http::request_parser<http::string_body>& parser, boost::system::error_code& error) const {
    const uint64_t end_ns = base::MonotonicNs() + uint64_t{kPatienceNs};
    while (!parser.is_done()) {
      if (buffer.size() > 0) {
        const size_t used = parser.put(buffer.data(), error);
        buffer.consume(used);
        if (error && error != http::error::need_more) return true;
        if (used > 0 && !error) continue;
      }
      pollfd ready{socket.native_handle(), POLLIN, 0};
      const uint64_t now_ns = base::MonotonicNs();
      if (now_ns >= end_ns || stopped_) return false;
      if (::poll(&ready, 1, static_cast<int>((end_ns - now_ns) / 1'000'000 + 1)) <= 0) return false;
      const size_t got = socket.read_some(buffer.prepare(kPiece), error);
      if (error || got == 0) return false;
      buffer.commit(got);
    }
    error = {};
    return true;
  }

  void Serve(tcp::socket& socket) {
    const timeval patience{kPatienceNs / 1'000'000'000, 0};  // with one that takes nothing
    ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    boost::beast::flat_buffer buffer(2 * kMostBytes);
    for (bool goes_on = true; goes_on && !stopped_;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(kMostBytes);
      parser.eager(true);
      boost::system::error_code error;
      if (!Read(socket, buffer, parser, error)) return;
      const Answer answer = error ? Refused(400, "that is not a request") : AnswerTo(parser.get());
      goes_on = !error && parser.get().keep_alive();
      Response response = Made(answer, parser.get().version());
      response.keep_alive(goes_on);
      http::write(socket, response, error);
      if (error) return;
    }
  }

  Answer AnswerTo(const Request& request) const {
    if (!IsLoopback(View(request[http::field::host])))
      return Refused(421, "this is profctl ui: ask for it as 127.0.0.1 or localhost");
    std::string_view target = View(request.target());
    target = target.substr(0, target.find_first_of("?#"));
    if (!target.starts_with('/')) return Refused(400, "that is not a request");
    const size_t slash = std::min(target.find('/', 1), target.size());
    if (!IsSecret(target.substr(1, slash - 1), secret_))
      return Refused(403,
                     "open the address that profctl ui has printed: the secret in it is missing or is of "
                     "an earlier one");
    if (slash == target.size()) return {.status = 308, .type = "text/plain", .body = "/" + secret_ + "/"};
    Question question{.is_post = request.method() == http::verb::post,
                      .path = std::string(target.substr(slash + 1)),
                      .body = request.body()};
    if (!question.is_post && request.method() != http::verb::get) return Refused(405, "GET and POST only");
    if (question.is_post) {
      // A form of another site can send neither.
      const std::string own = "http://" + std::string(View(request[http::field::host]));
      const auto origin = request.find(http::field::origin);
      if (origin != request.end() && View(origin->value()) != own)
        return Refused(403, "this was asked by a page of another site");
      if (View(request[http::field::content_type]) != "application/json")
        return Refused(415, "expected application/json");
    }
    return answer_(question);
  }

  static Response Made(const Answer& answer, unsigned version) {
    Response response(http::int_to_status(answer.status), version);
    if (answer.status == 308) {
      response.set(http::field::location, answer.body);
    } else {
      response.body() = answer.body;
    }
    response.set(http::field::content_type, answer.type);
    response.set(http::field::cache_control, "no-store");
    response.set("Content-Security-Policy", answer.foreign ? kForeign : kPolicy);
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Referrer-Policy", "no-referrer");
    response.set("Cross-Origin-Opener-Policy", "same-origin");
    response.set("Cross-Origin-Resource-Policy", "same-origin");
    if (!answer.file_name.empty())
      response.set(http::field::content_disposition, "attachment; filename=\"" + answer.file_name + "\"");
    response.prepare_payload();
    return response;
  }

  const Handler answer_;
  const std::string secret_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable closed_;
  std::set<int> open_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Listen(uint16_t port, Handler answer) {
  PROFD_ASSIGN_OR_RETURN(std::string secret, Secret());
  auto impl = std::make_unique<Impl>(std::move(answer), std::move(secret));
  PROFD_RETURN_IF_ERROR(impl->Open(port));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

uint16_t Server::port() const { return impl_->port(); }
std::string Server::address() const {
  return "http://127.0.0.1:" + std::to_string(impl_->port()) + "/" + impl_->secret() + "/";
}
void Server::Run() { impl_->Run(); }
void Server::Stop() { impl_->Stop(); }

}  // namespace profd::ui
