#include "daemon/store/spool/recovery.h"

#include "format/mend/files.h"

namespace profd::store {

std::optional<mend::Mended> RecoverDirectory(const UserFolder& folder, const std::string& path,
                                             const std::string& name, uint64_t before_wall_ns,
                                             const mend::IsFileOf& is_file_of) {
  mend::Mended result;
  result.directory = path + "/" + name;
  const base::UniqueFd dir = mend::OpenDir(folder.dir(), name, folder.uid());
  if (!dir) {
    result.remarks.emplace_back("no directory of the user's: left alone");
    return result;
  }
  if (mend::IsWrittenByAnother(name) ||
      !mend::Mend(dir.get(), folder.uid(), before_wall_ns, is_file_of, result))
    return std::nullopt;
  return result;
}

}  // namespace profd::store
