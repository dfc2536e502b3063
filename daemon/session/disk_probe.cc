#include "daemon/session/disk_probe.h"

#include <fcntl.h>

#include "base/unique_fd.h"
#include "daemon/store/files/write_probe.h"

namespace profd::session {

namespace {

constexpr double kFrom = 10e6;  // bytes per second; any disk takes less
constexpr uint64_t kAfterNs = 1'000'000'000;
constexpr uint64_t kEveryNs = 600'000'000'000;

}  // namespace

void DiskProbe::Ask(const std::shared_ptr<Session>& session) {
  if (session->WriteRate() < kFrom) return;
  const dev_t device = session->file_system();
  Disk& disk = disks_[device];
  if (disk.until_ns > timers_.RawNs()) {
    if (disk.bytes_per_second > 0) session->NoteProbe(disk.bytes_per_second);
    return;
  }
  disk = {timers_.RawNs() + kEveryNs, 0};
  const auto parent = std::make_shared<base::UniqueFd>(::fcntl(session->parent(), F_DUPFD_CLOEXEC, 0));
  timers_.After(kAfterNs, [this, parent, device, owner = session->owner(), weak = std::weak_ptr(session)] {
    if (weak.expired()) return;
    aside_.RunFor(
        owner.uid,
        [this, parent, device, owner, weak] {
          const base::Result<double> rate = store::ProbeWriteRate(parent->get(), owner.uid, owner.gid);
          return [this, device, weak, rate] {
            if (!rate.ok()) return;
            disks_[device].bytes_per_second = *rate;
            if (const auto session = weak.lock()) session->NoteProbe(*rate);
          };
        },
        [](const base::Status&) {});  // the writer will tell
  });
}

}  // namespace profd::session
