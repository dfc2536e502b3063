// Directories that are kept in the spool, on disk: found, measured, pinned, removed. Everything below a
// user's folder is untrusted, and done with that user's rights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/store/spool/retention.h"

namespace profd::store {

// All of these block on the disk: on a thread of their own, whose identity they change and set back.

struct KeptSpool {
  std::vector<Kept> kept;
  // What else there is in users' folders and counts for their quotas.
  std::map<uid_t, uint64_t> other_bytes;
};
// Directories whose manifest says that they are being written are not among them. Finishes removals that were
// cut short.
KeptSpool ScanSpool(const std::string& spool);
// What users' folders take on disk, whatever is in them, by the name of the folder.
struct FolderSize {
  uid_t uid = 0;
  uint64_t bytes = 0;
  uint64_t files = 0;  // with folders
};
std::map<std::string, FolderSize> MeasureFolders(const std::string& spool);
base::Result<Kept> FindKept(const std::string& spool, const std::string& user, const std::string& name);

// What a manifest said of what was removed.
struct RemovedTrace {
  uint64_t bytes = 0;  // as records, what had aged before left out
  uint64_t records = 0;
};
// kAborted while a reader holds it: a shared flock() of the directory. Somebody may have its files open: it
// waits so long for the room that they take.
base::Result<RemovedTrace> RemoveKept(const std::string& spool, const Kept& kept,
                                      uint64_t room_patience_ns = 0);
base::Status PinKept(const std::string& spool, const std::string& user, const std::string& name, bool pinned);

}  // namespace profd::store
