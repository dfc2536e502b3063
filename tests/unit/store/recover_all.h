// Recovery of a whole spool.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/store/spool/recovery.h"

namespace profd::store {

// All of a spool, as profd does it after a start.
inline std::vector<mend::Mended> RecoverAll(const std::string& spool, const mend::IsFileOf& is_file_of) {
  std::vector<mend::Mended> all;
  FolderVisit visit;
  visit.directory = [&](const UserFolder& folder, const std::string& user, const std::string& name) {
    auto mended = RecoverDirectory(folder, spool + "/" + user, name, base::WallNs(), is_file_of);
    if (mended) all.push_back(std::move(*mended));
  };
  visit.done = [](const std::string&, uid_t, size_t) {};
  visit.failed = [](const std::string&, const base::Status&) {};
  VisitFolders(spool, UINT64_MAX, visit);
  return all;
}

}  // namespace profd::store
