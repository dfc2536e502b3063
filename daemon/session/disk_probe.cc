#include "daemon/session/disk_probe.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/store/write_probe.h"

namespace profd::session {

namespace {

constexpr double kFrom = 10e6;  // bytes per second; any disk takes less
constexpr uint64_t kAfterNs = 1'000'000'000;
constexpr uint64_t kEveryNs = 600'000'000'000;

}  // namespace

void DiskProbe::Ask(const std::shared_ptr<Session>& session) {
  struct stat where {};
  if (session->WriteRate() < kFrom || ::fstat(session->parent(), &where) != 0) return;
  Disk& disk = disks_[where.st_dev];
  if (disk.until_ns > base::MonotonicNs()) {
    if (disk.bytes_per_second > 0) session->NoteProbe(disk.bytes_per_second);
    return;
  }
  disk = {base::MonotonicNs() + kEveryNs, 0};
  const auto parent = std::make_shared<base::UniqueFd>(::fcntl(session->parent(), F_DUPFD_CLOEXEC, 0));
  ctl_.After(kAfterNs,
             [this, parent, device = where.st_dev, owner = session->owner(), weak = std::weak_ptr(session)] {
               if (weak.expired()) return;
               aside_.Run([this, parent, device, owner, weak] {
                 const base::Result<double> rate = store::ProbeWriteRate(parent->get(), owner.uid, owner.gid);
                 return [this, device, weak, rate] {
                   if (!rate.ok()) return;
                   disks_[device].bytes_per_second = *rate;
                   if (const auto session = weak.lock()) session->NoteProbe(*rate);
                 };
               });
             });
}

}  // namespace profd::session
