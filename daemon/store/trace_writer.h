// Puts chunks and control files on disk: the only thread that touches one file system. Everything here but
// constructor and destructor returns at once; results come back through callbacks posted to `reply` (ctl's
// executor).
//
// What is written survives the death of profd at any moment, with every file's size on a record edge; a power
// cut it survives once the flusher, a thread of its own, has been there (Durability).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/threads/wake_up.h"
#include "base/unique_fd.h"
#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_spec.h"
#include "daemon/store/files/file_system.h"
#include "daemon/store/files/flusher.h"
#include "daemon/store/loss_log.h"
#include "daemon/store/recent_chunks.h"
#include "daemon/store/spool/budget.h"
#include "format/directory/manifest.h"

namespace profd::store {

// Where a new PROF directory goes and whose it is.
struct TraceSpec {
  base::UniqueFd parent;             // open directory; everything below is made with openat relative to it
  std::string name;                  // "PROF_000001_…"
  std::vector<std::string> folders;  // "host", "device_0" …: created with their data/ folder; our own always
  uid_t uid = 0;                     // owner of all files (fsuid of the creating thread when profd is root)
  gid_t gid = 0;
  uint64_t slice_bytes = 2u << 20;
  Flusher* flusher = nullptr;      // the writer sets it
  std::shared_ptr<Budget> budget;  // of all directories of the session; null: one without a limit
  // Of all directories of a session that is a flight recorder: what streams keep in memory; else null.
  std::shared_ptr<RecentChunks> recent = {};
};

struct ControlFile {
  std::string path;  // below the PROF directory: "device_0/info.json.0"
  std::string content;
  bool done = true;         // also write `<path>.done` (the vendor's marker); false below profd/
  bool done_blank = false;  // sample.json's marker has a blank after the colon
};

// What became of a stream's bytes; a copy, for the manifest.
struct StreamRecord {
  format::StreamKey key;
  std::string folder;
  std::string file;
  std::string kind, unit;  // of its chunk::StreamSpec
  uint64_t slices = 0;
  uint64_t bytes = 0;                // ever stored, without header lines
  uint64_t records = 0;              // ever stored
  format::ManifestAged aged;         // of these
  std::vector<format::Loss> losses;  // neighbours of one cause are merged; at most kMaxLosses kept apart
};

struct TraceRecord {
  std::vector<StreamRecord> streams;
  std::vector<format::ManifestPause> pauses;
  std::string error;        // the first write error, empty when there was none
  uint64_t bytes = 0;       // all files, as written, aged ones included
  bool may_change = false;  // holds slices that the storage limit can still remove, or has some in memory
};

// **Thread:** any; calls of one thread are carried out in order. Owns the thread "write" and the pipes.
class TraceWriter {
 public:
  using Reply = std::function<void(std::function<void()>)>;  // runs a closure on ctl
  static constexpr size_t kMaxLosses = LossLog::kMaxLosses;

  TraceWriter(std::string name, FileSystem& fs, Reply reply, Durability durability = Durability::kNone,
              uint64_t flush_every_ns = 0);
  // Joins after what was queued is written; a trace that is still open is sealed as it is. The sources have
  // stopped.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // A road for one source thread; owned by the writer, valid until both have stopped.
  chunk::Pipe& AddPipe(std::string name, size_t chunk_bytes, size_t chunks, chunk::PipeRoom room = {});

  // Creates the directory tree and the first control files (all of them, before any data); `done` gets the
  // error that left nothing behind, or Ok. `trace` is chosen by the caller, unique in the process.
  void Open(uint32_t trace, TraceSpec spec, std::vector<ControlFile> control,
            std::function<void(base::Status)> done);
  // Before the first chunk of the stream is pushed; a source may push an Item::kStream instead.
  void AddStream(format::StreamKey key, chunk::StreamSpec spec);
  // Replaces control files atomically (write beside, rename), in order with earlier calls.
  void Replace(uint32_t trace, std::vector<ControlFile> control);
  // As TraceFiles::PauseAsked(); then as Snapshot().
  void Pause(uint32_t trace, bool paused, uint64_t at_ns, std::string reason,
             std::function<void(TraceRecord)> done);
  // A copy of the trace's state, for status and manifest.
  void Snapshot(uint32_t trace, std::function<void(TraceRecord)> done);
  // The same when all that was pushed before this call is in the files.
  void Flush(uint32_t trace, std::function<void(TraceRecord)> done);
  // The same when what a flight recorder has in memory, from `from_ns` (host raw) on, is in the files; what
  // is older is gone. All that was pushed before this call counts.
  void WriteRecent(uint32_t trace, uint64_t from_ns, std::function<void(TraceRecord)> done);
  // When the trace is sealed, all that is in memory then goes to the files first.
  void WriteRecentAtSeal(uint32_t trace);
  // The same when its slices age no more: what is reported stays true. After Seal().
  void Settle(uint32_t trace, std::function<void(TraceRecord)> done);
  // After `ends` end marks have arrived (or `deadline_ns`, CLOCK_MONOTONIC, has passed: a stuck source must
  // not keep a session open) closes all slices with their markers and reports; the trace takes Replace(), and
  // its slices age, until Settle() or Close().
  void Seal(uint32_t trace, size_t ends, uint64_t deadline_ns, std::function<void(TraceRecord)> done);
  void Close(uint32_t trace, std::function<void(base::Status)> done);
  // Removes an open trace that has no data: its control files and folders. Nothing that profd did not make is
  // touched.
  void Discard(uint32_t trace, std::function<void()> done);

  // Chunks of a trace or stream that is not known (any more): given back unwritten. **Thread:** any.
  uint64_t dropped_chunks() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::store
