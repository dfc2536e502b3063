// One bidirectional gRPC call over a unix-domain socket, spoken through libnghttp2: no threads, no globals.
#pragma once

#include <cstddef>
#include <cstdint>

struct nghttp2_session;

namespace profd::agent::link {

// **Thread:** one. **Owns:** the HTTP/2 session, not the descriptor.
class GrpcStream {
 public:
  using OnMessage = void (*)(void* user, const uint8_t* bytes, size_t size);

  static constexpr size_t kMaxSent = 64U << 10;      // bytes queued and not taken by the socket yet
  static constexpr size_t kMaxReceived = 16U << 10;  // one message

  GrpcStream() = default;
  ~GrpcStream() { Close(); }
  GrpcStream(const GrpcStream&) = delete;
  GrpcStream& operator=(const GrpcStream&) = delete;

  // Starts the call on a connected non-blocking socket. `path` is "/package.Service/Method". False: no
  // memory.
  bool Open(int fd, const char* path, const char* ticket, OnMessage on_message, void* user);
  void Close();

  // Queues one message. False: the queue is full.
  bool Send(const uint8_t* bytes, size_t size);
  // Reads and writes what the socket gives and takes, delivering messages. False: the call is over.
  bool Advance();
  bool wants_write() const;

  // The server's verdict when it ended the call itself; -1 otherwise.
  int status() const { return status_; }

 private:
  friend struct Callbacks;

  bool Flush();
  bool Consume(const uint8_t* bytes, size_t size);

  int fd_ = -1;
  nghttp2_session* session_ = nullptr;
  int32_t stream_ = -1;
  OnMessage on_message_ = nullptr;
  void* user_ = nullptr;
  bool over_ = false;
  int status_ = -1;

  uint8_t* sent_ = nullptr;  // kMaxSent bytes: what nghttp2 has not framed yet
  size_t sent_bytes_ = 0;
  uint8_t* received_ = nullptr;  // prefix and body of one message
  size_t received_bytes_ = 0;
  const uint8_t* pending_ = nullptr;  // framed bytes that the socket did not take
  size_t pending_bytes_ = 0;
};

}  // namespace profd::agent::link
