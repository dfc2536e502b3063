// Which of the directories that are kept in the spool goes next. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace profd::store {

// A PROF directory in the spool that nothing is written to.
struct Kept {
  std::string user;  // folder in the spool
  std::string name;  // PROF_…
  uid_t uid = 0;
  std::string session;
  uint64_t disk_bytes = 0;
  uint64_t files = 0;  // with folders
  uint64_t end_wall_ns = 0;
  // How old it was when profd saw it first, and when that was (raw). From then on a clock counts that nobody
  // sets: a step of the wall clock makes nothing old.
  uint64_t age_ns = 0;
  uint64_t seen_raw_ns = 0;
  bool pinned = false;
  bool of_running = false;     // its session goes on in a later directory
  uint64_t not_before_ns = 0;  // raw: it was in use, or could not be removed
};

struct Pressure {
  uint64_t raw_ns = 0;
  uint64_t max_age_ns = 0;                  // 0 = any
  std::map<uid_t, uint64_t> excess_by_uid;  // of a user's quota
  uint64_t excess = 0;                      // of the whole spool: its quota, or the room that stays free
  // What a user's folder takes on disk: bytes, or files where these are what is short.
  struct Holding {
    uint64_t all = 0;
    uint64_t fixed = 0;  // of these: not profd's, or pinned
  };
  std::map<uid_t, Holding> holdings;
  uint64_t fair = UINT64_MAX;  // of the file system, for each of them
};

// Who holds more than a fair share with what profd may not remove; the one with most. While there is such a
// user, what others have does not go for the room of all.
std::optional<uid_t> HoldsTooMuch(const Pressure& pressure);

// Index in `kept`, with the reason in words; none: nothing has to go, or nothing may. Sealed sessions first,
// those that a running one has left behind only when no sealed one helps; for the room of all, those of the
// user whose folder takes most; of these the oldest.
struct NextToGo {
  size_t index;
  std::string why;
};
std::optional<NextToGo> ChooseNextToGo(const std::vector<Kept>& kept, const Pressure& pressure);

}  // namespace profd::store
