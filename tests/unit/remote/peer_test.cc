#include "remote/peer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace profd::remote {
namespace {

// Bound, and nobody listens: refused at once.
class DeafPort {
 public:
  DeafPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    host_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  const std::string& host() const { return host_; }

 private:
  base::UniqueFd socket_;
  std::string host_;
};

// gRPC ends its threads with the last channel, and waits for them: that must not be on one of them.
TEST(Peer, GoesWithItsOwnerAndNotWithTheAnswer) {
  const DeafPort port;
  for (int i = 0; i < 300; ++i) {
    auto peer = std::make_shared<Peer>(port.host(), Credentials::None());
    std::promise<Reply> reply;
    peer->Ask("Hello", "", base::MonotonicNs() + 10'000'000'000,
              [&reply](Reply answered) { reply.set_value(std::move(answered)); });
    const Reply answered = reply.get_future().get();
    EXPECT_NE(answered.code, 0U);
    EXPECT_FALSE(answered.from_node);
    ASSERT_EQ(peer.use_count(), 1);
  }
}

}  // namespace
}  // namespace profd::remote
