// Where PROF directories may go: the spool with a folder per user, or a directory that a client has opened
// and passed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/files/way.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::store {

// profd's own folder in the spool, which nobody else enters.
inline constexpr char kPrivateFolder[] = ".profd";

using base::IfMissing;  // kFail: kNotFound

// The folder that the spool is in; an error where somebody else could put another in the place of the spool,
// or of a folder on the way to it.
base::Result<base::UniqueFd> OpenAboveSpool(const std::string& spool);
// Opens `<spool>/<user>`; what is missing of it is made: the spool 0711 and profd's own, the folder 0750 and
// the user's. Neither may be a symbolic link, nor a directory that others could have put there.
base::Result<base::UniqueFd> OpenSpoolFor(const std::string& spool, uid_t uid, gid_t gid,
                                          const std::string& user, IfMissing missing = IfMissing::kMake);

// Ok for a directory of a file system that holds files. Who may write there was found out with the ticket
// (auth).
base::Status CheckOutputDir(int fd);

// Of a file system; free is what an ordinary user may take.
struct Space {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t free_files = 0;
  uint64_t total_files = 0;  // 0: as many as there is room for
};
base::Result<Space> SpaceOf(int fd);
// How much of it is left where `keep_bytes` stay free. Files run out, too: a sixteenth of them stays free, 10
// 000 at most, and what is left of these is as much of `keep_bytes`.
uint64_t RoomIn(const Space& space, uint64_t keep_bytes);

}  // namespace profd::store
