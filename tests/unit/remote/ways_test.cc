#include "remote/ways.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <set>

#include "base/clock.h"
#include "base/version.h"
#include "profd/v1/control.grpc.pb.h"
#include "remote/peer.h"

namespace profd::remote {
namespace {

// Never answers.
class Silence : public grpc::ServerUnaryReactor {
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

// A node that notes from which connections it was asked.
class Node : public v1::Control::CallbackService {
 public:
  void Begin() {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    const std::string on = port_ == 0 ? "127.0.0.1:0" : host();
    builder.AddListeningPort(on, grpc::InsecureServerCredentials(), &port_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void End() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  size_t connections() {
    const std::lock_guard lock(mutex_);
    return callers_.size();
  }
  // From now on it hears only what comes by new connections.
  void ForgetCallers() {
    const std::lock_guard lock(mutex_);
    deaf_to_ = callers_;
  }

  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context, const v1::HelloRequest*,
                                  v1::HelloReply* reply) override {
    {
      const std::lock_guard lock(mutex_);
      callers_.insert(context->peer());
      if (deaf_to_.contains(context->peer())) return new Silence;
    }
    reply->set_protocol(base::kProtocolVersion);
    return Ok(context);
  }
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListRequest*,
                                 v1::ListReply*) override {
    return Ok(context);
  }

 private:
  static grpc::ServerUnaryReactor* Ok(grpc::CallbackServerContext* context) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::set<std::string> callers_, deaf_to_;
};

class WaysTest : public testing::Test {
 protected:
  void SetUp() override { node_.Begin(); }

  uint32_t Ask(const std::shared_ptr<Ways>& ways) {
    const auto peer = std::make_shared<Peer>(node_.host(), ways);
    std::promise<Reply> reply;
    peer->Ask("List", "", base::MonotonicNs() + 60'000'000'000,
              [&reply](Reply answered) { reply.set_value(std::move(answered)); });
    return reply.get_future().get().code;
  }

  Node node_;
  std::shared_ptr<Ways> ways_ = std::make_shared<Ways>(Credentials::None(), 1);
};

TEST_F(WaysTest, OneConnectionForAllThatAskOneAfterTheOther) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Ask(ways_), 0U);
  EXPECT_EQ(node_.connections(), 1U);
}

TEST_F(WaysTest, NoMoreNodesAreKeptThanWasSaid) {
  const auto none = std::make_shared<Ways>(Credentials::None(), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(none), 0U);
  EXPECT_EQ(node_.connections(), 3U);
}

TEST_F(WaysTest, ANodeThatBeganAnewIsFound) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Ask(ways_), 0U);
    node_.End();
    EXPECT_NE(Ask(ways_), 0U);
    node_.Begin();
    EXPECT_EQ(Ask(ways_), 0U);
    node_.End();
    node_.Begin();
  }
}

TEST_F(WaysTest, AWayThatLeadsNowhereIsReplaced) {
  EXPECT_EQ(Ask(ways_), 0U);
  node_.ForgetCallers();
  EXPECT_EQ(Ask(ways_), 0U);
  EXPECT_EQ(Ask(ways_), 0U);
  EXPECT_EQ(node_.connections(), 2U);
}

}  // namespace
}  // namespace profd::remote
