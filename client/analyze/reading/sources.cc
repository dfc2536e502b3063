#include "client/analyze/reading/sources.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "format/decode/host/cpu_profile.h"

namespace profd::analyze {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

constexpr int kDeepest = 8;
constexpr int kDepthOfJob = 2;  // JOB/NODE/PROF_…
constexpr char kResults[] = "ASCEND_PROFILER_OUTPUT";

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

// "…_12.db" → 12.
int64_t NumberAtEnd(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(last == name.npos ? 0 : last + 1);
  int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && !digits.empty() ? number : -1;
}

bool IsFrameworkDatabase(const std::string& name) {
  return name.ends_with(".db") &&
         (name.starts_with("ascend_pytorch_profiler") || name.starts_with("ascend_mindspore_profiler"));
}

// A PROF directory that holds what was recorded, and not only what somebody has made of it.
bool HasRecords(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& side : Entries(folder)) {
    const std::string name = side.filename();
    if (name != "host" && !name.starts_with("device_")) continue;
    const fs::path data = side / "data";
    if (IsFolder(data) && !fs::is_empty(data, error)) return true;
  }
  // Of programs alone: what their agents and the kernel told lies beside (docs/formats.md).
  return std::ranges::any_of(Entries(folder / ".profiler"), [](const fs::path& file) {
    const std::string name = file.filename();
    return name.starts_with("agent_") || name.starts_with(format::kOffCpuFile) ||
           name.starts_with(format::kCpuProfileFile);
  });
}

class Finder {
 public:
  Finder(std::vector<Source>& sources, std::vector<Note>& notes) : sources_(sources), notes_(notes) {}

  void Look(const fs::path& folder, int depth) {
    depth_ = depth;
    const std::string name = folder.filename();
    if (depth > kDeepest || name == "cluster_analysis_output") return;
    if (LookAtFramework(folder)) return;
    if ((depth == 0 || name.starts_with("PROF_")) && HasRecords(folder)) {
      Add({Source::Form::kCapture, folder, -1}, folder);
      return;
    }
    for (const fs::path& entry : Entries(folder)) {
      if (IsFolder(entry)) {
        Look(entry, depth + 1);
      } else {
        depth_ = depth + 1;
        LookAtFile(entry);
      }
    }
  }

  // They lie in several folders, and deeper than the folders of a job's nodes or ranks do: more likely they
  // are of several jobs. "" = they do not.
  std::string Strewn(const std::string& given) const {
    if (folders_.size() < 2 || deepest_ <= kDepthOfJob) return "";
    return given + " is not a recording and not the folder of a job; below it are " + std::to_string(found_) +
           " recordings in " + std::to_string(folders_.size()) +
           " folders; name those of one job; --recursive takes all of them for one";
  }

  // Recordings that lie in several folders may be of several jobs.
  std::string Scattered() const {
    if (folders_.size() < 2) return "";
    return std::to_string(found_) + " recordings in " + std::to_string(folders_.size()) +
           " folders below it, taken for one job; if they are not, name those of one job";
  }

 private:
  // `top`: the recording's own file or folder.
  void Add(Source source, const fs::path& top) {
    sources_.push_back(std::move(source));
    folders_.insert(top.parent_path());
    deepest_ = std::max(deepest_, depth_);
    ++found_;
  }

  // <host>_<pid>_<stamp>_ascend_pt/: its results, or else what they would be made of.
  bool LookAtFramework(const fs::path& folder) {
    const fs::path results = folder / kResults;
    if (!IsFolder(results)) return false;
    int64_t rank = -1;
    for (const fs::path& entry : Entries(folder)) {
      if (entry.filename().string().starts_with("profiler_info_")) rank = NumberAtEnd(entry.stem().string());
    }
    const size_t before = sources_.size();
    for (const fs::path& entry : Entries(results)) {
      if (!IsFrameworkDatabase(entry.filename())) continue;
      const int64_t named = NumberAtEnd(entry.stem().string());
      Add({Source::Form::kDatabase, entry, named >= 0 ? named : rank}, folder);
    }
    if (sources_.size() > before) return true;
    for (const fs::path& entry : Entries(folder)) {
      if (entry.filename().string().starts_with("PROF_") && IsFolder(entry) && HasRecords(entry))
        Add({Source::Form::kCapture, entry, rank}, folder);
    }
    if (sources_.size() == before) {
      notes_.push_back(
          {folder,
           "this folder of Ascend's PyTorch Profiler has tables as text only, and no PROF directory "
           "with the records they were made of; keep that the next time, or export as db (the "
           "profiler's export_type)",
           true});
    }
    return true;
  }

  void LookAtFile(const fs::path& file) {
    const std::string name = file.filename();
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(file, error))) return;
    if (IsFrameworkDatabase(name) || (name.starts_with("msmonitor_") && name.ends_with(".db"))) {
      Add({Source::Form::kDatabase, file, NumberAtEnd(file.stem().string())}, TopOf(file));
    } else if (name.starts_with("msprof_") && name.ends_with(".db")) {
      Add({Source::Form::kDatabase, file, -1}, TopOf(file));
    }
  }

  // A database in a PROF directory whose records are gone stands for it.
  static fs::path TopOf(const fs::path& file) {
    return file.parent_path().filename().string().starts_with("PROF_") ? file.parent_path() : file;
  }

  std::vector<Source>& sources_;
  std::vector<Note>& notes_;
  std::set<fs::path> folders_;  // that hold recordings
  size_t found_ = 0;
  int depth_ = 0, deepest_ = 0;  // of what is looked at, of the deepest recording
};

}  // namespace

Status FindSources(const std::string& path, bool recursive, std::vector<Source>& sources,
                   std::vector<Note>& notes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error == std::errc::permission_denied)
    return {Code::kPermissionDenied, path + ": you may not look there; ask its owner or root"};
  if (::access(path.c_str(), R_OK) != 0 && errno == EACCES)
    return {Code::kPermissionDenied, path + ": you may not read it; ask its owner or root"};
  if (!fs::exists(status))
    return {Code::kNotFound, path +
                                 ": no such file or directory; name PROF directories, *_ascend_pt folders, "
                                 "databases, folders of these, or sessions"};
  if (fs::is_regular_file(status)) {
    sources.push_back(
        {Source::Form::kDatabase, path,
         IsFrameworkDatabase(fs::path(path).filename()) ? NumberAtEnd(fs::path(path).stem().string()) : -1});
  } else {
    std::string folder = path;
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (fs::is_symlink(fs::symlink_status(folder, error))) folder = fs::canonical(folder, error);
    Finder finder(sources, notes);
    finder.Look(fs::path(folder), 0);
    if (const std::string strewn = finder.Strewn(path); !recursive && !strewn.empty())
      return {Code::kInvalidArgument, strewn};
    if (const std::string scattered = finder.Scattered(); !scattered.empty())
      notes.push_back({path, scattered, false});
  }
  std::ranges::sort(sources);
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return {};
}

}  // namespace profd::analyze
