// What the profiles have in common: their files, and the thread that makes the lines of them.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/host/probes/probe.h"
#include "daemon/host/stacks/profile_thread.h"

namespace profd::host {

// **Thread:** sample.
class ProfileProbe final : public Probe {
 public:
  using Start = std::function<base::Result<ProfileThread>(std::vector<NamedPid> members)>;

  ProfileProbe(const ProbeOptions& options, const ProbeContext& context, std::string_view file,
               std::string_view names_file, const Start& start);

  void Sample(const Tick& tick) override;
  // The rings have kept what was to be had.
  void Miss(const Tick&, uint64_t, uint64_t) override {}
  bool MayFinish() override;
  void Finish(const Tick& tick) override;

 private:
  std::vector<NamedPid> Members() const;
  void Write(const Tick& tick);

  Family& family_;
  RowStream& samples_;
  RowStream& names_;
  std::optional<ProfileThread> thread_;
  bool first_ = true;
  ProfileLines lines_;  // not yet written
  uint64_t written_at_ns_ = 0;
};

// What a ProfileBook reads: samples with stacks, of which `stack_bytes` are copied, and where code comes and
// goes. The event is not enabled yet.
void AskForStacks(perf_event_attr& attr, uint32_t stack_bytes);

// What can be said of the frames that a profile of these processes will have, and of their names.
std::string FramesNote(const Family& family);

}  // namespace profd::host
