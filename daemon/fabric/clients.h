// Who polls the fabric, and what is to be handed to them. Who they are says the kernel; of what they say of
// themselves nothing decides who is meant.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/base/timers.h"
#include "daemon/fabric/config_text.h"
#include "daemon/fabric/datagram.h"

namespace profd::fabric {

// As the kernel says it of a datagram.
struct Sender {
  pid_t pid = 0;
  uid_t uid = 0;
  size_t socket = 0;         // which of ours it came to: the answer leaves from there
  std::string address = {};  // sun_path, with its zeros
  gid_t gid = 0;
};

struct Client {
  uint64_t id = 0;  // never of another one
  Sender sender;
  Family family = Family::kKineto;
  bool busy = false;  // its profiler takes no config now
  int64_t job = 0;    // what it says: for people
  std::optional<int32_t> rank = {};
  uint64_t first_wall_ns = 0, last_wall_ns = 0;
  uint64_t last_ns = 0;    // host raw: when it said something, …
  uint64_t polled_ns = 0;  // … polled, …
  uint64_t period_ns = 0;  // … and how long after the poll before
  std::optional<Report> trace = {};
  std::string order_of = {};  // who has ordered a window that is not over; "" = nobody
  bool never_sleeps() const { return quick_polls >= kQuickPolls; }

  static constexpr uint32_t kQuickPolls = 10;
  uint32_t quick_polls = 0;  // in a row
};

// What is to be handed to a client at its next poll, once.
struct Order {
  enum class Event : uint8_t { kHanded, kReport, kGone };
  std::string of;    // who ordered it: "session 3f2a91c0 of alice since …"
  std::string text;  // the config
  std::function<void(Event, const Client&)> on_event;  // kGone: the order is over, too
};

// **Thread:** ctl.
class Clients {
 public:
  static constexpr size_t kMostOfUser = 256, kMost = 1024;
  static constexpr uint64_t kForgottenNs = 60'000'000'000;

  struct Answer {
    std::string datagram;   // "": none
    uint64_t delay_ns = 0;  // it is due then
  };

  explicit Clients(base::Timers& timers) : timers_(timers) {}
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  // What is said to it. Those beyond the most are answered that there is nothing to do, and not known.
  Answer Take(const Sender& sender, const Message& message);
  // `pid` has ended, or does not answer.
  void Forget(pid_t pid);
  void ForgetAddress(const Sender& sender);
  // Told of every process that is seen first, to watch it.
  void OnNew(std::function<void(pid_t)> on_new) { on_new_ = std::move(on_new); }

  std::vector<Client> All();
  // Of a process with several the one that msMonitor has there.
  std::optional<Client> Find(pid_t pid);
  // kNotFound, or kAborted: it has one.
  base::Status Place(uint64_t client, Order order);
  // Not handed out any more; nobody is told of it further. False: it has been handed out.
  bool Withdraw(uint64_t client);

 private:
  struct Entry {
    Client client;
    std::optional<Order> order;
    bool handed = false;
  };
  using Key = std::pair<pid_t, std::string>;  // with the address

  Entry* EntryOf(const Sender& sender);
  Entry* EntryOf(uint64_t client);
  Answer TakePoll(Entry& entry, const Poll& poll);
  int32_t CountOf(const Client& client) const;
  void Sweep();
  void Drop(std::map<Key, Entry>::iterator entry);

  base::Timers& timers_;
  std::map<Key, Entry> entries_;
  std::map<uid_t, size_t> of_user_;
  std::function<void(pid_t)> on_new_;
  uint64_t next_id_ = 1;
};

}  // namespace profd::fabric
