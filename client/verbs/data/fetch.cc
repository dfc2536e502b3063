#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/unique_fd.h"
#include "client/files/output_dir.h"
#include "client/files/own_folder.h"
#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

struct Options {
  std::string session;
  std::string out;
};

constexpr char kUnderWay[] = ".fetching_";

// "a/b/c" of plain names: what another machine sends must not lead out of the directory.
bool IsBelow(const std::string& path) {
  if (path.empty() || path.size() > 4096) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == ".." || name.find('\0') != std::string::npos) return false;
    begin = end + 1;
  }
  return true;
}

// One directory on its way here: files arrive one after the other, each checked at its end.
class Arrival {
 public:
  // `root`: the caller's own folder, to which `shown` led.
  Arrival(UniqueFd root, std::string shown) : root_(std::move(root)), shown_(std::move(shown)) {}

  // Where an attempt before this one ended: its last file may be cut off, all before it are whole.
  Result<std::pair<std::string, uint64_t>> Resume() const {
    std::pair<std::string, uint64_t> at;
    std::error_code error;
    const fs::path root = PathOf(root_) + "/";
    for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->is_symlink(error) || !entry->is_regular_file(error)) continue;
      const std::string path = entry->path().lexically_relative(root);
      if (path >= at.first) at = {path, entry->file_size(error)};
    }
    return at;
  }

  Status Take(const v1::FetchPiece& piece) {
    const bool is_folder = piece.path().ends_with('/');
    const std::string name = piece.path().substr(0, piece.path().size() - (is_folder ? 1 : 0));
    if (!IsBelow(name)) return {Code::kDataLoss, "profd sent a file '" + OneLine(piece.path()) + "'"};
    if (is_folder) return OpenOwnFolders(root_.get(), name, shown_).status();
    PROFD_RETURN_IF_ERROR(Open(piece.path()));
    if (piece.offset() != size_) {
      return {Code::kDataLoss, piece.path() + ": byte " + std::to_string(piece.offset()) + " came where " +
                                   std::to_string(size_) + " was expected; remove " + shown_ +
                                   " and fetch again"};
    }
    const std::string& data = piece.data();
    for (size_t done = 0; done < data.size();) {
      const ssize_t put = ::write(file_.get(), data.data() + done, data.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return Status::FromErrno("write " + shown_ + "/" + path_);
      done += static_cast<size_t>(put);
    }
    size_ += data.size();
    sum_ = base::Crc32c(data.data(), data.size(), sum_);
    bytes_ += data.size();
    if (!piece.end_of_file()) return {};
    if (sum_ != piece.crc32c()) {
      ::unlinkat(folder_.get(), fs::path(path_).filename().c_str(), 0);
      return {Code::kDataLoss, path_ + ": the checksum is wrong; fetch again"};
    }
    file_.Reset();
    path_.clear();
    ++files_;
    return {};
  }
  // Every file that was begun has ended.
  bool whole() const { return path_.empty(); }
  uint64_t files() const { return files_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Status Open(const std::string& path) {
    if (path == path_) return {};
    if (!path_.empty()) return {Code::kDataLoss, path_ + " has no end; fetch again"};
    const fs::path target = path;
    if (target.has_parent_path()) {
      PROFD_ASSIGN_OR_RETURN(folder_, OpenOwnFolders(root_.get(), target.parent_path(), shown_));
    } else {
      folder_.Reset(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    }
    file_.Reset(::openat(folder_.get(), target.filename().c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640));
    if (!file_) return Status::FromErrno("create " + shown_ + "/" + path);
    path_ = path;
    size_ = 0;
    sum_ = 0;
    // What an earlier attempt has brought counts for the checksum.
    std::vector<char> buffer(1u << 20);
    for (ssize_t got; (got = ::read(file_.get(), buffer.data(), buffer.size())) != 0;) {
      if (got < 0) return Status::FromErrno("read " + shown_ + "/" + path);
      sum_ = base::Crc32c(buffer.data(), static_cast<size_t>(got), sum_);
      size_ += static_cast<uint64_t>(got);
    }
    return {};
  }

  const UniqueFd root_;
  const std::string shown_;
  std::string path_;  // of the file under way, "" = none
  UniqueFd folder_, file_;
  uint64_t size_ = 0;
  uint32_t sum_ = 0;
  uint64_t files_ = 0, bytes_ = 0;
};

// Into `out`, under its own name when it is whole; the bytes that came.
Result<uint64_t> FetchDirectory(ControlClient& control, const std::string& session,
                                const std::string& directory, const OutputDir& out) {
  const std::string name = fs::path(directory).filename();
  if (!IsBelow(name)) return Status(Code::kDataLoss, "profd named a directory '" + OneLine(directory) + "'");
  struct stat there {};
  if (::fstatat(out.fd.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) ==
      0) {  // fetched before, by the caller
    PROFD_RETURN_IF_ERROR(OpenOwnFolder(out.fd.get(), name, out.path + "/" + name).status());
    return uint64_t{0};
  }
  const std::string under_way = kUnderWay + name;
  PROFD_ASSIGN_OR_RETURN(UniqueFd folder, OpenOwnFolder(out.fd.get(), under_way, out.path + "/" + under_way));
  Arrival arrival(std::move(folder), out.path + "/" + under_way);
  PROFD_ASSIGN_OR_RETURN(const auto at, arrival.Resume());
  v1::FetchRequest request;
  request.set_session(session);
  request.set_directory(directory);
  request.set_from_path(at.first);
  request.set_from_offset(at.second);
  PROFD_RETURN_IF_ERROR(
      control.Fetch(request, [&](const v1::FetchPiece& piece) { return arrival.Take(piece); }));
  if (!arrival.whole()) return Status(Code::kDataLoss, name + " ended in the middle of a file; fetch again");
  if (::renameat2(out.fd.get(), under_way.c_str(), out.fd.get(), name.c_str(), RENAME_NOREPLACE) != 0)
    return Status::FromErrno("name " + out.path + "/" + name);
  return arrival.bytes();
}

ExitCode Run(const Context& context, const Options& options) {
  base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  const base::Result<v1::SessionInfo> info = connection->control->Get(options.session).Now();
  if (!info.ok()) return context.Fail(info.status());
  const base::Result<OutputDir> output = OpenOutputDir(options.out.empty() ? "." : options.out);
  if (!output.ok()) return context.Fail(output.status());
  const fs::path out = output->path;
  v1::SessionInfo here = *info;
  here.clear_directories();
  uint64_t bytes = 0;
  for (const std::string& directory : info->directories()) {
    const Result<uint64_t> fetched =
        FetchDirectory(*connection->control, info->session(), directory, *output);
    if (!fetched.ok()) {
      DropOutputDir(*output);  // as long as nothing is in it
      return context.Fail(fetched.status());
    }
    bytes += *fetched;
    here.add_directories(out / fs::path(directory).filename());
  }
  if (here.directories_size() > 0) here.set_directory(here.directories(here.directories_size() - 1));
  if (context.json) {
    context.Print(SessionJson(here));
    return ExitCode::kOk;
  }
  for (const std::string& directory : here.directories()) context.Print(directory + "\n");
  context.Print(FormatBytes(static_cast<double>(bytes)) + " fetched, checksums right\n");
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("SESSION", &options->session, kSessionHelp).Required();
  arguments.Text("--out", &options->out, "directory they come into; default .");
  return {.run = [options](const Context& context) { return Run(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Fetch() {
  return {"fetch", "copy a session's directories here, from profd's spool; continues after an interruption",
          Reach::kStreams, Define};
}
}  // namespace verbs

}  // namespace profd::client
