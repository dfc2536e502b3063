// Brings written files to the platter, so that they survive a power cut: on a thread of its own, since that
// may take as long as the disk likes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/store/files/file_system.h"

namespace profd::store {

// When what is written is flushed.
enum class Durability : uint8_t {
  kNone,      // when the kernel likes: within half a minute
  kPeriodic,  // every few seconds
  kSlice,     // each slice once it is closed
  kAlways,    // each before it counts as written: the writer waits (FlushedFileSystem)
};

// What went wrong with the files of one trace. **Thread:** any.
class FlushReport {
 public:
  void Note(const base::Status& status);
  std::string error() const;

 private:
  mutable std::mutex mutex_;
  std::string error_;  // the first
};

// **Thread:** the writer's; the flushing is on the thread "flush", which ends by itself some time after this
// does.
class Flusher {
 public:
  Flusher(FileSystem& fs, Durability durability, uint64_t every_ns);
  ~Flusher();
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  Durability durability() const { return durability_; }
  // Grows when all that was added is on its way to the disk; what is added afterwards goes with the next one.
  uint64_t round() const;
  // Flushes what `fd` holds before long, and has it leave memory then, if `evict`; `key` is the same for the
  // same file. False: there is no room.
  bool Add(uint64_t key, int fd, const std::shared_ptr<FlushReport>& report, bool evict = false);
  // The file is about to be removed: it shall not take room for being held here.
  void Drop(uint64_t key);
  // The same, for every flusher, of what has been removed. **Thread:** any that may wait for a disk.
  static void LetGoOfRemoved();

 private:
  struct Queue;
  struct Queues;

  FileSystem& fs_;
  const Durability durability_;
  const uint64_t every_ns_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace profd::store
