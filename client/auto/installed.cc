#include "client/auto/installed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <set>
#include <sstream>

#include "base/crc32c.h"
#include "base/unique_fd.h"
#include "client/files/own_folder.h"
#include "client/files/prof_files.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr char kListFolder[] = "/etc/profd", kListName[] = "auto.list";
constexpr uint64_t kMostListBytes = 1 << 20, kMostFileBytes = 1 << 16;
constexpr mode_t kFolderMode = 0755, kListMode = 0644;

// One line of the list: "way checksum path"; a folder's checksum is "-".
struct Line {
  std::string way;
  std::string sum;
  std::string path;
  bool is_folder() const { return sum == "-"; }
};

std::string SumOf(const std::string& text) {
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", base::Crc32c(text.data(), text.size()));
  return sum;
}

std::string FolderOf(const std::string& path) { return path.substr(0, std::max<size_t>(path.rfind('/'), 1)); }
std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::vector<Line>> ReadList(const std::string& root) {
  const Result<UniqueFd> folder = OpenWay(root + kListFolder, IfMissing::kFail);
  if (!folder.ok() && folder.status().error() == ENOENT) return std::vector<Line>();
  if (!folder.ok()) return folder.status();
  if (::faccessat(folder->get(), kListName, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return std::vector<Line>();
  const std::string shown = root + kListFolder + "/" + kListName;
  const Result<std::string> text = ReadSmallFile(folder->get(), kListName, kMostListBytes);
  if (!text.ok()) return Status(text.status().code(), OneLine(shown) + ": " + text.status().message());
  std::vector<Line> lines;
  std::istringstream in(*text);
  for (Line line; in >> line.way >> line.sum >> line.path;) {
    if (!line.path.starts_with('/') || line.path.find("/../") != std::string::npos)
      return Status(Code::kDataLoss,
                    OneLine(shown) + ": '" + Excerpt(line.path) + "' is not a path that profctl auto writes");
    lines.push_back(line);
  }
  return lines;
}

// Whole or not at all, under its name only when it is.
Status WriteFile(int folder, const std::string& name, mode_t mode, const std::string& text,
                 const std::string& shown) {
  const std::string temporary = "." + name + ".new";
  ::unlinkat(folder, temporary.c_str(), 0);
  UniqueFd file(
      ::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  const bool is_whole = file &&
                        ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                        ::fchmod(file.get(), mode) == 0 && ::fsync(file.get()) == 0 &&
                        ::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0;
  if (is_whole) return {};
  const int error = errno;
  if (file) ::unlinkat(folder, temporary.c_str(), 0);
  return Status::FromErrno("write " + OneLine(shown), error);
}

// The folder of `path`; those that are missing are made, and named in `made`.
Result<UniqueFd> OpenOrMake(const std::string& root, const std::string& path,
                            std::vector<std::string>* made) {
  Result<UniqueFd> there = OpenWay(root + path, IfMissing::kFail);
  if (there.ok() || there.status().error() != ENOENT || path.size() <= 1) return there;
  PROFD_ASSIGN_OR_RETURN(const UniqueFd above, OpenOrMake(root, FolderOf(path), made));
  const std::string name = NameOf(path);
  if (::mkdirat(above.get(), name.c_str(), kFolderMode) != 0)
    return Status::FromErrno("create " + OneLine(root + path));
  made->push_back(path);
  UniqueFd folder(::openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder || ::fchmod(folder.get(), kFolderMode) != 0)
    return Status::FromErrno("open " + OneLine(root + path));
  return folder;
}

Status WriteList(const std::string& root, const std::vector<Line>& lines, std::vector<std::string>* made) {
  PROFD_ASSIGN_OR_RETURN(const UniqueFd folder, OpenOrMake(root, kListFolder, made));
  const std::string shown = root + kListFolder + "/" + kListName;
  if (lines.empty()) {
    if (::unlinkat(folder.get(), kListName, 0) == 0 || errno == ENOENT) return {};
    return Status::FromErrno("remove " + OneLine(shown));
  }
  std::string text;
  for (const Line& line : lines) text += line.way + " " + line.sum + " " + line.path + "\n";
  return WriteFile(folder.get(), kListName, kListMode, text, shown);
}

AutoState StateOf(const std::string& root, const Line& line) {
  const Result<UniqueFd> folder = OpenWay(root + FolderOf(line.path), IfMissing::kFail);
  if (!folder.ok()) return AutoState::kMissing;
  const std::string name = NameOf(line.path);
  if (::faccessat(folder->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) return AutoState::kMissing;
  const Result<std::string> text = ReadSmallFile(folder->get(), name, kMostFileBytes);
  return text.ok() && SumOf(*text) == line.sum ? AutoState::kThere : AutoState::kChanged;
}

void RemoveFile(const std::string& root, const std::string& path) {
  const Result<UniqueFd> folder = OpenWay(root + FolderOf(path), IfMissing::kFail);
  if (folder.ok()) ::unlinkat(folder->get(), NameOf(path).c_str(), 0);
}

// The deepest first. One in which there is anything stays.
void RemoveFolders(const std::string& root, std::vector<std::string> folders) {
  std::ranges::sort(folders, std::ranges::greater{}, &std::string::size);
  for (const std::string& path : folders) {
    const Result<UniqueFd> above = OpenWay(root + FolderOf(path), IfMissing::kFail);
    if (above.ok()) ::unlinkat(above->get(), NameOf(path).c_str(), AT_REMOVEDIR);
  }
}

Status CheckFree(const std::string& root, const std::vector<AutoFile>& files,
                 const std::vector<Line>& lines) {
  for (const AutoFile& file : files) {
    const bool is_known =
        std::ranges::any_of(lines, [&](const Line& line) { return line.path == file.path; });
    struct stat found {};
    if (!is_known && ::lstat((root + file.path).c_str(), &found) == 0) {
      return {Code::kAlreadyExists,
              OneLine(root + file.path) +
                  " is there and was not made by profctl auto: nothing was written; remove it "
                  "or keep it"};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<AutoInstalled>> AutoInstalledFiles(const std::string& root) {
  PROFD_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadList(root));
  std::vector<AutoInstalled> files;
  for (const Line& line : lines) {
    if (!line.is_folder()) files.push_back({line.way, line.path, StateOf(root, line)});
  }
  return files;
}

Status InstallAuto(const std::string& root, const std::string& way, const std::vector<AutoFile>& files) {
  PROFD_ASSIGN_OR_RETURN(std::vector<Line> lines, ReadList(root));
  PROFD_RETURN_IF_ERROR(CheckFree(root, files, lines));
  std::vector<std::string> made, written;
  const auto write_all = [&]() -> Status {
    for (const AutoFile& file : files) {
      PROFD_ASSIGN_OR_RETURN(const UniqueFd folder, OpenOrMake(root, FolderOf(file.path), &made));
      PROFD_RETURN_IF_ERROR(
          WriteFile(folder.get(), NameOf(file.path), file.mode, file.text, root + file.path));
      const auto line = std::ranges::find(lines, file.path, &Line::path);
      if (line != lines.end()) {
        line->sum = SumOf(file.text);
      } else {
        written.push_back(file.path);
        lines.push_back({way, SumOf(file.text), file.path});
      }
    }
    // The folder of the list counts, too, but is made by writing it.
    PROFD_RETURN_IF_ERROR(OpenOrMake(root, kListFolder, &made).status());
    for (const std::string& folder : made) lines.push_back({way, "-", folder});
    return WriteList(root, lines, &made);
  };
  Status done = write_all();
  if (done.ok()) return {};
  for (const std::string& path : written) RemoveFile(root, path);
  RemoveFolders(root, made);
  return done;
}

Result<std::vector<AutoInstalled>> RemoveAuto(const std::string& root, const std::string& way) {
  PROFD_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadList(root));
  std::vector<Line> rest;
  std::vector<AutoInstalled> found;
  std::vector<std::string> folders;
  for (const Line& line : lines) {
    if (line.way != way) {
      rest.push_back(line);
    } else if (line.is_folder()) {
      folders.push_back(line.path);
    } else {
      found.push_back({line.way, line.path, StateOf(root, line)});
    }
  }
  if (found.empty() && folders.empty()) return found;
  for (const AutoInstalled& file : found) {
    if (file.state == AutoState::kThere) RemoveFile(root, file.path);
  }
  // Folders in which there is something of another way's become that way's.
  for (const std::string& folder : folders) {
    const auto other = std::ranges::find_if(
        rest, [&](const Line& line) { return line.path.starts_with(folder + "/") || folder == kListFolder; });
    if (other != rest.end()) rest.push_back({other->way, "-", folder});
  }
  std::vector<std::string> made;
  PROFD_RETURN_IF_ERROR(WriteList(root, rest, &made));
  RemoveFolders(root, folders);
  return found;
}

}  // namespace profd::client
