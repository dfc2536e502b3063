// A kind that scouts gather: one for each user whose processes the session looks at, so that one that hangs
// costs that user's part only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/host/probes/probe.h"
#include "daemon/host/scouts/scout_post.h"

namespace profd::host {

// **Thread:** sample. **Owns:** the scouts.
class ScoutProbe final : public Probe {
 public:
  struct Files {
    std::string folder, samples;
    std::string names = "";  // none
  };
  // How scouts know of processes that are born while they look.
  enum class Births : bool { kHeardOf, kToldOf };
  // `order` is the first scout's; `note` what else is to be said of a kind that has begun.
  ScoutProbe(const ProbeOptions& options, const ProbeContext& context, const Files& files, StandIn::Work work,
             const ScoutOrder& order, Births births, std::string note);

  bool MayBegin(const Tick& tick) override;
  void Sample(const Tick& tick) override;
  // Scouts have kept what was to be had.
  void Miss(const Tick&, uint64_t, uint64_t) override {}
  bool MayFinish() override;
  void Finish(const Tick& tick) override;

 private:
  struct Party {
    uid_t user;
    ScoutPost post;
    ScoutLines lines;  // not yet written
    bool told = false;
  };
  // A user whose scout was killed.
  struct Orphaned {
    unsigned times = 0;
    uint64_t again_ns = 0;      // when another is started; 0: none is to be
    uint64_t since_raw_ns = 0;  // nobody looks; 0: somebody does
  };

  void TakeInNew();
  void TakeIn(uid_t user, const std::vector<NamedPid>& members);
  bool Hear(const Tick& tick);
  void Tell(Party& party, const Tick& tick);
  void StartAnew(const Tick& tick);
  void EndGap(Orphaned& orphaned, const Tick& tick);
  void Write(Party& party, const Tick& tick);

  const std::string kind_;
  const std::shared_ptr<ProbeOutcome> outcome_;
  const std::function<void(const std::string&)> trouble_;
  const StandIn::Work work_;
  ScoutOrder order_;
  const Births births_;
  bool first_ = true;  // who was born while events were opened is not known yet
  const std::string note_;
  Family& family_;
  RowStream& samples_;
  RowStream* const names_;  // nullptr: the kind has none
  std::vector<Party> parties_;
  std::map<uid_t, size_t> party_of_user_;
  std::map<pid_t, size_t> party_of_;
  std::map<uid_t, Orphaned> orphaned_;
  base::Status refusal_;  // why some user's are left out
  uint64_t begin_by_ns_;
  uint64_t end_by_ns_ = 0;  // 0: it has not been asked to end
};

}  // namespace profd::host
