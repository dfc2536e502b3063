// The files a writer holds open: never more than a fixed number, so that hundreds of streams cannot use up
// the process's descriptors. The one unused longest is closed and opened again when its next bytes come.
#pragma once

#include <cstddef>
#include <list>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::store {

// **Thread:** the writer's. Outlives its files.
class OpenFiles {
 public:
  // A file that may be open at the moment.
  class File {
   public:
    explicit File(OpenFiles& all) : all_(all) {}
    ~File() { Close(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // The descriptor, now the most recently used one; -1 when it is closed.
    int Use();
    // Takes an open descriptor, closing another file when there are too many.
    void Hold(base::UniqueFd fd);
    void Close();

   private:
    friend class OpenFiles;
    OpenFiles& all_;
    base::UniqueFd fd_;
    std::list<File*>::iterator place_;
  };

  explicit OpenFiles(size_t limit) : limit_(limit) {}

  // Runs `make` (→ Result<UniqueFd>); if that finds something used up, which may be descriptors, closes half
  // of the files and tries once more.
  template <typename Make>
  base::Result<base::UniqueFd> Try(Make make) {
    base::Result<base::UniqueFd> made = make();
    if (made.ok() || made.status().code() != base::Code::kResourceExhausted || used_.empty()) return made;
    CloseDownTo(used_.size() / 2);
    return make();
  }

  size_t size() const { return used_.size(); }

 private:
  void CloseDownTo(size_t count);

  const size_t limit_;
  std::list<File*> used_;  // most recently used first
};

}  // namespace profd::store
