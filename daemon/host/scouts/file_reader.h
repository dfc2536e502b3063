// What reads files below /proc in a stand-in: its end of foreign_files.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/unique_fd.h"
#include "daemon/host/files/proc_file.h"
#include "daemon/host/process/stand_in.h"

namespace profd::host {

// A request is a FileRound and then one FileOrder after the other; the answer to it one FileText with `bytes`
// after the other, of those that were to be read, in their order.
struct FileRound {
  uint64_t place = 0;      // on StandIn::Board(), where it says whose file it reads
  uint64_t most_open = 0;  // files that stay open
};
struct FileOrder {
  enum class What : uint32_t { kRead, kForget };
  uint64_t key = 0;  // of the file, for as long as it is known
  int32_t pid = 0, tid = 0;
  What what = What::kRead;
  uint32_t io = 0;  // else stat
};
constexpr size_t kMostTextBytes = 2048;  // 52 numbers and a name
struct FileText {
  uint64_t key = 0;
  int64_t bytes = 0;  // negative: errno
};

// Such an answer, one text after the other. Whoever gave it has read what others wrote: nothing of it is
// believed but what an honest one could have said, and the first that is not ends it.
class FileTexts {
 public:
  struct Text {
    uint64_t key = 0;
    int error = 0;  // else there is a text
    std::string_view text;
  };
  explicit FileTexts(std::string_view answer) : rest_(answer) {}
  std::optional<Text> Next();

 private:
  std::string_view rest_;
};

// **Thread:** the only one of its process. **Owns:** the files that it keeps open.
class FileReader {
 public:
  // The duty of a stand-in.
  static StandIn::Answer Duty();
  std::string Answer(std::string_view request);

 private:
  void Read(const FileOrder& order, std::string& answer);

  FdBudget budget_{0};
  bool told_budget_ = false;
  std::unordered_map<uint64_t, ProcFile> files_;
};

}  // namespace profd::host
