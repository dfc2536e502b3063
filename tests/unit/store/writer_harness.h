// What the tests of the store share: a scratch directory, a writer whose callbacks the test waits for, a disk
// that fails on demand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/store/trace_writer.h"

namespace profd::store {

class TempDir {
 public:
  TempDir() {
    std::string path = std::filesystem::temp_directory_path() / "profd-store-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  base::UniqueFd Open() const {
    return base::UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

 private:
  std::filesystem::path path_;
};

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Every file and folder below `root`, sorted, folders with a slash behind.
inline std::vector<std::string> Tree(const std::filesystem::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    names.push_back(entry.path().lexically_relative(root).string() +
                    (entry.is_directory() && !entry.is_symlink() ? "/" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// All slices of `file` in order, joined; stops at the first number that is missing.
inline std::string JoinSlices(const std::filesystem::path& folder, const std::string& file) {
  std::string all;
  for (size_t number = 0;; ++number) {
    const std::filesystem::path slice = folder / (file + ".slice_" + std::to_string(number));
    if (!std::filesystem::exists(slice)) return all;
    all += ReadFile(slice);
  }
}

// A writer seen from a test that plays ctl: each call waits for its answer.
class Harness {
 public:
  explicit Harness(FileSystem& fs = PosixFileSystem(), const std::string& thread = "write",
                   Durability durability = Durability::kNone) {
    writer_.emplace(
        thread, fs,
        [this](std::function<void()> work) {
          const std::lock_guard lock(mutex_);
          replies_.push_back(std::move(work));
          replied_.notify_one();
        },
        durability);
  }
  TraceWriter& writer() { return *writer_; }
  // Joins the writer's thread, then runs the answers that are still out.
  void Destroy() {
    writer_.reset();
    for (const auto& reply : replies_) reply();
    replies_.clear();
  }

  base::Status Open(uint32_t trace, TraceSpec spec, std::vector<ControlFile> control = {}) {
    return Await<base::Status>(
        [&](auto done) { writer_->Open(trace, std::move(spec), std::move(control), std::move(done)); });
  }
  TraceRecord Snapshot(uint32_t trace) {
    return Await<TraceRecord>([&](auto done) { writer_->Snapshot(trace, std::move(done)); });
  }
  TraceRecord Pause(uint32_t trace, bool paused, uint64_t at_ns) {
    return Await<TraceRecord>(
        [&](auto done) { writer_->Pause(trace, paused, at_ns, "asked for", std::move(done)); });
  }
  TraceRecord WriteRecent(uint32_t trace, uint64_t from_ns) {
    return Await<TraceRecord>([&](auto done) { writer_->WriteRecent(trace, from_ns, std::move(done)); });
  }
  TraceRecord Flush(uint32_t trace) {
    return Await<TraceRecord>([&](auto done) { writer_->Flush(trace, std::move(done)); });
  }
  TraceRecord Seal(uint32_t trace, size_t ends, uint64_t deadline_ns = UINT64_MAX) {
    return Await<TraceRecord>([&](auto done) { writer_->Seal(trace, ends, deadline_ns, std::move(done)); });
  }
  base::Status Close(uint32_t trace) {
    return Await<base::Status>([&](auto done) { writer_->Close(trace, std::move(done)); });
  }
  void Discard(uint32_t trace) {
    Await<bool>([&](auto done) { writer_->Discard(trace, [done] { done(true); }); });
  }

 private:
  template <typename T, typename Call>
  T Await(Call call) {
    std::optional<T> result;
    call(std::function<void(T)>([&](T value) { result = std::move(value); }));
    while (!result) {
      std::unique_lock lock(mutex_);
      replied_.wait(lock, [&] { return !replies_.empty(); });
      const std::function<void()> reply = std::move(replies_.front());
      replies_.pop_front();
      lock.unlock();
      reply();
    }
    return *std::move(result);
  }

  std::mutex mutex_;
  std::condition_variable replied_;
  std::deque<std::function<void()>> replies_;
  std::optional<TraceWriter> writer_;
};

inline TraceSpec SpecIn(const TempDir& dir, const std::string& name = "PROF_1",
                        std::vector<std::string> folders = {"device_0"}) {
  TraceSpec spec;
  spec.parent = dir.Open();
  spec.name = name;
  spec.folders = std::move(folders);
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  spec.slice_bytes = 4096;
  return spec;
}

inline chunk::StreamSpec StreamOf(const std::string& folder, const std::string& file) {
  chunk::StreamSpec spec;
  spec.folder = folder;
  spec.file = file;
  spec.stats = std::make_shared<chunk::StreamStats>();
  return spec;
}

// Source side: waits for an empty chunk, fills and pushes it.
inline void PushData(chunk::Pipe& pipe, format::StreamKey key, const std::string& data, uint32_t records,
                     uint64_t from_ns = 0, uint64_t to_ns = 0) {
  chunk::Chunk* chunk = nullptr;
  while ((chunk = pipe.TryTake()) == nullptr) std::this_thread::yield();
  ASSERT_LE(data.size(), chunk->capacity);
  std::memcpy(chunk->data, data.data(), data.size());
  chunk->header.key = key;
  chunk->header.used = static_cast<uint32_t>(data.size());
  chunk->header.records = records;
  chunk->header.first_time_ns = from_ns;
  chunk->header.last_time_ns = to_ns;
  chunk::Item item;
  item.chunk = chunk;
  item.key = key;
  ASSERT_TRUE(pipe.Push(std::move(item)));
  pipe.Kick();
}

inline void PushItem(chunk::Pipe& pipe, const chunk::Item& item) {
  while (!pipe.Push(item)) std::this_thread::yield();
  pipe.Kick();
}

inline void PushEnd(chunk::Pipe& pipe, uint32_t trace) {
  chunk::Item item;
  item.what = chunk::Item::What::kEnd;
  item.key.trace = trace;
  PushItem(pipe, item);
}

inline const StreamRecord& RecordOf(const TraceRecord& record, uint32_t stream) {
  const auto found = std::find_if(record.streams.begin(), record.streams.end(),
                                  [&](const StreamRecord& each) { return each.key.stream == stream; });
  static const StreamRecord kNone;
  EXPECT_NE(found, record.streams.end()) << "stream " << stream;
  return found == record.streams.end() ? kNone : *found;
}

// The real file system with a fault in front. A hook that returns an error replaces the call.
class FaultyFileSystem : public FileSystem {
 public:
  // Called before each call with its name ("mkdir", "create", "append" …).
  std::function<base::Status(const std::string&)> before = [](const std::string&) {
    return base::Status::Ok();
  };
  // How many bytes of a failing append reach the file all the same.
  std::function<size_t(size_t)> part = [](size_t) { return size_t{0}; };

  base::Status BecomeOwner(uid_t uid, gid_t gid) override { return real_.BecomeOwner(uid, gid); }
  base::Result<base::UniqueFd> MakeDir(int parent, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(before("mkdir"));
    return real_.MakeDir(parent, name);
  }
  base::Result<base::UniqueFd> CreateFile(int dir, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(before("create"));
    return real_.CreateFile(dir, name);
  }
  base::Result<base::UniqueFd> OpenFile(int dir, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(before("open"));
    return real_.OpenFile(dir, name);
  }
  base::Status Append(int fd, uint64_t size, const void* data, size_t bytes, size_t at_once) override {
    base::Status status = before("append");
    if (status.ok()) return real_.Append(fd, size, data, bytes, at_once);
    EXPECT_TRUE(real_.Append(fd, size, data, std::min(bytes, part(bytes)), at_once).ok());
    return status;
  }
  base::Result<uint64_t> AllocatedBytes(int dir, const std::string& name) override {
    return real_.AllocatedBytes(dir, name);
  }
  base::Status Overwrite(int fd, uint64_t offset, const void* data, size_t bytes) override {
    PROFD_RETURN_IF_ERROR(before("overwrite"));
    return real_.Overwrite(fd, offset, data, bytes);
  }
  base::Status Reserve(int fd, uint64_t bytes) override {
    PROFD_RETURN_IF_ERROR(before("reserve"));
    return real_.Reserve(fd, bytes);
  }
  base::Status Exchange(int dir, const std::string& one, const std::string& other) override {
    PROFD_RETURN_IF_ERROR(before("exchange"));
    return real_.Exchange(dir, one, other);
  }
  void WriteBack(int fd) override { real_.WriteBack(fd); }
  void Evict(int fd) override {
    if (before("evict").ok()) real_.Evict(fd);
  }
  base::Status Sync(int fd) override {
    PROFD_RETURN_IF_ERROR(before("sync"));
    return real_.Sync(fd);
  }
  base::Status Truncate(int fd, uint64_t bytes) override {
    PROFD_RETURN_IF_ERROR(before("truncate"));
    return real_.Truncate(fd, bytes);
  }
  base::Status Rename(int dir, const std::string& from, const std::string& to) override {
    PROFD_RETURN_IF_ERROR(before("rename"));
    return real_.Rename(dir, from, to);
  }
  base::Status Remove(int dir, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(before("remove"));
    return real_.Remove(dir, name);
  }

 private:
  FileSystem& real_ = PosixFileSystem();
};

}  // namespace profd::store
