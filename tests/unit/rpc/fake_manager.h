// A session::Manager that says what a test told it to and remembers what it was asked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session/manager.h"

namespace profd::session {

// **Thread:** calls come on ctl; a test that reads or writes while a server runs takes `mutex`.
struct FakeSessions {
  std::mutex mutex;
  std::map<std::string, SessionInfo> sessions;
  base::Status start_error;
  bool never_answer = false;
  NodeReport node;
  std::vector<Target> targets;
  std::vector<Check> checks;
  std::vector<auth::Lease> leases;
  Taped tape;

  auth::Caller caller;                                                // of the last call
  SessionSpec started;                                                // by the last Start
  StopTarget stopped;                                                 // by the last Stop
  std::pair<std::string, std::shared_ptr<auth::PassedDir>> moved_to;  // by the last Move
  TapeOrder taped;                                                    // by the last Tape
  pid_t doctor_pid = 0;
  uint64_t snapshot_ns = 0;  // of the last Snapshot
  std::vector<std::function<void(base::Result<SessionInfo>)>> unanswered;
};

// The one that every Manager of this program shows.
FakeSessions& Fake();
void ResetFake();

}  // namespace profd::session
