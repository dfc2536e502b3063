// agent.h for C++: ranges that end with their scope. C++17.
#pragma once

#include "profd/agent.h"

namespace profd {

// A nested range of the calling thread, from here to the end of the scope.
class ScopedRange {
 public:
  explicit ScopedRange(profd_name name) : pushed_(profd_range_push(name) >= 0) {}
  explicit ScopedRange(const char* text) : pushed_(PROFD_ON() && profd_range_push(profd_intern(text)) >= 0) {}
  explicit ScopedRange(const profd_event& event)
      : domain_(event.domain), pushed_(profd_range_push_event(&event) >= 0) {}
  ~ScopedRange() {
    if (pushed_) profd_range_pop_in(domain_);
  }
  ScopedRange(const ScopedRange&) = delete;
  ScopedRange& operator=(const ScopedRange&) = delete;

 private:
  profd_domain domain_ = 0;
  bool pushed_;
};

// A range that may be handed to another thread; ends where it is destroyed.
class MovableRange {
 public:
  explicit MovableRange(profd_name name) : id_(profd_range_start(name)) {}
  explicit MovableRange(const profd_event& event) : id_(profd_range_start_event(&event)) {}
  MovableRange(MovableRange&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  MovableRange& operator=(MovableRange&&) = delete;
  ~MovableRange() {
    if (id_ != 0) profd_range_end(id_);
  }

 private:
  uint64_t id_;
};

// One step of a training loop.
class ScopedStep {
 public:
  explicit ScopedStep(uint64_t step) : step_(step) { profd_step_begin(step); }
  ~ScopedStep() { profd_step_end(step_); }
  ScopedStep(const ScopedStep&) = delete;
  ScopedStep& operator=(const ScopedStep&) = delete;

 private:
  uint64_t step_;
};

}  // namespace profd

#define PROFD_CONCAT_2_(a, b) a##b
#define PROFD_CONCAT_1_(a, b) PROFD_CONCAT_2_(a, b)
// PROFD_SCOPE("forward"); records the rest of the enclosing block.
#define PROFD_SCOPE(text)                                  \
  const ::profd::ScopedRange PROFD_CONCAT_1_(profd_scope_, \
                                             __LINE__)(PROFD_ON() ? PROFD_NAME_ONCE_(text) : profd_name{0})
