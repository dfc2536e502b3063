// The part of a profile that looks into memory and files of the processes. It runs in a stand-in: records of
// the kernel go in, lines come out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/host/perf_ring.h"
#include "daemon/host/stacks/profile_book.h"
#include "daemon/host/stand_in.h"

namespace profd::host {

using NamedPid = std::pair<pid_t, std::string>;

// What one look at the rings has brought, as the text of a request.
class ProfileRound {
 public:
  explicit ProfileRound(ProfileBook::What what) { head_.off_cpu = what == ProfileBook::What::kOffCpu; }

  // Those that the reader may not know yet.
  void TakeIn(const std::vector<NamedPid>& members);
  // What waits now has waited when nobody looked.
  void ForgetWaits() { head_.forget = true; }
  // There is no further round.
  void End(uint64_t now_ns) { head_.end_ns = now_ns; }
  // Members first.
  void Add(PerfRecord record) {
    ++head_.records;
    body_.append(reinterpret_cast<const char*>(record.data()), record.size());
  }
  bool empty() const { return body_.empty() && !head_.forget && head_.end_ns == 0; }
  uint64_t records() const { return head_.records; }
  std::string Text() const {
    return std::string(reinterpret_cast<const char*>(&head_), sizeof head_) + body_;
  }

  struct Head {
    uint64_t end_ns = 0;  // 0: there are further ones
    uint64_t records = 0;
    uint32_t member_bytes = 0;  // they stand in front of the records
    bool off_cpu = false, forget = false;
  };

 private:
  Head head_;
  std::string body_;
};

// What the reader makes of it.
struct ProfileAnswer {
  ProfileLines lines;
  uint64_t switches = 0;  // looked at, ever
  bool has_python = false;
  std::vector<pid_t> strangers;  // new ones, who are no members
};
// False: that is none.
bool ReadProfileAnswer(std::string_view text, ProfileAnswer& answer);

// For StandIn::Start().
StandIn::Answer ProfileDuty();

}  // namespace profd::host
