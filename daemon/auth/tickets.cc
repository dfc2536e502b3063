#include "daemon/auth/tickets.h"

#include <pwd.h>
#include <sys/random.h>

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "libagent/abi/door.h"

namespace profd::auth {

namespace {

constexpr size_t kKeyChars = abi::kTicketChars / 4;

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

base::Result<std::string> Tickets::Issue(Holder holder) {
  std::array<unsigned char, abi::kTicketChars / 2> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return base::Status::FromErrno("draw a ticket from the kernel's random generator");
  }
  std::string ticket;
  ticket.reserve(abi::kTicketChars);
  for (const unsigned char byte : random) {
    constexpr char kHex[] = "0123456789abcdef";
    ticket += kHex[byte >> 4];
    ticket += kHex[byte & 15];
  }
  const std::lock_guard lock(mutex_);
  entries_.insert_or_assign(ticket.substr(0, kKeyChars), Entry{ticket, std::move(holder)});
  return ticket;
}

void Tickets::Revoke(std::string_view ticket) {
  const std::lock_guard lock(mutex_);
  if (Lookup(ticket) != nullptr) entries_.erase(std::string(ticket.substr(0, kKeyChars)));
}

Tickets::Entry* Tickets::Lookup(std::string_view ticket) {
  if (ticket.size() != abi::kTicketChars) return nullptr;
  const auto it = entries_.find(std::string(ticket.substr(0, kKeyChars)));
  if (it == entries_.end() || !EqualInConstantTime(it->second.ticket, ticket)) return nullptr;
  return &it->second;
}

base::Status Tickets::CheckHolder(std::string_view ticket, uid_t uid) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = Lookup(ticket);
  if (entry == nullptr || entry->holder.caller.uid == uid) return base::Status::Ok();
  return {base::Code::kUnauthenticated,
          "the ticket is another user's than the one's who has connected: knock at the door again"};
}

base::Result<Caller> Tickets::Find(std::string_view ticket) {
  PROFD_ASSIGN_OR_RETURN(Agent holder, FindHolder(ticket));
  if (holder.seat == 0) return std::move(holder.caller);
  return base::Status(base::Code::kPermissionDenied,
                      "the ticket is an agent's, which may only register: knock at the door as a client");
}

base::Result<Tickets::Agent> Tickets::FindAgent(std::string_view ticket) {
  PROFD_ASSIGN_OR_RETURN(Agent holder, FindHolder(ticket));
  if (holder.seat != 0) return holder;
  return base::Status(base::Code::kPermissionDenied,
                      "the ticket is a client's, which may not register: knock at the door as an agent");
}

// A client's comes with seat 0.
base::Result<Tickets::Agent> Tickets::FindHolder(std::string_view ticket) {
  Agent found;
  Caller& caller = found.caller;
  {
    const std::lock_guard lock(mutex_);
    const Entry* entry = Lookup(ticket);
    if (entry == nullptr) {
      return base::Status(base::Code::kUnauthenticated,
                          "the ticket is unknown or its door connection is closed: knock at the door again");
    }
    caller = entry->holder.caller;
    if (rights_ != nullptr) rights_->Grant(caller, entry->holder.groups);
    found.seat = entry->holder.agent_seat;
  }
  if (caller.user.empty()) {
    caller.user = UserName(caller.uid);  // without the lock: may take long
    const std::lock_guard lock(mutex_);
    if (Entry* entry = Lookup(ticket); entry != nullptr) entry->holder.caller.user = caller.user;
  }
  return found;
}

base::Result<PassedDir> Tickets::TakeOutputDir(std::string_view ticket) {
  const std::lock_guard lock(mutex_);
  Entry* entry = Lookup(ticket);
  if (entry == nullptr || !entry->holder.output_dir) {
    return base::Status(
        base::Code::kInvalidArgument,
        "no output directory came with the ticket: pass its descriptor through the door, once a start");
  }
  return PassedDir{.fd = std::move(entry->holder.output_dir),
                   .sender = {entry->holder.caller.uid, entry->holder.caller.gid, entry->holder.groups}};
}

base::Result<uid_t> FindUser(const std::string& text) {
  std::vector<char> buffer(16384);
  passwd storage{};
  passwd* found = nullptr;
  if (::getpwnam_r(text.c_str(), &storage, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_uid;
  }
  uid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size() &&
      number != static_cast<uid_t>(-1)) {
    return number;
  }
  return base::Status(base::Code::kNotFound, "user '" + text + "' is not known on this node");
}

std::string UserName(uid_t uid) {
  std::vector<char> buffer(16384);
  passwd storage{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &storage, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::to_string(uid);
  }
  return found->pw_name;
}

}  // namespace profd::auth
