#include "daemon/store/files/flusher.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <utility>
#include <vector>

#include "base/threads/thread.h"
#include "base/unique_fd.h"

namespace profd::store {

using base::Status;
using base::UniqueFd;

namespace {

// Descriptors held for flushing; what comes beyond them is left to the kernel until there is room.
constexpr size_t kMostWaiting = 512;

}  // namespace

void FlushReport::Note(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok() && error_.empty()) error_ = "flush: " + status.message();
}

std::string FlushReport::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

struct Flusher::Queue {
  struct File {
    File(UniqueFd file, std::shared_ptr<FlushReport> to) : fd(std::move(file)), report(std::move(to)) {}
    UniqueFd fd;
    std::shared_ptr<FlushReport> report;
    bool evict = false;
  };
  using Files = std::map<uint64_t, std::shared_ptr<File>>;
  std::mutex mutex;
  std::condition_variable changed;
  Files waiting;
  Files flushing;
  bool ending = false;
  std::atomic<uint64_t> rounds{1};

  // Until the end, and then once more.
  void Run(FileSystem& fs, uint64_t every_ns) {
    for (bool last = false; !last;) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ending || !waiting.empty(); });
        if (every_ns > 0)
          changed.wait_for(lock, std::chrono::nanoseconds(every_ns), [this] { return ending; });
        last = ending;
        flushing = std::exchange(waiting, {});
        rounds.fetch_add(1);
      }
      Each(false, [&fs](File& file) { fs.WriteBack(file.fd.get()); });
      Each(true, [&fs](File& file) {
        file.report->Note(fs.Sync(file.fd.get()));
        if (file.evict) fs.Evict(file.fd.get());
      });
    }
  }

  void LetGoOfRemoved() {
    Files held;
    {
      const std::lock_guard lock(mutex);
      held = waiting;
      held.insert(flushing.begin(), flushing.end());
    }
    std::erase_if(held, [](const auto& entry) {
      struct stat facts {};
      return ::fstat(entry.second->fd.get(), &facts) != 0 || facts.st_nlink > 0;
    });
    const std::lock_guard lock(mutex);
    for (const auto& [key, file] : held) {
      waiting.erase(key);
      flushing.erase(key);
    }
  }

  // One at a time, so that what is dropped meanwhile is let go of.
  template <typename Do>
  void Each(bool take, Do action) {
    for (uint64_t key = 0;;) {
      std::shared_ptr<File> file;
      {
        const std::lock_guard lock(mutex);
        const auto next = flushing.lower_bound(key);
        if (next == flushing.end()) return;
        key = next->first + 1;
        file = next->second;
        if (take) flushing.erase(next);
      }
      action(*file);
    }
  }
};

// Of the process: whoever removes a directory does not know who wrote it.
struct Flusher::Queues {
  std::mutex mutex;
  std::vector<std::weak_ptr<Queue>> all;

  static Queues& Get() {
    static Queues queues;
    return queues;
  }
};

void Flusher::LetGoOfRemoved() {
  std::vector<std::weak_ptr<Queue>> all;
  {
    const std::lock_guard lock(Queues::Get().mutex);
    all = Queues::Get().all;
  }
  for (const auto& weak : all) {
    if (const auto queue = weak.lock()) queue->LetGoOfRemoved();
  }
}

Flusher::Flusher(FileSystem& fs, Durability durability, uint64_t every_ns)
    : fs_(fs), durability_(durability), every_ns_(durability == Durability::kPeriodic ? every_ns : 0) {}

Flusher::~Flusher() {
  if (!queue_) return;
  const std::lock_guard lock(queue_->mutex);
  queue_->ending = true;
  queue_->changed.notify_one();
}

void Flusher::Drop(uint64_t key) {
  if (!queue_) return;
  const std::lock_guard lock(queue_->mutex);
  queue_->waiting.erase(key);
  queue_->flushing.erase(key);
}

uint64_t Flusher::round() const { return queue_ ? queue_->rounds.load() : 0; }

bool Flusher::Add(uint64_t key, int fd, const std::shared_ptr<FlushReport>& report, bool evict) {
  if (fd < 0) return false;
  if (!queue_) {
    queue_ = std::make_shared<Queue>();
    {
      const std::lock_guard lock(Queues::Get().mutex);
      std::erase_if(Queues::Get().all, [](const auto& queue) { return queue.expired(); });
      Queues::Get().all.push_back(queue_);
    }
    base::StartThread("flush", [queue = queue_, &fs = fs_, every_ns = every_ns_] {
      queue->Run(fs, every_ns);
    }).detach();
  }
  const std::lock_guard lock(queue_->mutex);
  if (const auto known = queue_->waiting.find(key); known != queue_->waiting.end()) {
    known->second->evict |= evict;
    return true;
  }
  if (queue_->waiting.size() >= kMostWaiting) return false;
  UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) return false;
  auto file = std::make_shared<Queue::File>(std::move(own), report);
  file->evict = evict;
  queue_->waiting.emplace(key, std::move(file));
  queue_->changed.notify_one();
  return true;
}

}  // namespace profd::store
