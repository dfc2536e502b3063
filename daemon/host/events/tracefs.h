// The kernel's tracing folder: numbers of its tracepoints, and tracepoints of one's own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

namespace profd::host {

// Of "raw_syscalls/sys_enter", as this kernel counts. Any thread.
base::Result<uint64_t> TracepointNumber(const std::string& name);

// A tracepoint in code of a program's or a library's file, which everybody on the machine sees and nobody has
// until an event is opened for it.
// **Thread:** one. **Owns:** the tracepoint.
class UserTracepoint {
 public:
  // Opens the file that they are made through while profd may, unless it has, and removes those that a profd
  // has left behind that is no more. Before other threads.
  static void Hold();
  // In a stand-in: opens that file anew. A write that hangs keeps all others from writing that came of the
  // same open().
  static void BeAlone();
  // Those of processes that are no more.
  static void RemoveLeftBehind();
  // Whether that could be.
  static base::Status Check();
  // Where the functions at these places of the file begin or, `of_returns`, where they return. May have to
  // wait for the file.
  static base::Result<UserTracepoint> Make(const std::string& path, std::span<const uint64_t> offsets,
                                           bool of_returns);

  UserTracepoint(UserTracepoint&& other) noexcept : name_(std::move(other.name_)) { other.name_.clear(); }
  UserTracepoint& operator=(UserTracepoint&&) = delete;
  UserTracepoint(const UserTracepoint&) = delete;
  UserTracepoint& operator=(const UserTracepoint&) = delete;
  // Its events are to be closed.
  ~UserTracepoint();

  const std::string& name() const { return name_; }

 private:
  explicit UserTracepoint(std::string name) : name_(std::move(name)) {}

  std::string name_;  // "profd_123/f7"
};

}  // namespace profd::host
