#include "daemon/store/files/open_files.h"

namespace profd::store {

int OpenFiles::File::Use() {
  if (fd_) all_.used_.splice(all_.used_.begin(), all_.used_, place_);
  return fd_.get();
}

void OpenFiles::File::Hold(base::UniqueFd fd) {
  Close();
  if (all_.used_.size() >= all_.limit_) all_.CloseDownTo(all_.limit_ - 1);
  fd_ = std::move(fd);
  place_ = all_.used_.insert(all_.used_.begin(), this);
}

void OpenFiles::File::Close() {
  if (!fd_) return;
  all_.used_.erase(place_);
  fd_.Reset();
}

void OpenFiles::CloseDownTo(size_t count) {
  while (used_.size() > count) used_.back()->Close();
}

}  // namespace profd::store
