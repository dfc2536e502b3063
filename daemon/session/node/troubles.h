// What went wrong in a session, as people read it: the same of several kinds of a device is one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace profd::session {

// **Thread:** ctl.
class Troubles {
 public:
  // Whether it is new.
  bool Add(const std::string& what);
  // Its place, if it is new: other kinds may join it there.
  std::optional<size_t> Add(uint32_t device, const std::string& kind, const std::string& what);

  std::string Text(size_t place) const;
  std::vector<std::string> Texts() const;

 private:
  struct Trouble {
    std::optional<uint32_t> device;
    std::vector<std::string> kinds;
    std::string what;
  };
  std::vector<Trouble> all_;
};

}  // namespace profd::session
