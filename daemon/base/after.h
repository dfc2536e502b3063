// Several answers that are waited for together.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace profd::base {

// Calls `done` after `count` calls of the returned closure; at once when count is 0.
inline std::function<void()> After(size_t count, std::function<void()> done) {
  if (count == 0) {
    done();
    return [] {};
  }
  auto left = std::make_shared<size_t>(count);
  return [left, done = std::move(done)] {
    if (--*left == 0) done();
  };
}

}  // namespace profd::base
