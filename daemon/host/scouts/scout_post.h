// Where profd hears of a scout, which it never waits for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/host/process/stand_in.h"
#include "daemon/host/scouts/scout_texts.h"

namespace profd::host {

// **Thread:** sample. **Owns:** the process of the scout.
class ScoutPost {
 public:
  // Refused while stand-ins of that user hang.
  static base::Result<ScoutPost> Start(uid_t user, StandIn::Work work, const ScoutOrder& order,
                                       std::vector<NamedPid> members);

  void TakeIn(const std::vector<NamedPid>& members);
  // What it has said since the last call; may come in several parts.
  std::optional<ScoutLines> Next();
  // What came of its beginning; nullopt: it has not said yet.
  const std::optional<base::Status>& begun() const { return begun_; }
  const std::string& note() const { return note_; }
  // It takes its last look.
  void End();
  // There is nothing more to come.
  bool ended() const { return ended_; }
  // Then, and before: why there may be something missing; OK: there is not.
  const base::Status& outcome() const { return outcome_; }
  // Its process was killed, by somebody else.
  bool killed() const { return killed_; }
  uint64_t heard_raw_ns() const { return heard_raw_ns_; }
  // It has not answered for so long that its end is not waited for.
  void GiveUp();
  // For poll().
  int fd() const { return stand_in_.channel().fd(); }

 private:
  ScoutPost(StandIn stand_in, std::vector<NamedPid> members);
  void Fail(const base::Status& why);

  StandIn stand_in_;
  const std::string of_;  // "process 4711", for messages
  std::optional<base::Status> begun_;
  std::string note_;
  base::Status outcome_;
  bool ended_ = false, killed_ = false;
  uint64_t heard_ns_, heard_raw_ns_, heard_wall_ns_;
};

}  // namespace profd::host
