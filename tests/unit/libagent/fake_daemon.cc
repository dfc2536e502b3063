#include "tests/unit/libagent/fake_daemon.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "libagent/abi/door.h"
#include "profd/v1/agent.grpc.pb.h"

namespace profd::agent::testing {

namespace {

// No measurement: a machine may be busy.
constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

class FakeService : public v1::Agent::Service {
 public:
  explicit FakeService(FakeDaemon& daemon) : daemon_(daemon) {}

  grpc::Status Register(grpc::ServerContext* context,
                        grpc::ServerReaderWriter<v1::AgentCommand, v1::AgentMessage>* stream) override {
    const auto metadata = context->client_metadata();
    const auto ticket = metadata.find("profd-ticket");
    std::shared_ptr<AgentPeer> peer;
    {
      const std::lock_guard lock(daemon_.mutex_);
      for (const auto& known : daemon_.known_) {
        if (ticket != metadata.end() && ticket->second == known->ticket_) peer = known;
      }
    }
    if (peer == nullptr) return {grpc::StatusCode::UNAUTHENTICATED, "no such ticket"};
    v1::AgentMessage message;
    if (!stream->Read(&message) || !message.has_hello())
      return {grpc::StatusCode::INVALID_ARGUMENT, "no hello"};
    if (daemon_.full) {
      ++daemon_.turned_away;
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many agents"};
    }
    {
      const std::lock_guard lock(peer->mutex_);
      peer->hello_ = message.hello();
      peer->send_ = [stream](const v1::AgentCommand& command) { stream->Write(command); };
      peer->cancel_ = [context] { context->TryCancel(); };
    }
    {
      const std::lock_guard lock(daemon_.mutex_);
      daemon_.registered_.push_back(peer);
      daemon_.changed_.notify_all();
    }
    while (stream->Read(&message)) {
      const std::lock_guard lock(peer->mutex_);
      peer->received_.push_back(message);
      peer->changed_.notify_all();
    }
    const std::lock_guard lock(peer->mutex_);
    peer->send_ = nullptr;
    peer->cancel_ = nullptr;
    peer->gone_ = true;
    peer->changed_.notify_all();
    return grpc::Status::OK;
  }

 private:
  FakeDaemon& daemon_;
};

struct FakeDaemon::Server {
  explicit Server(FakeDaemon& daemon) : service(daemon) {}
  FakeService service;
  std::unique_ptr<grpc::Server> grpc;
};

std::optional<v1::AgentMessage> AgentPeer::Take(const std::function<bool(const v1::AgentMessage&)>& wanted) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    for (auto it = received_.begin(); it != received_.end(); ++it) {
      if (!wanted(*it)) continue;
      v1::AgentMessage message = *it;
      received_.erase(it);
      return message;
    }
    if (gone_ || changed_.wait_until(lock, deadline) == std::cv_status::timeout) return std::nullopt;
  }
}

std::optional<v1::AgentMessage> AgentPeer::Next() {
  return Take([](const v1::AgentMessage& message) { return !message.has_ack(); });
}

v1::AgentAck AgentPeer::Command(v1::AgentCommand command) {
  {
    const std::lock_guard lock(mutex_);
    command.set_id(next_id_++);
    if (send_) send_(command);
  }
  const auto answer = Take([&](const v1::AgentMessage& message) {
    return message.has_ack() && message.ack().command_id() == command.id();
  });
  if (answer) return answer->ack();
  v1::AgentAck none;
  none.set_code(4);
  none.set_message("no answer");
  return none;
}

v1::AgentAck AgentPeer::Arm(bool flight_recorder) {
  v1::AgentCommand command;
  command.mutable_arm()->set_flight_recorder(flight_recorder);
  return Command(command);
}
v1::AgentAck AgentPeer::Fire() {
  v1::AgentCommand command;
  command.mutable_fire();
  return Command(command);
}
v1::AgentAck AgentPeer::Stop() {
  v1::AgentCommand command;
  command.mutable_stop();
  return Command(command);
}

void AgentPeer::Cancel() {
  const std::lock_guard lock(mutex_);
  if (cancel_) cancel_();
}

bool AgentPeer::WaitGone() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [this] { return gone_; });
}

FakeDaemon::FakeDaemon(std::string path, Geometry geometry) : path_(std::move(path)), geometry_(geometry) {
  const std::string door = path_ + abi::kDoorSuffix;
  ::unlink(door.c_str());
  ::unlink(path_.c_str());
  listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  door.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(listener_, 128), 0);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  server_ = std::make_unique<Server>(*this);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path_, grpc::InsecureServerCredentials());
  builder.RegisterService(&server_->service);
  server_->grpc = builder.BuildAndStart();
  door_ = std::thread([this] { Attend(); });
}

FakeDaemon::~FakeDaemon() {
  const uint64_t one = 1;
  EXPECT_EQ(::write(stop_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  door_.join();
  ::close(listener_);
  ::close(stop_);
  server_->grpc->Shutdown(std::chrono::system_clock::now());
  for (const auto& peer : known_) ::close(peer->door_);
  ::unlink((path_ + abi::kDoorSuffix).c_str());
  ::unlink(path_.c_str());
}

void FakeDaemon::Attend() {
  for (uint64_t number = 1;; ++number) {
    pollfd polled[] = {{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[1].revents != 0) return;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    abi::DoorHello hello{};
    if (::recv(fd, &hello, sizeof(hello), 0) != static_cast<ssize_t>(sizeof(hello))) {
      ::close(fd);
      continue;
    }
    EXPECT_EQ(hello.magic, abi::kDoorMagic);
    EXPECT_EQ(hello.role, static_cast<uint8_t>(abi::DoorRole::kAgent));
    auto peer = std::make_shared<AgentPeer>();
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    peer->pid_ = credentials.pid;
    peer->door_ = fd;
    peer->ticket_ = std::string(abi::kTicketChars - 8, '0') + std::to_string(10'000'000 + number);
    peer->region_ = std::make_unique<Region>(geometry_);
    peer->region_->Seal();
    {
      const std::lock_guard lock(mutex_);
      known_.push_back(peer);
    }
    abi::DoorWelcome welcome{};
    welcome.magic = abi::kDoorMagic;
    welcome.version = abi::kDoorVersion;
    peer->ticket_.copy(welcome.ticket, sizeof(welcome.ticket));
    const int passed[abi::kAgentDescriptors] = {peer->region_->fd(), peer->region_->wake()};
    iovec part{&welcome, sizeof(welcome)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(passed))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(passed));
    std::memcpy(CMSG_DATA(item), passed, sizeof(passed));
    ::sendmsg(fd, &message, MSG_NOSIGNAL);
  }
}

std::shared_ptr<AgentPeer> FakeDaemon::Accept() { return AcceptWithin(60); }

std::shared_ptr<AgentPeer> FakeDaemon::AcceptWithin(int seconds) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::seconds(seconds), [this] { return !registered_.empty(); }))
    return nullptr;
  auto peer = registered_.front();
  registered_.pop_front();
  return peer;
}

}  // namespace profd::agent::testing
