// When files that are removed give up their room: once nobody has them open any more, which the kernel tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace profd::store {

// Made before they are removed, of the files of a PROF directory. Of what cannot be watched it knows nothing.
class Departure {
 public:
  explicit Departure(int dir);

  // After their removal: until all of them are gone, or so long. False: some are not.
  bool Wait(uint64_t patience_ns);

 private:
  void Watch(int dir, const std::string& path, int depth);

  base::UniqueFd events_;
  size_t left_ = 0;
};

}  // namespace profd::store
