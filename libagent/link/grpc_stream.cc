#include "libagent/link/grpc_stream.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

// nghttp2's archive refers to stderr in a way that a shared library can't resolve elsewhere; the build
// renames that reference to this.
extern "C" FILE* profd_agent_stderr;
FILE* profd_agent_stderr = nullptr;

namespace profd::agent::link {

namespace {

constexpr size_t kPrefixBytes = 5;  // flag, big-endian length

uint32_t BodyBytes(const uint8_t* prefix) {
  return uint32_t{prefix[1]} << 24 | uint32_t{prefix[2]} << 16 | uint32_t{prefix[3]} << 8 | prefix[4];
}

nghttp2_nv Header(const char* name, const char* value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name)),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value)), strlen(name), strlen(value),
          NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

// What nghttp2 calls.
struct Callbacks {
  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* bytes, size_t size,
                    void* user) {
    auto* self = static_cast<GrpcStream*>(user);
    if (stream == self->stream_ && !self->Consume(bytes, size)) return NGHTTP2_ERR_CALLBACK_FAILURE;
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
                      const uint8_t* value, size_t value_bytes, uint8_t, void* user) {
    auto* self = static_cast<GrpcStream*>(user);
    constexpr char kStatus[] = "grpc-status";
    if (frame->hd.stream_id != self->stream_ || name_bytes != sizeof(kStatus) - 1 ||
        memcmp(name, kStatus, name_bytes) != 0) {
      return 0;
    }
    self->status_ = 0;
    for (size_t i = 0; i < std::min<size_t>(value_bytes, 3); ++i)
      self->status_ = self->status_ * 10 + (value[i] - '0');
    return 0;
  }

  // Our own side of the call stays open, so the server's end of it doesn't close the stream.
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto* self = static_cast<GrpcStream*>(user);
    if (frame->hd.stream_id == self->stream_ && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
      self->over_ = true;
    return 0;
  }

  static int OnClose(nghttp2_session*, int32_t stream, uint32_t, void* user) {
    auto* self = static_cast<GrpcStream*>(user);
    if (stream == self->stream_) self->over_ = true;
    return 0;
  }

  static ssize_t TakeSent(nghttp2_session*, int32_t, uint8_t* buffer, size_t room, uint32_t*,
                          nghttp2_data_source* source, void*) {
    auto* self = static_cast<GrpcStream*>(source->ptr);
    if (self->sent_bytes_ == 0) return NGHTTP2_ERR_DEFERRED;
    const size_t taken = std::min(room, self->sent_bytes_);
    memcpy(buffer, self->sent_, taken);
    memmove(self->sent_, self->sent_ + taken, self->sent_bytes_ - taken);
    self->sent_bytes_ -= taken;
    return static_cast<ssize_t>(taken);
  }
};

bool GrpcStream::Open(int fd, const char* path, const char* ticket, OnMessage on_message, void* user) {
  profd_agent_stderr = stderr;
  fd_ = fd;
  on_message_ = on_message;
  user_ = user;
  over_ = false;
  status_ = -1;
  sent_bytes_ = received_bytes_ = pending_bytes_ = 0;
  sent_ = static_cast<uint8_t*>(malloc(kMaxSent));
  received_ = static_cast<uint8_t*>(malloc(kPrefixBytes + kMaxReceived));
  nghttp2_session_callbacks* callbacks = nullptr;
  if (sent_ == nullptr || received_ == nullptr || nghttp2_session_callbacks_new(&callbacks) != 0)
    return false;
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnClose);
  const int made = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (made != 0) return false;

  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  const nghttp2_nv headers[] = {Header(":method", "POST"),
                                Header(":scheme", "http"),
                                Header(":path", path),
                                Header(":authority", "localhost"),
                                Header("te", "trailers"),
                                Header("content-type", "application/grpc"),
                                Header("user-agent", "profd-agent"),
                                Header("profd-ticket", ticket)};
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = Callbacks::TakeSent;
  stream_ = nghttp2_submit_request(session_, nullptr, headers, sizeof(headers) / sizeof(headers[0]),
                                   &provider, nullptr);
  return stream_ >= 0;
}

void GrpcStream::Close() {
  if (session_ != nullptr) nghttp2_session_del(session_);
  free(sent_);
  free(received_);
  session_ = nullptr;
  sent_ = received_ = nullptr;
  pending_bytes_ = 0;
  stream_ = -1;
}

bool GrpcStream::Send(const uint8_t* bytes, size_t size) {
  if (sent_bytes_ + kPrefixBytes + size > kMaxSent) return false;
  uint8_t* to = sent_ + sent_bytes_;
  to[0] = 0;  // not compressed
  for (int i = 0; i < 4; ++i) to[1 + i] = static_cast<uint8_t>(size >> (24 - 8 * i));
  memcpy(to + kPrefixBytes, bytes, size);
  sent_bytes_ += kPrefixBytes + size;
  nghttp2_session_resume_data(session_, stream_);
  return true;
}

bool GrpcStream::wants_write() const {
  return pending_bytes_ > 0 || nghttp2_session_want_write(session_) != 0;
}

bool GrpcStream::Flush() {
  for (;;) {
    if (pending_bytes_ == 0) {
      const ssize_t framed = nghttp2_session_mem_send(session_, &pending_);
      if (framed < 0) return false;
      if (framed == 0) return true;
      pending_bytes_ = static_cast<size_t>(framed);
    }
    const ssize_t written = ::send(fd_, pending_, pending_bytes_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    pending_ += written;
    pending_bytes_ -= static_cast<size_t>(written);
  }
}

bool GrpcStream::Advance() {
  for (;;) {
    if (!Flush()) return false;
    uint8_t bytes[4096];
    const ssize_t got = ::recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN && !over_;
    }
    if (nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(got)) < 0) return false;
  }
}

bool GrpcStream::Consume(const uint8_t* bytes, size_t size) {
  while (size > 0) {
    const size_t whole = received_bytes_ < kPrefixBytes ? kPrefixBytes : kPrefixBytes + BodyBytes(received_);
    const size_t taken = std::min(whole - received_bytes_, size);
    memcpy(received_ + received_bytes_, bytes, taken);
    received_bytes_ += taken;
    bytes += taken;
    size -= taken;
    if (received_bytes_ < kPrefixBytes) continue;
    const uint32_t body = BodyBytes(received_);
    if (received_[0] != 0 || body > kMaxReceived) return false;
    if (received_bytes_ < kPrefixBytes + body) continue;
    received_bytes_ = 0;
    on_message_(user_, received_ + kPrefixBytes, body);
  }
  return true;
}

}  // namespace profd::agent::link
