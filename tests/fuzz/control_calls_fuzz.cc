// Every handler of Control as a client reaches it, over a real server and manager: whatever a user without
// rights says is answered, in one line, and never with an error of profd's own.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "daemon/fabric/door.h"
#include "daemon/rpc/server.h"
#include "profd/v1/control.pb.h"

namespace {

using namespace profd;

constexpr uid_t kNobody = 65534;
constexpr std::chrono::seconds kPatience{60};     // an answer that has to come
constexpr std::chrono::milliseconds kGlance{10};  // at a stream, which may go on

// One for all cases; ends with the process.
struct House {
  House() {
    std::filesystem::create_directory(folder);
    config.socket = folder + "/p.sock";
    config.store.spool = folder + "/spool";
    config.limits.requests_per_s = 1'000'000;
    auto started = rpc::Server::Start(config, manager, live, agents, ctl, tickets, audit);
    PROFD_CHECK(started.ok());
    server = std::move(started).value();
    auth::Tickets::Holder holder;
    holder.caller.uid = holder.caller.gid = kNobody;
    holder.caller.user = "nobody";
    ticket = *tickets.Issue(std::move(holder));
    channel = grpc::CreateChannel("unix:" + config.socket, grpc::InsecureChannelCredentials());
    thread = std::thread([this] { ctl.Run(); });
    std::atexit([] { The().Leave(); });
  }
  void Leave() {
    ctl.Stop();
    thread.join();
    channel.reset();
    server.reset();
    std::filesystem::remove_all(folder);
  }
  static House& The() {
    static auto* house = new House;
    return *house;
  }

  const std::string folder = "/tmp/profd-calls-fuzz-" + std::to_string(::getpid());
  config::Config config;
  base::Executor ctl;
  auth::Rights rights;
  auth::Tickets tickets{&rights};
  auth::Audit audit;
  agent::Registry agents{ctl, {.geometry = {2, 256, 65536}, .max_peers = 4, .max_peers_per_uid = 3}};
  fabric::Service fabric{"off", ctl};
  session::Manager manager{ctl, ctl, config, nullptr, "", agents, rights, fabric};
  live::Live live{ctl, config, manager, agents};
  std::unique_ptr<rpc::Server> server;
  std::string ticket;
  std::shared_ptr<grpc::Channel> channel;
  std::thread thread;
};

}  // namespace

// First byte: which method, in the order of the service; the rest is its message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  House& house = House::The();
  const auto* service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("profd.v1.Control");
  const auto* method = service->method(data[0] % service->method_count());
  grpc::GenericStub stub(house.channel);
  grpc::ClientContext context;
  context.AddMetadata("profd-ticket", house.ticket);
  const auto now = std::chrono::system_clock::now();
  if (method->server_streaming()) {
    context.set_deadline(now + kGlance);
  } else {
    context.set_deadline(now + kPatience);
  }
  const grpc::Slice slice(data + 1, size - 1);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const std::string path = "/profd.v1.Control/" + method->name();
  auto call = stub.PrepareUnaryCall(&context, path, request, &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  const bool is_ours = !status.error_details().empty();
  PROFD_CHECK(method->server_streaming() || status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
  PROFD_CHECK(!is_ours || (status.error_code() != grpc::StatusCode::INTERNAL &&
                           status.error_code() != grpc::StatusCode::UNKNOWN));
  PROFD_CHECK(!is_ours || (!status.error_message().empty() && base::IsPlainText(status.error_message())));
  return 0;
}
