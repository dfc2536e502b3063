#include "daemon/summary/rows_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>

#include "base/crc32c.h"
#include "base/files/way.h"
#include "base/files/whole_file.h"
#include "base/text.h"
#include "format/directory/rows_file.h"

namespace profd::summary {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kMostRows = 250'000;  // of a file: who makes a table of it needs memory for them
constexpr uint64_t kLeastFiles = 8;      // in a full folder: the oldest of so many goes
constexpr size_t kMostOpen = 128;        // files
constexpr mode_t kMode = 0640;           // the folder's group is who ships
constexpr size_t kMostOfLastLine = 256, kMostOfFirstLine = 512;
constexpr size_t kMostOfAcked = 1 << 20;
constexpr size_t kMostOfFile = 256 << 20;

std::string Hex(uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", number);
  return text;
}

Status WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Status::FromErrno("write rows", written < 0 ? errno : EIO);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

std::vector<std::string> NamesIn(int folder) {
  std::vector<std::string> names;
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : ::fdopendir(again), ::closedir);
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries.get())) {
    if (std::string_view(entry->d_name).ends_with(format::kRowsEnd)) names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

std::string LastLine(uint64_t rows, uint64_t first_ns, uint64_t last_ns, uint32_t crc) {
  return std::string(format::kRowsLast.substr(1)) + std::to_string(rows) +
         " first_ns=" + std::to_string(first_ns) + " last_ns=" + std::to_string(last_ns) +
         " crc32c=" + Hex(crc) + "\n";
}

// What stands at the end of a sealed file.
std::string EndOf(int folder, const std::string& name) {
  const base::UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return "";
  char text[kMostOfLastLine];
  const off_t from = std::max<off_t>(0, found.st_size - static_cast<off_t>(sizeof text));
  const ssize_t bytes = ::pread(file.get(), text, sizeof text, from);
  const std::string_view end(text, static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  const size_t line = end.rfind(format::kRowsLast);
  return line == end.npos ? "" : std::string(end.substr(line + 1));
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : base::OneLine(text)) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

RowsFolder::RowsFolder(RowsOptions options, base::UniqueFd folder)
    : options_(std::move(options)), folder_(std::move(folder)) {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = static_cast<uint32_t>(::getpid());
  instance_ = Hex(random);
}

Result<RowsFolder> RowsFolder::Open(RowsOptions options) {
  PROFD_ASSIGN_OR_RETURN(base::UniqueFd folder,
                         base::OpenWay(options.folder, base::IfMissing::kMake, base::Trust::kFolders));
  struct stat found {};
  if (::fstat(folder.get(), &found) != 0 || !S_ISDIR(found.st_mode))
    return Status(Code::kInvalidArgument, base::OneLine(options.folder) + " is no folder: name one");
  base::UniqueFd listed(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listed) return Status::FromErrno("open " + base::OneLine(options.folder));
  if (::flock(listed.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status(Code::kAlreadyExists,
                  base::OneLine(options.folder) + " is used by another profd: name a folder for each");
  }
  RowsFolder opened(std::move(options), std::move(listed));
  for (const std::string& name : NamesIn(opened.folder_.get())) {
    if (name.starts_with('.')) PROFD_RETURN_IF_ERROR(opened.Recover(name));
  }
  return opened;
}

// The lines that are whole, and a last line to them. Of a file without any nothing is kept.
Status RowsFolder::Recover(const std::string& name) {
  const std::string what = "mend " + options_.folder + "/" + base::OneLine(name);
  const base::UniqueFd file(
      ::openat(folder_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Status::FromErrno(what);
  PROFD_ASSIGN_OR_RETURN(std::string text, base::ReadWhole(file.get(), kMostOfFile));
  text.resize(text.rfind('\n') + 1);
  if (const size_t sealed = text.find(format::kRowsLast); sealed != text.npos) text.resize(sealed + 1);
  const auto lines = static_cast<uint64_t>(std::ranges::count(text, '\n'));
  constexpr uint64_t kHeadLines = 2;
  if (lines <= kHeadLines || !format::ParseRowsName(std::string_view(name).substr(1)))
    return ::unlinkat(folder_.get(), name.c_str(), 0) == 0 ? Status() : Status::FromErrno(what);
  struct stat found {};
  ::fstat(file.get(), &found);
  const auto last_ns = static_cast<uint64_t>(found.st_mtim.tv_sec) * 1'000'000'000;
  if (::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0 || ::lseek(file.get(), 0, SEEK_END) < 0)
    return Status::FromErrno(what);
  const uint32_t crc = base::Crc32c(text.data(), text.size());
  const uint64_t first_ns =
      std::max<uint64_t>(format::RowsNumber(text.substr(0, text.find('\n')), "since_ns").value_or(0), 1);
  PROFD_RETURN_IF_ERROR(WriteAll(file.get(), LastLine(lines - kHeadLines, first_ns, last_ns, crc)));
  ::fdatasync(file.get());
  if (::renameat(folder_.get(), name.c_str(), folder_.get(), name.c_str() + 1) != 0)
    return Status::FromErrno(what);
  return {};
}

RowsFolder::Whose RowsFolder::FileFor(const RowsOf& rows) const {
  const Whose own(rows.table, rows.uid);
  return open_.size() < kMostOpen || open_.contains(own) ? own : Whose(rows.table, kNobody);
}

Result<RowsFolder::File*> RowsFolder::FileOf(const RowsOf& rows) {
  const Whose whose = FileFor(rows);
  if (const auto found = open_.find(whose); found != open_.end()) return &found->second;
  const uint64_t sequence = next_[rows.table];
  File file;
  file.name = "." + format::NameOf({rows.table, instance_, sequence});
  file.file.Reset(::openat(folder_.get(), file.name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file.file || ::fchmod(file.file.get(), kMode) != 0)
    return Status::FromErrno("create " + options_.folder + "/" + file.name);
  ++next_[rows.table];
  const std::string head = std::string(format::kRowsHead) + "table=" + rows.table + " node=" + options_.node +
                           " instance=" + instance_ + " sequence=" + std::to_string(sequence) +
                           " since_ns=" + std::to_string(rows.first_ns) +
                           " uid=" + std::to_string(whose.second) + "\n" + rows.columns + "\n";
  if (Status status = WriteAll(file.file.get(), head); !status.ok()) {
    ::unlinkat(folder_.get(), file.name.c_str(), 0);
    return status;
  }
  file.bytes = head.size();
  file.crc = base::Crc32c(head.data(), head.size());
  return &open_.emplace(whose, std::move(file)).first->second;
}

Status RowsFolder::Append(const RowsOf& rows, uint64_t now_ns) {
  PROFD_ASSIGN_OR_RETURN(File* const file, FileOf(rows));
  if (file->rows == 0) {
    file->since_ns = now_ns;
    file->first_ns = rows.first_ns;
  }
  if (Status status = WriteAll(file->file.get(), rows.text); !status.ok()) {
    const auto size = static_cast<off_t>(file->bytes);
    // What cannot be taken back is cut off when the file is mended.
    if (::ftruncate(file->file.get(), size) != 0 || ::lseek(file->file.get(), size, SEEK_SET) < 0)
      open_.erase(FileFor(rows));
    return status;
  }
  file->bytes += rows.text.size();
  file->crc = base::Crc32c(rows.text.data(), rows.text.size(), file->crc);
  file->rows += rows.rows;
  file->first_ns = std::min(file->first_ns, rows.first_ns);
  file->last_ns = std::max(file->last_ns, rows.last_ns);
  return {};
}

Status RowsFolder::Seal(File& file) {
  PROFD_RETURN_IF_ERROR(
      WriteAll(file.file.get(), LastLine(file.rows, file.first_ns, file.last_ns, file.crc)));
  ::fdatasync(file.file.get());
  if (::renameat(folder_.get(), file.name.c_str(), folder_.get(), file.name.c_str() + 1) != 0)
    return Status::FromErrno("seal " + options_.folder + "/" + file.name);
  return {};
}

void RowsFolder::SealAllOf(uint32_t uid) {
  for (auto at = open_.begin(); at != open_.end();) {
    const bool is_theirs = at->first.second == uid && at->second.rows > 0;
    at = is_theirs && Seal(at->second).ok() ? open_.erase(at) : std::next(at);
  }
}

// One that cannot be sealed (the disk is full) is mended at the next start.
void RowsFolder::SealAll() {
  for (auto& [whose, file] : open_) {
    if (file.rows > 0) (void)Seal(file);
  }
  open_.clear();
}

void RowsFolder::SealDue(uint64_t now_ns) {
  for (auto at = open_.begin(); at != open_.end();) {
    File& file = at->second;
    const bool is_due = file.rows > 0 && (file.rows >= kMostRows || now_ns < file.since_ns ||
                                          file.bytes >= options_.keep_bytes / kLeastFiles ||
                                          now_ns - file.since_ns >= options_.seal_after_ns);
    at = is_due && Seal(file).ok() ? open_.erase(at) : std::next(at);
  }
}

// As its first line says; of a file that is older than that word nobody knows.
uint32_t RowsFolder::OwnerOf(const std::string& name) {
  const auto [at, is_new] = owners_.try_emplace(name, kNobody);
  if (!is_new) return at->second;
  const base::UniqueFd file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  char text[kMostOfFirstLine];
  const ssize_t bytes = file ? ::pread(file.get(), text, sizeof text, 0) : 0;
  const std::string_view head(text, static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  const auto uid = format::RowsNumber(head.substr(0, head.find('\n')), "uid");
  if (uid && *uid < kNobody) at->second = static_cast<uint32_t>(*uid);
  return at->second;
}

std::vector<RowsFolder::Removed> RowsFolder::Tidy() {
  RemoveShipped(NamesIn(folder_.get()));
  struct Sealed {
    uint64_t since_ns, bytes;
    std::string name;
  };
  struct Share {
    std::vector<Sealed> sealed;  // oldest last
    uint64_t bytes = 0;
  };
  std::map<uint32_t, Share> shares;
  uint64_t bytes = 0;
  const auto look = [&] {
    shares.clear();
    bytes = 0;
    const std::vector<std::string> names = NamesIn(folder_.get());
    std::erase_if(owners_,
                  [&names](const auto& owner) { return !std::ranges::binary_search(names, owner.first); });
    for (const std::string& name : names) {
      struct stat found {};
      if (::fstatat(folder_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const auto size = static_cast<uint64_t>(found.st_size);
      const uint64_t since_ns = static_cast<uint64_t>(found.st_mtim.tv_sec) * 1'000'000'000 +
                                static_cast<uint64_t>(found.st_mtim.tv_nsec);
      Share& share = shares[OwnerOf(name)];
      share.bytes += size;
      bytes += size;
      if (!name.starts_with('.')) share.sealed.push_back({since_ns, size, name});
    }
    for (auto& [uid, share] : shares) std::ranges::sort(share.sealed, std::greater(), &Sealed::since_ns);
  };
  look();
  std::vector<Removed> removed;
  while (bytes > options_.keep_bytes) {
    const auto most =
        std::ranges::max_element(shares, {}, [](const auto& share) { return share.second.bytes; });
    if (most == shares.end() || most->second.bytes == 0) break;
    const uint32_t uid = most->first;
    Share& share = most->second;
    if (share.sealed.empty()) {
      const size_t open = open_.size();
      SealAllOf(uid);
      if (open_.size() < open) {
        look();
      } else {
        share.bytes = 0;  // nothing of it can go
      }
      continue;
    }
    const Sealed oldest = std::move(share.sealed.back());
    share.sealed.pop_back();
    const std::string end = EndOf(folder_.get(), oldest.name);
    if (::unlinkat(folder_.get(), oldest.name.c_str(), 0) != 0) continue;
    bytes -= oldest.bytes;
    share.bytes -= oldest.bytes;
    const auto name = format::ParseRowsName(oldest.name);
    const auto number = [&end](std::string_view key) { return format::RowsNumber(end, key).value_or(0); };
    removed.push_back({uid, name ? name->table : "", number("rows"), number("first_ns"), number("last_ns")});
  }
  return removed;
}

// The file is somebody else's: what it says counts for sealed files of this folder alone.
void RowsFolder::RemoveShipped(const std::vector<std::string>& names) {
  if (options_.acked.empty()) return;
  const base::UniqueFd file(::open(options_.acked.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return;
  const auto text = base::ReadWhole(file.get(), kMostOfAcked);
  if (!text.ok()) return;
  std::set<std::string, std::less<>> shipped;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    shipped.emplace(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string& name : names) {
    if (!name.starts_with('.') && shipped.contains(name)) ::unlinkat(folder_.get(), name.c_str(), 0);
  }
}

}  // namespace profd::summary
