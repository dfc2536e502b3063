// Texts that records point to: they belong to the library.
#pragma once

#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace profd::sim::mspti {

// **Thread:** any. **Owns:** the texts, until Clear.
class Texts {
 public:
  const char* Keep(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return texts_.insert(text).first->c_str();
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    texts_.clear();
  }

 private:
  std::mutex mutex_;
  std::set<std::string> texts_;
};

}  // namespace profd::sim::mspti
