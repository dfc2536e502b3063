// Folders that profctl writes into where somebody else may write, too: made, or found to be the caller's own,
// and opened without following a link. What is in them is reached by the descriptor only, so that nobody can
// exchange the folder behind profctl's back.
#pragma once

#include <cstdint>
#include <string>

#include "base/files/way.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

enum class FolderOwner : uint8_t {
  kCaller,          // and nobody else may write there: what lies in it counts as the caller's
  kCallerOrParent,  // root may write into a user's folder, below what is that user's
};

// `name`, one plain name, below `parent`; made (0750) where it is missing. `shown` names it in messages.
base::Result<base::UniqueFd> OpenOwnFolder(int parent, const std::string& name, const std::string& shown,
                                           FolderOwner owner = FolderOwner::kCaller);

// The same for each name of "a/b/c"; the last one is returned.
base::Result<base::UniqueFd> OpenOwnFolders(int parent, const std::string& path, const std::string& shown);

// The folder that `path` leads to, by no link but root's and the caller's own: wherever on the way somebody
// else has planted one, it leads where he likes. For calls of its entries, not to read it.
using base::IfMissing;
base::Result<base::UniqueFd> OpenWay(const std::string& path, IfMissing missing);

// A path to an open folder, for calls that take no descriptor: it leads there whatever its name is by now.
std::string PathOf(const base::UniqueFd& folder);

}  // namespace profd::client
