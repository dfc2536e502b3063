// An *_ascend_pt folder of torch_npu's profiler, or *_ascend_ms of MindSpore's: where its parts are, what it
// says of itself.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "client/export/read/report.h"
#include "format/framework/info.h"

namespace profd::client::framework {

inline constexpr char kRecords[] = "FRAMEWORK", kResults[] = "ASCEND_PROFILER_OUTPUT";

struct Folder {
  std::string path, name;  // without a trailing slash
  bool is_mindspore = false;
  bool is_own = false;  // the PROF directory is profd's, and stands for the records that are not there
  base::UniqueFd dir;
  base::UniqueFd records;  // FRAMEWORK; none: it is not there
  std::string prof;        // the name of the PROF directory in it; "": there is none
  base::UniqueFd prof_dir;
  uint64_t prof_bytes = 0;   // of raw data in it
  std::vector<int> devices;  // of the PROF directory, ascending
  format::framework::ProfilerInfo info;
  format::framework::Clock clock;

  std::string ProfPath() const { return path + "/" + prof; }
  bool IsLevel0() const { return info.level == "Level0"; }
};

// Whether a folder is one: FRAMEWORK is in it, or it is called *_ascend_pt or *_ascend_ms and a PROF
// directory is.
bool IsFolder(const std::string& path);
// Whether a PROF directory lies in one, beside FRAMEWORK.
bool IsIn(const std::string& prof);
// Those right in `path`, by name.
std::vector<std::string> FoldersIn(const std::string& path);

// What is wrong with its control files goes to `report`. `guesses`: what they do not say of the clock.
base::Result<Folder> OpenFolder(const std::string& path, bool guesses, Report& report);

}  // namespace profd::client::framework
