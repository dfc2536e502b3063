#include "client/verify/repair.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "base/unique_fd.h"
#include "client/export/read/capture.h"
#include "client/files/own_folder.h"
#include "format/decode/catalogue.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/directory/side_facts.h"
#include "format/mend/files.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

bool IsFileOf(const std::string& kind, format::Chip chip, std::string_view file) {
  format::SideFacts side;
  side.device = 0;
  side.chip = chip;
  int64_t pid = 0;
  const format::DecoderEntry* entry = format::FindDecoder(file, side, pid);
  return entry != nullptr && NameOf(entry->kind) == kind;
}

// Whether profd sealed it.
Result<bool> IsSealed(int dir, uid_t uid, const std::string& directory) {
  const UniqueFd own = mend::OpenDir(dir, format::OwnFolderIn(dir), uid);
  const auto text = own ? mend::ReadSmall(own.get(), format::kManifestFile) : std::nullopt;
  if (!text)
    return Status(Code::kInvalidArgument,
                  directory + " is not a PROF directory of profd: it has no manifest.json");
  const auto manifest = format::ParseManifest(*text);
  if (!manifest.ok())
    return manifest.status().In(directory + "/" + format::OwnFolderIn(dir) + "/" + format::kManifestFile);
  return manifest->state == "sealed";
}

}  // namespace

Result<mend::Mended> Repair(const std::string& directory) {
  mend::Mended mended;
  mended.directory = directory;
  while (mended.directory.size() > 1 && mended.directory.ends_with('/')) mended.directory.pop_back();
  // By no link but root's and the caller's own, and the directory itself by none.
  const size_t slash = mended.directory.rfind('/') + 1;
  const std::string way = mended.directory.substr(0, slash), last = mended.directory.substr(slash);
  PROFD_ASSIGN_OR_RETURN(const UniqueFd above, OpenWay(way, IfMissing::kFail));
  const UniqueFd dir(::openat(above.get(), last.empty() ? "." : last.c_str(),
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!dir || ::fstat(dir.get(), &facts) != 0) {
    if (errno == ENOTDIR || errno == ELOOP)
      return Status(Code::kInvalidArgument,
                    directory + " is not a directory, or a link to one: name the directory itself");
    return Status::FromErrno("repair " + directory);
  }
  if (facts.st_uid != ::geteuid()) {
    return Status(Code::kPermissionDenied,
                  directory + " belongs to user " + std::to_string(facts.st_uid) +
                      ": only that user repairs it, root too with setpriv or sudo -u");
  }
  PROFD_ASSIGN_OR_RETURN(const bool sealed, IsSealed(dir.get(), facts.st_uid, directory));
  if (::flock(dir.get(), LOCK_EX | LOCK_NB) != 0 ||
      (!sealed && mend::IsWrittenByAnother(CaptureName(directory)))) {
    return Status(
        Code::kAborted,
        directory + " is being written by a running profd, or read: stop its session, or try again later");
  }
  const bool tried = mend::Mend(dir.get(), facts.st_uid, UINT64_MAX, IsFileOf, mended);
  if (tried && !mended.sealed)
    return Status(Code::kInternal,
                  directory + " cannot be sealed: " + (mended.remarks.empty() ? "" : mended.remarks.back()));
  return mended;
}

std::string WhyUnsealed(const std::string& directory) {
  return mend::IsWrittenByAnother(CaptureName(directory))
             ? "it is still being recorded: this is what there is so far"
             : "the recording was cut off: profd ended before it had sealed it; profctl repair seals it";
}

}  // namespace profd::client
