#include "daemon/fabric/clients.h"

#include <algorithm>
#include <utility>

namespace profd::fabric {

using base::Code;
using base::Status;

namespace {

// torch_npu's client sleeps a second at least.
constexpr uint64_t kQuickNs = 500'000'000;
// MindSpore's client polls again as soon as it has an answer. It takes 50 ms for one that is late, and reads
// one behind from then on.
constexpr uint64_t kPaceNs = 40'000'000;

}  // namespace

Clients::Entry* Clients::EntryOf(const Sender& sender) {
  const Key key(sender.pid, sender.address);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    if (found->second.client.sender.uid == sender.uid) return &found->second;
    Drop(found);  // it has become somebody else
  }
  Sweep();
  if (entries_.size() >= kMost || of_user_[sender.uid] >= kMostOfUser) {
    if (of_user_[sender.uid] == 0) of_user_.erase(sender.uid);
    return nullptr;
  }
  ++of_user_[sender.uid];
  Entry& made = entries_[key];
  made.client.id = next_id_++;
  made.client.sender = sender;
  made.client.first_wall_ns = timers_.WallNs();
  if (on_new_) on_new_(sender.pid);
  return &made;
}

Clients::Entry* Clients::EntryOf(uint64_t client) {
  for (auto& [key, entry] : entries_) {
    if (entry.client.id == client) return &entry;
  }
  return nullptr;
}

Clients::Answer Clients::Take(const Sender& sender, const Message& message) {
  Entry* entry = EntryOf(sender);
  if (entry == nullptr) {
    if (std::holds_alternative<Registration>(message)) return {RegisteredAnswer(1)};
    return {std::holds_alternative<Poll>(message) ? PollAnswer("") : ""};
  }
  Client& client = entry->client;
  client.sender.socket = sender.socket;
  client.last_ns = timers_.RawNs();
  client.last_wall_ns = timers_.WallNs();
  if (const auto* poll = std::get_if<Poll>(&message)) return TakePoll(*entry, *poll);
  if (const auto* registration = std::get_if<Registration>(&message)) {
    client.rank = registration->rank;
    client.job = registration->job;
    return {RegisteredAnswer(CountOf(client))};
  }
  if (const auto* report = std::get_if<Report>(&message)) {
    client.family = Family::kMonitor;
    if (report->of_trace) client.trace = *report;
    if (report->of_trace && entry->order && entry->handed) {
      const auto on_event = entry->order->on_event;
      on_event(Order::Event::kReport, Client(client));
    }
  }
  return {};
}

Clients::Answer Clients::TakePoll(Entry& entry, const Poll& poll) {
  Client& client = entry.client;
  const uint64_t now_ns = timers_.RawNs();
  if (client.polled_ns != 0) {
    client.period_ns = now_ns - client.polled_ns;
    client.quick_polls =
        client.period_ns < kQuickNs ? std::min(client.quick_polls + 1, Client::kQuickPolls) : 0;
  }
  client.polled_ns = now_ns;
  client.job = poll.job;
  if (poll.kinds == kOfMonitor) client.family = Family::kMonitor;
  client.busy = (poll.kinds & kActivities) == 0;
  if (!entry.order || entry.handed || client.busy)
    return {PollAnswer(""), client.never_sleeps() ? kPaceNs : 0};
  entry.handed = true;
  Answer answer{PollAnswer(entry.order->text)};
  const auto on_event = entry.order->on_event;
  on_event(Order::Event::kHanded, Client(client));
  return answer;
}

// Of the same job and rank, as they say.
int32_t Clients::CountOf(const Client& client) const {
  return static_cast<int32_t>(std::ranges::count_if(entries_, [&client](const auto& entry) {
    const Client& other = entry.second.client;
    return other.sender.uid == client.sender.uid && other.job == client.job && other.rank == client.rank;
  }));
}

void Clients::Drop(std::map<Key, Entry>::iterator entry) {
  const auto user = of_user_.find(entry->second.client.sender.uid);
  if (--user->second == 0) of_user_.erase(user);
  Entry gone = std::move(entry->second);
  entries_.erase(entry);
  if (gone.order) gone.order->on_event(Order::Event::kGone, gone.client);
}

void Clients::Sweep() {
  const uint64_t now_ns = timers_.RawNs();
  std::vector<Key> silent;
  for (const auto& [key, entry] : entries_) {
    if (now_ns - entry.client.last_ns > kForgottenNs) silent.push_back(key);
  }
  for (const Key& key : silent) {
    if (const auto found = entries_.find(key); found != entries_.end()) Drop(found);
  }
}

void Clients::Forget(pid_t pid) {
  for (;;) {
    const auto found = entries_.lower_bound({pid, ""});
    if (found == entries_.end() || found->first.first != pid) return;
    Drop(found);
  }
}

void Clients::ForgetAddress(const Sender& sender) {
  if (const auto found = entries_.find({sender.pid, sender.address}); found != entries_.end()) Drop(found);
}

std::vector<Client> Clients::All() {
  Sweep();
  std::vector<Client> all;
  all.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) all.push_back(entry.client);
  return all;
}

std::optional<Client> Clients::Find(pid_t pid) {
  Sweep();
  std::optional<Client> best;
  for (auto at = entries_.lower_bound({pid, ""}); at != entries_.end() && at->first.first == pid; ++at) {
    const Client& client = at->second.client;
    if (!best || (client.family == Family::kMonitor && best->family != Family::kMonitor)) best = client;
  }
  return best;
}

Status Clients::Place(uint64_t client, Order order) {
  Sweep();
  Entry* entry = EntryOf(client);
  if (entry == nullptr) {
    return {Code::kNotFound, "it does not poll the dynolog fabric any more"};
  }
  if (entry->order) {
    return {Code::kAborted, "pid " + std::to_string(entry->client.sender.pid) + " is recorded by " +
                                entry->order->of + " through the dynolog fabric already; stop that first"};
  }
  entry->client.order_of = order.of;
  entry->order = std::move(order);
  entry->handed = false;
  return Status::Ok();
}

bool Clients::Withdraw(uint64_t client) {
  Entry* entry = EntryOf(client);
  if (entry == nullptr || !entry->order) return false;
  entry->order.reset();
  entry->client.order_of.clear();
  return !std::exchange(entry->handed, false);
}

}  // namespace profd::fabric
