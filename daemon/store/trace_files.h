// One PROF directory on disk: its tree, its control files and the slices of its streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/chunk/pipe.h"
#include "daemon/store/aged_log.h"
#include "daemon/store/files/file_system.h"
#include "daemon/store/files/flushed_file_system.h"
#include "daemon/store/files/open_files.h"
#include "daemon/store/loss_log.h"
#include "daemon/store/slice.h"
#include "daemon/store/spool/budget.h"
#include "daemon/store/steady_file.h"
#include "daemon/store/trace_writer.h"

namespace profd::store {

// **Thread:** the writer's. A disk that refuses bytes costs those bytes, counted; everything goes on.
class TraceFiles : private SliceKeeper {
 public:
  // Makes the tree and the control files, or leaves nothing behind.
  static base::Result<std::unique_ptr<TraceFiles>> Create(FileSystem& fs, OpenFiles& open, uint32_t trace,
                                                          TraceSpec spec,
                                                          const std::vector<ControlFile>& control);
  ~TraceFiles() override;
  TraceFiles(const TraceFiles&) = delete;
  TraceFiles& operator=(const TraceFiles&) = delete;

  void AddStream(uint32_t stream, chunk::StreamSpec spec);
  bool HasStream(uint32_t stream) const { return streams_.contains(stream); }
  // The stream is one of HasStream().
  void Store(const chunk::Chunk& chunk);
  // The chunk came too late: counted as lost in writing.
  void Refuse(const chunk::Chunk& chunk);
  void NoteLoss(uint32_t stream, const format::Loss& loss);
  base::Status Replace(const std::vector<ControlFile>& control);
  // From `at_ns` (host raw) on nothing is stored, and nothing lost, or it goes on. By chunks: those wholly
  // within.
  void PauseAsked(bool paused, uint64_t at_ns, const std::string& reason);
  // What streams keep in memory from `from_ns` (host raw) on goes to the files, what is older is gone.
  void WriteRecent(uint64_t from_ns);
  // … all of it as soon as Finish() is called.
  void WriteRecentAtFinish() { recent_at_finish_ = true; }
  // Closes all slices, with their markers.
  void Finish();
  // Nothing of it ages any more.
  void Settle() { spec_.budget->Leave(this); }
  // Nothing comes any more, and nothing ages: what was for that only goes.
  void Complete();
  // Removes all that it has made; after Finish().
  void Remove();

  TraceRecord Record() const;

 private:
  struct Folder {
    base::UniqueFd dir;
    base::UniqueFd data;  // none in profd's own
    uint64_t allocated_bytes = 0;

    int DataDir() const { return data ? data.get() : dir.get(); }
  };
  struct File {
    std::unique_ptr<SliceWriter> slices;
    Folder* folder = nullptr;  // null: not in this trace
    bool ages = false;
    uint64_t aged_slices = 0;
    uint32_t parts = 0;                 // streams that share it
    ClosedSlice present;                // what the slice that is open holds so far; no parts before its first
    std::optional<ClosedSlice> newest;  // the last one, when none is open: not offered for ageing yet
  };
  // Two streams of one file (AI CPU channels 143 and 144) share its slices and are counted apart.
  struct Stream {
    File* file = nullptr;
    chunk::StreamStatsPtr stats;
    std::function<void(const std::byte*, size_t, bool)> written;
    LossLog losses;
    uint64_t bytes = 0;  // stored, as records
    uint64_t records = 0;
    format::ManifestAged aged;
    uint32_t part = 0;  // of its file's streams
    bool whole = false;
    bool recent = false;  // kept in memory …
    uint32_t buffer = 0;  // … in this one of RecentChunks
  };

  // SliceKeeper
  base::Status Age(const ClosedSlice& slice) override;
  uint64_t OldestNewest() const override;
  void OfferOldestNewest() override;

  TraceFiles(FileSystem& fs, OpenFiles& open, uint32_t trace, TraceSpec spec);

  void Write(Stream& stream, const chunk::Chunk& chunk);
  void NoteUnasked(uint64_t from_ns, uint64_t to_ns);
  base::Status Put(File& file, const chunk::Chunk& chunk);
  void Pause(const base::Status& why, uint64_t tried_for_ns);
  void Resume();
  bool IsLeftOut(const Stream& stream, const format::ChunkHeader& header) const;
  base::Status Marked(File& file);
  bool MayAgeFor(const base::Status& status) const;

  base::Status Own();
  base::Status MakeTree();
  base::Result<int> DirOf(const std::string& path, std::string* name) const;
  base::Status WriteControl(const ControlFile& file);
  base::Status WriteOne(int dir, const std::string& path, const std::string& name,
                        const std::string& content);
  File& FileOf(chunk::StreamSpec spec);
  void NotePart(File& file, const format::ChunkHeader& header);
  void Cut(File& file);
  void CutAll();
  void Measure(Folder& folder);
  void Lose(Stream& stream, const chunk::Chunk& chunk);
  void Trouble(const base::Status& status);

  FlushedFileSystem fs_;
  OpenFiles& open_;
  const uint32_t trace_;
  const TraceSpec spec_;
  base::UniqueFd root_;
  std::map<std::string, Folder> folders_;
  std::map<std::string, uint64_t> control_;  // path below the root → bytes
  std::unordered_map<uint32_t, Stream> streams_;
  std::deque<File> files_;
  std::map<std::string, File*> file_by_path_;  // folder and file
  std::optional<SteadyFile> manifest_;
  std::optional<AgedLog> aged_log_;
  std::vector<format::ManifestPause> pauses_;  // for want of room
  std::vector<format::ManifestPause> asked_;
  std::vector<format::ManifestPause> unasked_;  // by nobody who could have had it from memory
  uint64_t recent_from_ns_ = 0;                 // what is, or was, in memory and in no file; 0: nothing yet
  bool recent_at_finish_ = false;
  bool finished_ = false;
  bool marks_ = false;        // makes room for a marker
  uint64_t next_try_ns_ = 0;  // while paused
  std::string error_;
};

}  // namespace profd::store
