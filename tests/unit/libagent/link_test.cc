#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "libagent/link/grpc_stream.h"
#include "libagent/link/messages.h"

namespace profd::agent::link {
namespace {

// An HTTP/2 server in the same thread, which answers what the test tells it to.
class Server {
 public:
  explicit Server(int fd) : fd_(fd) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t name_bytes,
                      const uint8_t* value, size_t value_bytes, uint8_t, void* user) {
          static_cast<Server*>(user)->headers +=
              std::string(name, name + name_bytes) + "=" + std::string(value, value + value_bytes) + "\n";
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t, const uint8_t* bytes, size_t size, void* user) {
          static_cast<Server*>(user)->received.append(bytes, bytes + size);
          return 0;
        });
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Server() {
    nghttp2_session_del(session_);
    ::close(fd_);
  }

  void Pump() {
    uint8_t bytes[65536];
    for (ssize_t got; (got = ::recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;) {
      ASSERT_GE(nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(got)), 0);
    }
    const uint8_t* out = nullptr;
    for (ssize_t size; (size = nghttp2_session_mem_send(session_, &out)) > 0;) {
      ASSERT_EQ(::send(fd_, out, static_cast<size_t>(size), MSG_NOSIGNAL), size);
    }
  }
  void Answer(const std::string& data) {
    to_send += data;
    if (!answered_) {
      answered_ = true;
      nghttp2_nv headers[] = {Pair(":status", "200"), Pair("content-type", "application/grpc")};
      nghttp2_data_provider provider{};
      provider.source.ptr = this;
      provider.read_callback = [](nghttp2_session* session, int32_t stream, uint8_t* buffer, size_t room,
                                  uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
        auto* self = static_cast<Server*>(source->ptr);
        if (self->to_send.empty() && self->ending) {
          *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
          nghttp2_nv trailers[] = {Pair("grpc-status", "7")};
          nghttp2_submit_trailer(session, stream, trailers, 1);
          return 0;
        }
        if (self->to_send.empty()) return NGHTTP2_ERR_DEFERRED;
        const size_t size = std::min(room, self->to_send.size());
        std::copy_n(self->to_send.begin(), size, buffer);
        self->to_send.erase(0, size);
        return static_cast<ssize_t>(size);
      };
      nghttp2_submit_response(session_, 1, headers, 2, &provider);
    } else {
      nghttp2_session_resume_data(session_, 1);
    }
    Pump();
  }
  void End() {
    ending = true;
    Answer("");
  }

  std::string headers;
  std::string received;
  std::string to_send;
  bool ending = false;

 private:
  static nghttp2_nv Pair(const char* name, const char* value) {
    return {reinterpret_cast<uint8_t*>(const_cast<char*>(name)),
            reinterpret_cast<uint8_t*>(const_cast<char*>(value)), strlen(name), strlen(value),
            NGHTTP2_NV_FLAG_NONE};
  }

  int fd_;
  nghttp2_session* session_ = nullptr;
  bool answered_ = false;
};

std::string Framed(const std::string& body) {
  std::string framed(5, '\0');
  for (int i = 0; i < 4; ++i) framed[1 + i] = static_cast<char>(body.size() >> (24 - 8 * i));
  return framed + body;
}

class GrpcStreamTest : public ::testing::Test {
 protected:
  GrpcStreamTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    fd_ = ends[0];
    server_ = std::make_unique<Server>(ends[1]);
    EXPECT_TRUE(stream_.Open(
        fd_, "/test.Service/Call", "the-ticket",
        [](void* user, const uint8_t* bytes, size_t size) {
          static_cast<GrpcStreamTest*>(user)->messages_.emplace_back(bytes, bytes + size);
        },
        this));
    EXPECT_TRUE(stream_.Advance());
    server_->Pump();
  }
  ~GrpcStreamTest() override { ::close(fd_); }

  int fd_;
  std::unique_ptr<Server> server_;
  GrpcStream stream_;
  std::vector<std::string> messages_;
};

TEST_F(GrpcStreamTest, SpeaksTheProtocol) {
  for (const char* header : {":method=POST", ":path=/test.Service/Call", "te=trailers",
                             "content-type=application/grpc", "profd-ticket=the-ticket"}) {
    EXPECT_NE(server_->headers.find(header), std::string::npos) << server_->headers;
  }
  const std::string hello = "hello";
  EXPECT_TRUE(stream_.Send(reinterpret_cast<const uint8_t*>(hello.data()), hello.size()));
  EXPECT_TRUE(stream_.Advance());
  server_->Pump();
  EXPECT_EQ(server_->received, Framed("hello"));
}

