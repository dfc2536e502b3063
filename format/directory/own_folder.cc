#include "format/directory/own_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace profd::format {

std::string ManifestPath() { return std::string(kOwnFolder) + "/" + kManifestFile; }

std::string OwnFolderIn(int dir) {
  struct stat facts {};
  const auto has = [&](const char* name) { return ::fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW) == 0; };
  return !has(kOwnFolder) && has(kFormerOwnFolder) ? kFormerOwnFolder : kOwnFolder;
}

}  // namespace profd::format
