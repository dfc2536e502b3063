// The tickets that are valid now, and whom each one stands for.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/output_dir.h"
#include "daemon/auth/policy.h"
#include "daemon/auth/rights.h"

namespace profd::auth {

// **Thread:** any. **Owns:** the output directories that came through the door and were not taken yet.
class Tickets {
 public:
  // Without `rights` nobody has more than everybody.
  explicit Tickets(const Rights* rights = nullptr) : rights_(rights) {}

  const Rights* rights() const { return rights_; }

  // What the door learned of a peer; `caller.user` is looked up when first needed.
  struct Holder {
    Caller caller;
    std::vector<gid_t> groups;
    base::UniqueFd output_dir;
    uint64_t agent_seat = 0;  // 0: a client
  };
  struct Agent {
    Caller caller;
    uint64_t seat = 0;
  };

  // A new ticket: 64 hex characters from the kernel's generator.
  base::Result<std::string> Issue(Holder holder);
  void Revoke(std::string_view ticket);

  // kUnauthenticated for one that is `uid`'s no more than a thief's; Find() says all else.
  base::Status CheckHolder(std::string_view ticket, uid_t uid);
  // With the standing and the leases of this moment. They may block (a directory service, a file system): not
  // on ctl. kUnauthenticated for a ticket that is unknown or no longer valid, kPermissionDenied for an
  // agent's.
  base::Result<Caller> Find(std::string_view ticket);
  // The same for the ticket of an agent; a client's is denied.
  base::Result<Agent> FindAgent(std::string_view ticket);
  // The directory passed with the ticket's hello; once. Whether its holder may write there is still to be
  // proven (ProbeOutputDir).
  base::Result<PassedDir> TakeOutputDir(std::string_view ticket);

 private:
  struct Entry {
    std::string ticket;
    Holder holder;
  };
  // Needs mutex_ held.
  Entry* Lookup(std::string_view ticket);
  base::Result<Agent> FindHolder(std::string_view ticket);

  const Rights* const rights_;
  std::mutex mutex_;
  // By the first quarter of the ticket, which therefore is no secret; the rest is compared in constant time.
  std::unordered_map<std::string, Entry> entries_;
};

// Name of a user, or the number as text.
std::string UserName(uid_t uid);
// The user of a name or number; kNotFound. May block.
base::Result<uid_t> FindUser(const std::string& text);

}  // namespace profd::auth