TEST_F(GrpcStreamTest, MessagesArriveWholeHoweverTheyAreCut) {
  const std::string all = Framed("one") + Framed("") + Framed(std::string(10'000, 'x'));
  for (const char byte : all) {
    server_->Answer(std::string(1, byte));
    ASSERT_TRUE(stream_.Advance());
  }
  EXPECT_EQ(messages_, (std::vector<std::string>{"one", "", std::string(10'000, 'x')}));
  server_->Answer(all);
  ASSERT_TRUE(stream_.Advance());
  EXPECT_EQ(messages_.size(), 6U);
}

TEST_F(GrpcStreamTest, TheServersVerdictIsKept) {
  server_->Answer(Framed("one"));
  server_->End();
  EXPECT_FALSE(stream_.Advance());
  EXPECT_EQ(stream_.status(), 7);
  EXPECT_EQ(messages_.size(), 1U);
}

TEST_F(GrpcStreamTest, AHungUpServerEndsIt) {
  server_.reset();
  EXPECT_FALSE(stream_.Advance());
  EXPECT_EQ(stream_.status(), -1);
}

TEST_F(GrpcStreamTest, MessagesThatAreTooLongOrCompressedEndIt) {
  server_->Answer(std::string("\0\x00\x10\x00\x00", 5));
  EXPECT_FALSE(stream_.Advance());
}

TEST_F(GrpcStreamTest, CompressedMessagesEndIt) {
  server_->Answer(std::string("\1\0\0\0\1x", 6));
  EXPECT_FALSE(stream_.Advance());
}

TEST_F(GrpcStreamTest, AServerThatDoesNotReadFillsABoundedQueue) {
  const std::vector<uint8_t> message(1000);
  size_t sent = 0;
  while (sent < 100'000 && stream_.Send(message.data(), message.size())) {
    ++sent;
    ASSERT_TRUE(stream_.Advance());
  }
  EXPECT_LT(sent, 100'000U);
  EXPECT_GT(sent, 10U);
}

TEST(GrpcStreamFuzz, RandomBytesNeverGetFurtherThanTheSession) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    {
      GrpcStream stream;
      ASSERT_TRUE(stream.Open(
          ends[0], "/a/b", "t", [](void*, const uint8_t*, size_t) {}, nullptr));
      std::string bytes;
      // An empty SETTINGS frame gets a session to look at what follows; frame-like rubbish gets it further.
      if (round % 3 != 0) bytes = std::string("\0\0\0\4\0\0\0\0\0", 9);
      for (int frame = 0; frame < 8; ++frame) {
        const size_t size = random() % 64;
        bytes += std::string{'\0',
                             '\0',
                             static_cast<char>(size),
                             static_cast<char>(random() % 10),
                             static_cast<char>(random() % 16),
                             '\0',
                             '\0',
                             '\0',
                             static_cast<char>(random() % 3)};
        for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
      }
      ASSERT_EQ(::send(ends[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
      while (stream.Advance() && stream.wants_write()) {
      }
    }
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST(MessagesTest, RandomBytesAreNoCommandsOrHarmlessOnes) {
  std::mt19937 random(11);
  int decoded = 0;
  for (int round = 0; round < 100'000; ++round) {
    uint8_t bytes[96];
    const size_t size = random() % sizeof(bytes);
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 48);
    profd_v1_AgentCommand command = profd_v1_AgentCommand_init_zero;
    if (!Decode(bytes, size, &command)) continue;
    ++decoded;
    if (command.which_action == profd_v1_AgentCommand_arm_tag) {
      ASSERT_LE(command.action.arm.kinds_count, 16);
    }
  }
  EXPECT_GT(decoded, 0);
}

TEST(MessagesTest, WhatDoesNotFitIsNotSent) {
  profd_v1_AgentMessage message = profd_v1_AgentMessage_init_zero;
  message.which_message = profd_v1_AgentMessage_ack_tag;
  message.message.ack.command_id = 1234567;
  uint8_t bytes[64];
  EXPECT_EQ(Encode(message, bytes, 2), 0U);
  EXPECT_GT(Encode(message, bytes, sizeof(bytes)), 2U);
}

}  // namespace
}  // namespace profd::agent::link
