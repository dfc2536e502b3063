// Files of processes below /proc whose reader the kernel has wait for the process: `io`, and from Linux 6.18
// on `stat`, for one that executes a program, which can hang in that for as long as its user likes. So
// stand-ins read them, one for each user, and nobody waits for one that does not answer in time. What comes
// too late, as on a machine with more to do than it has processors, is what the next sample has, unless that
// gets something newer: its values are a little older than it says, in place of none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/host/process/stand_in.h"
#include "daemon/host/scouts/file_reader.h"

namespace profd::host {

// **Thread:** sample. **Owns:** the stand-ins.
class ForeignFiles {
 public:
  // `most_open`: files that each stand-in keeps open; others are opened for every reading. `duty`: who
  // answers there.
  explicit ForeignFiles(size_t most_open, StandIn::Duty duty = &FileReader::Duty)
      : most_open_(most_open), duty_(duty) {}
  ForeignFiles(const ForeignFiles&) = delete;
  ForeignFiles& operator=(const ForeignFiles&) = delete;
  ~ForeignFiles();

  // What was read before is forgotten. All that is asked for until the next call is waited for until then.
  void Begin(uint64_t until_mono_ns);
  // Reads all that is wanted, of all users at once.
  void Ask();
  // When a process last answered that keeps whoever reads its files waiting, CLOCK_REALTIME; nullopt: it does
  // not. It is left alone meanwhile.
  std::optional<uint64_t> HangsSince(pid_t pid) const;
  bool some_hang() const { return !hanging_.empty(); }

 private:
  friend class ForeignFile;
  static constexpr size_t kMostReaders = 64;

  struct File {
    uid_t user = 0;
    pid_t pid = 0, tid = 0;
    bool io = false;
    enum class State : uint8_t { kUnread, kWanted } state = State::kUnread;
    int error = 0;  // of one that was wanted; EAGAIN: its text has not come in time
    std::string text;
    // When it was asked for, of an answer that came too late and that nobody has had yet.
    std::optional<uint64_t> late_since_ns;
  };
  // On StandIn::Board(), of all that profd has; none where there is no more.
  class Place {
   public:
    Place();
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    std::optional<size_t> number() const { return number_; }

   private:
    std::optional<size_t> number_;
  };
  // Of one user.
  struct Reader {
    Place place;
    std::optional<StandIn> stand_in;
    size_t files = 0;
    std::vector<uint64_t> wanted, forgotten;
    bool asked = false;  // and has not answered yet
    uint64_t asked_ns = 0, asked_wall_ns = 0;
    uint64_t try_again_ns = 0;  // it could not be started before
  };
  struct Hanging {
    uint64_t since_wall_ns, look_again_ns;
  };

  uint64_t Add(bool io, pid_t pid, pid_t tid, uid_t user);
  void Forget(uint64_t key);
  void Want(uint64_t key);
  ssize_t Read(uint64_t key, char* buffer, size_t size);

  uid_t Shared(uid_t user) const;
  enum class InTime : bool { kNo, kYes };
  bool Send(Reader& reader, uid_t user);
  void Hear(Reader& reader, InTime in_time);
  void TakeAnswer(const Reader& reader, std::string_view answer, InTime in_time);
  void LookAtHanging(uint64_t now_ns);
  void GiveUp(Reader& reader);

  const size_t most_open_;
  const StandIn::Duty duty_;
  uint64_t begun_ns_ = 0, until_ns_ = UINT64_MAX;
  uint64_t last_key_ = 0;
  std::unordered_map<uint64_t, File> files_;
  std::vector<uint64_t> wanted_;  // since Begin()
  std::map<uid_t, Reader> readers_;
  std::map<pid_t, Hanging> hanging_;
};

// One of them. It belongs to its process for ever: when that has gone, reading fails even though its number
// may be in use again, while there is room to keep it open.
// **Thread:** sample.
class ForeignFile {
 public:
  enum class Name : bool { kStat, kIo };
  // `tid`: of that thread; 0: of the process.
  ForeignFile(ForeignFiles& files, Name name, pid_t pid, pid_t tid, uid_t user)
      : files_(&files), key_(files.Add(name == Name::kIo, pid, tid, user)) {}
  ForeignFile(ForeignFile&& other) noexcept : files_(other.files_), key_(std::exchange(other.key_, 0)) {}
  ForeignFile& operator=(ForeignFile&& other) noexcept {
    std::swap(files_, other.files_);
    std::swap(key_, other.key_);
    return *this;
  }
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;
  ~ForeignFile() {
    if (key_ != 0) files_->Forget(key_);
  }

  // With the next ForeignFiles::Ask(), so that one question is enough for many.
  void Want() { files_->Want(key_); }
  // What it was since ForeignFiles::Begin(); asks where nobody has. -1 with errno: EAGAIN, nobody knows yet.
  ssize_t Read(char* buffer, size_t size) { return files_->Read(key_, buffer, size); }

 private:
  ForeignFiles* files_;
  uint64_t key_;
};

}  // namespace profd::host
