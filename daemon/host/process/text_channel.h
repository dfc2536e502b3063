// Whole texts both ways over a stream socket, without waiting for the other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace profd::host {

// **Thread:** one. **Owns:** the socket, what is not sent yet, and what is not whole yet.
class TextChannel {
 public:
  static constexpr size_t kMostBytes = 4 << 20;  // of a text; whoever says more has lost its way
  explicit TextChannel(base::UniqueFd socket) : socket_(std::move(socket)) {}

  // Sent now or with the next Flush().
  void Put(std::string_view text);
  void Flush();
  bool idle() const { return sent_ == out_.size(); }  // nothing is left to be sent
  // A text that has come; nullopt: none yet.
  std::optional<std::string> Next();
  // Until there may be a next one, or room for what is left, or so long.
  void Wait(uint64_t timeout_ns) const;
  // The other end has gone; what it has sent before may still be there.
  bool gone() const { return gone_; }
  // Of the processor, by the process at the other end, when it sent its latest text.
  uint64_t peer_cpu_ns() const { return peer_cpu_ns_; }
  int fd() const { return socket_.get(); }
  base::UniqueFd Release() { return std::move(socket_); }

 private:
  bool Receive();

  base::UniqueFd socket_;
  std::string out_, in_;
  size_t sent_ = 0, taken_ = 0;
  bool gone_ = false;
  uint64_t peer_cpu_ns_ = 0;
};

}  // namespace profd::host
