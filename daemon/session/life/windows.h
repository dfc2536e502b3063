// What a session has asked of programs' own profilers: handed out when they poll, followed until the result
// is there, brought into the session's directory where it can be.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/session/life/trace.h"
#include "daemon/session/plan/windows.h"
#include "daemon/store/spool/bounds.h"

namespace profd::session {

// **Thread:** ctl only; callbacks run on ctl, never from inside the call.
class Windows : public std::enable_shared_from_this<Windows> {
 public:
  struct Setup {
    std::string session;
    std::string holder;  // "session 3f2a91c0 of alice since …", for those who want a program, too
    uid_t uid = 0;       // the session's owner
    gid_t gid = 0;
    std::string directory;  // of the session, for people
    std::string name;       // … below `parent`
    std::shared_ptr<base::UniqueFd> parent;
    std::vector<std::shared_ptr<store::Bound>> quotas;  // that bind what is brought there
    std::vector<WindowStart> starts;
    std::vector<Window> refused;  // with their reasons: shown, and nothing else
  };
  // The folder in profd's own one that results come to: the vendor's analyser stops at others.
  static constexpr char kFolder[] = "frameworks";

  Windows(Services services, Setup setup);
  ~Windows();

  void Begin();
  // Nothing is handed out any more. What was goes on by itself.
  void Stop();
  // One of the targets has ended: what it has left is looked for once more.
  void OnExit(pid_t pid);
  // `over` once the last of them is done or has failed.
  void WhenOver(std::function<void()> over) { on_over_ = std::move(over); }
  bool is_open() const;
  std::vector<Window> Info() const;

 private:
  enum class State : uint8_t { kWaiting, kHanded, kRunning, kDone, kFailed };
  struct Entry {
    WindowStart start;
    Window shown;
    State state = State::kWaiting;
    std::shared_ptr<base::UniqueFd>
        folder;        // where the program writes to, as it sees it; null: not looked at
    std::string file;  // of kineto, in it
    uint64_t handed_ns = 0;
    uint64_t seen_bytes = 0;
    bool looking = false;
    bool exited = false;
    bool ran = false;
  };

  static const char* StateName(State state);
  void Prepare(size_t index);
  void Place(size_t index);
  void OnEvent(size_t index, fabric::Order::Event event, const fabric::Client& client);
  void OnReport(size_t index, const fabric::Report& report);
  void LookLater(size_t index, uint64_t after_ns);
  void Look(size_t index);
  void End(size_t index, State state, std::string text);
  bool IsOpen(const Entry& entry) const { return entry.state < State::kDone; }

  const Services services_;
  const Setup setup_;
  std::vector<Entry> entries_;
  std::vector<base::Timers::Id> timers_;
  std::function<void()> on_over_;
  bool stopped_ = false;
};

}  // namespace profd::session
