#include "client/fleet/rounds.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "client/fleet/direct.h"
#include "client/node/connection.h"
#include "client/node/exchange.h"
#include "client/words/text.h"
#include "remote/peer.h"

namespace profd::client {

namespace {

using base::Result;
using base::Status;

class Fleet {
 public:
  Fleet(const Way& way, const Context& context, const std::vector<std::string>& hosts,
        remote::Credentials credentials)
      : way_(way),
        context_(context),
        credentials_(std::move(credentials)),
        nodes_(hosts.size()),
        direct_(way.parallel, context.deadline_ns) {
    for (const std::string& host : way.relays) relays_.push_back({.host = host});
    for (size_t i = 0; i < hosts.size(); ++i) {
      Node& node = nodes_[i];
      node.answer.host = hosts[i];
      node.context = context;
      node.context.host = hosts[i];
      node.context.exchange = &node.exchange;
      node.context.output = &node.transcript;
      if (!relays_.empty()) node.relay = &relays_[i * relays_.size() / hosts.size()];
    }
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::vector<Answer> Ask(const std::function<Asking<ExitCode>(const Context&)>& verb) {
    for (Node& node : nodes_) node.talk.emplace(verb(node.context));
    while (Advance()) {
      AskRelays();
      AskTheRest();
    }
    std::vector<Answer> answers;
    for (Node& node : nodes_) answers.push_back(std::move(node.answer));
    return answers;
  }

 private:
  struct Relay {
    std::string host;
    std::optional<Connection> way = {};
    ClockDistance clock = {};
    Status status = {};  // why it is not asked any more
  };
  struct Node {
    Answer answer;
    Context context = {};  // of the conversation
    Transcript transcript = {};
    Exchange exchange = {};
    std::optional<Asking<ExitCode>> talk = {};
    Relay* relay = nullptr;
    std::shared_ptr<remote::Peer> peer = {};  // once it is asked directly
    bool is_asked = false;                    // directly, and has not answered yet
    bool has_ended = false;

    Exchange::Call& call() { return *exchange.call; }
    const Exchange::Call& call() const { return *exchange.call; }
    bool IsWaiting() const { return !has_ended && !is_asked && exchange.IsWaiting(); }
  };

  // Every conversation goes on as far as its answers let it; false when none waits for one.
  bool Advance() {
    uint64_t pause_ns = 0;
    bool any = false;
    for (Node& node : nodes_) {
      if (node.has_ended) continue;
      if (node.is_asked && node.exchange.IsWaiting()) {
        any = true;
        continue;
      }
      node.is_asked = false;
      node.exchange.pause_ns = 0;
      if (node.exchange.call) {
        node.exchange.waiting.resume();
      } else {
        node.talk->Start();
      }
      if (!node.talk->has_ended()) {
        any = true;
        pause_ns = std::max(pause_ns, node.exchange.pause_ns);
        continue;
      }
      node.has_ended = true;
      node.answer.code = node.talk->Take();
      node.answer.out = node.transcript.out();
      node.answer.err = node.transcript.err();
      node.answer.firing = node.transcript.firing();
    }
    if (any) std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
    return any;
  }

  void AskRelays() {
    std::map<Relay*, std::vector<Node*>> waiting;
    for (Node& node : nodes_) {
      if (node.IsWaiting() && node.relay != nullptr && node.relay->status.ok())
        waiting[node.relay].push_back(&node);
    }
    const uint64_t deadline_ns = RelaysDeadlineNs();
    std::vector<std::thread> threads;
    threads.reserve(waiting.size());
    for (const auto& one : waiting) {
      threads.emplace_back(
          [this, &one, deadline_ns] { one.first->status = AskThrough(one.first, one.second, deadline_ns); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& [relay, nodes] : waiting) {
      if (relay->status.ok()) continue;
      const auto left = std::ranges::count_if(nodes, [](const Node* node) { return node->IsWaiting(); });
      std::fprintf(stderr, "profctl: relay %s: %s; asking %zd of its nodes directly\n", relay->host.c_str(),
                   OneLine(relay->status.message()).c_str(), static_cast<ssize_t>(left));
    }
  }

  // Until when relays may take: the rest is for what they have not answered for.
  uint64_t RelaysDeadlineNs() const {
    const uint64_t now_ns = base::MonotonicNs(), now_wall_ns = base::WallNs();
    const uint64_t left_ns = context_.deadline_ns > now_ns ? context_.deadline_ns - now_ns : 0;
    uint64_t theirs_ns = left_ns / 3 * 2;
    if (context_.at_wall_ns > now_wall_ns)
      theirs_ns = std::min(theirs_ns, (context_.at_wall_ns - now_wall_ns) / 2);
    return now_ns + theirs_ns;
  }

  // **Thread:** one for each relay, which touches that relay's nodes only.
  Status AskThrough(Relay* relay, const std::vector<Node*>& nodes, uint64_t deadline_ns) const {
    PROFD_RETURN_IF_ERROR(Reach(relay, deadline_ns));
    std::map<std::string, std::vector<Node*>> by_method;
    for (Node* node : nodes) by_method[node->call().method].push_back(node);
    for (const auto& [method, same] : by_method) {
      PROFD_RETURN_IF_ERROR(Pass(*relay, method, same, deadline_ns));
    }
    return {};
  }

  Status Reach(Relay* relay, uint64_t deadline_ns) const {
    if (relay->way) return {};
    Context one = context_;
    one.host = relay->host;
    one.deadline_ns = deadline_ns;
    PROFD_ASSIGN_OR_RETURN(Connection way, Connect(one));
    if (context_.at_wall_ns != 0) {
      PROFD_ASSIGN_OR_RETURN(relay->clock, way.control->MeasureClock());
    }
    relay->way = std::move(way);
    return {};
  }

  Status Pass(const Relay& relay, const std::string& method, const std::vector<Node*>& nodes,
              uint64_t deadline_ns) const {
    v1::RelayRequest request;
    request.set_method(method);
    request.set_request(RequestOf(*nodes.front(), relay));
    request.set_together(true);
    std::unordered_map<std::string, Node*> by_host;
    for (Node* node : nodes) {
      v1::RelayCall* call = request.add_calls();
      call->set_host(node->answer.host);
      if (node->call().request != nodes.front()->call().request) call->set_request(RequestOf(*node, relay));
      by_host[node->answer.host] = node;
    }
    return relay.way->control->Relay(request, deadline_ns, [&](v1::RelayAnswer& answer) {
      const auto found = by_host.find(answer.host());
      if (found == by_host.end()) return;
      Exchange::Call& call = found->second->call();
      call.is_answered = true;
      call.code = answer.code();
      call.message = std::move(*answer.mutable_message());
      call.from_node = answer.from_node();
      call.reply = std::move(*answer.mutable_reply());
      found->second->answer.via = relay.host;
    });
  }

  // An instant by the relay's clock, which gives the node one by the node's.
  static std::string RequestOf(const Node& node, const Relay& relay) {
    const Exchange::Call& call = node.call();
    v1::StartRequest start;
    if (call.method != "Start" || !start.ParseFromString(call.request) || start.spec().at_wall_ns() == 0)
      return call.request;
    SetInstant(start.spec().at_wall_ns(), relay.clock, start.mutable_spec());
    return start.SerializeAsString();
  }

  void AskTheRest() {
    for (Node& node : nodes_) {
      if (!node.IsWaiting()) continue;
      if (node.peer == nullptr) node.peer = std::make_shared<remote::Peer>(node.answer.host, credentials_);
      node.answer.via.clear();
      node.is_asked = true;
      direct_.Ask({node.peer, &node.call()});
    }
    direct_.Await();
  }

  const Way way_;
  const Context context_;
  const remote::Credentials credentials_;
  std::vector<Node> nodes_;
  std::vector<Relay> relays_;
  Direct direct_;
};

}  // namespace

Result<std::vector<Answer>> AskInRounds(const Way& way, const Context& context,
                                        const std::vector<std::string>& hosts,
                                        const std::function<Asking<ExitCode>(const Context&)>& verb) {
  PROFD_ASSIGN_OR_RETURN(remote::Credentials credentials, CredentialsOf(context));
  return Fleet(way, context, hosts, std::move(credentials)).Ask(verb);
}

}  // namespace profd::client
