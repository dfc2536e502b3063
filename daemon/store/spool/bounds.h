// What all sessions keep together, besides the limit of each: quotas of the spool, and room that stays free.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "daemon/store/spool/spool.h"

namespace profd::store {

// Somebody who makes room by removing what is no longer recorded. **Thread:** any.
class Tidier {
 public:
  explicit Tidier(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Wakes it, until it is renewed at most once a second.
  void Call();
  // Until every call is answered bounds may be passed by their slack.
  bool busy() const { return calls() != answered_.load(std::memory_order_acquire); }

  // -- for somebody --
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  // So many calls have been heard, and nothing is left that may go.
  void Answer(uint64_t calls) { answered_.store(calls, std::memory_order_release); }
  // There is more room than there was, or more that may go.
  void Renew();
  uint64_t renewals() const { return renewals_.load(std::memory_order_relaxed); }
  // Who holds the room that is short, so that nothing of others goes; "": nobody does.
  void Blame(const std::string& holder);
  std::string blamed() const;

 private:
  const std::function<void()> wake_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> answered_{0};
  std::atomic<uint64_t> renewals_{0};
  std::atomic<uint64_t> next_call_ns_{0};
  mutable std::mutex mutex_;
  std::string blamed_;
};

// **Thread:** any.
class Bound {
 public:
  virtual ~Bound() = default;
  // What files take on disk has changed.
  virtual void Change(uint64_t before, uint64_t after) = 0;
  // How many bytes must go before `more` may come.
  virtual uint64_t Excess(uint64_t more) = 0;
  // "the quota of user alice (store.quota_per_user_bytes)"
  virtual std::string what() const = 0;
};

// At most so many bytes, of running sessions and of what is kept of earlier ones.
class Quota final : public Bound {
 public:
  // Without a limit it only counts.
  Quota(uint64_t limit_bytes, std::string what, std::shared_ptr<Tidier> tidier)
      : limit_(limit_bytes), what_(std::move(what)), tidier_(std::move(tidier)) {}

  void Change(uint64_t before, uint64_t after) override {
    used_.fetch_add(after - before, std::memory_order_relaxed);
  }
  uint64_t Excess(uint64_t more) override;
  std::string what() const override { return what_; }

  uint64_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  // So far below the limit others are called to make way, early enough for running sessions not to age.
  static uint64_t SlackOf(uint64_t limit_bytes);

 private:
  std::atomic<uint64_t> limit_;
  const std::string what_;
  const std::shared_ptr<Tidier> tidier_;
  std::atomic<uint64_t> used_{0};
};

// How much of a file system stays free: `configured`, or without it 1 GiB or 2 %, whichever is less; never
// less than the 20 MB below which the vendor's own tools stop.
uint64_t KeepFreeBytes(uint64_t configured, uint64_t total_bytes);

// One session's view of its file system: asked now and then, reckoned on in between.
class FreeSpace final : public Bound {
 public:
  using Measure = std::function<base::Result<Space>()>;
  // `tidier` may be null: nothing there is profd's to remove.
  FreeSpace(Measure measure, uint64_t configured, std::shared_ptr<Tidier> tidier)
      : measure_(std::move(measure)), configured_(configured), tidier_(std::move(tidier)) {}

  void Change(uint64_t before, uint64_t after) override;
  // **Thread:** the writer's.
  uint64_t Excess(uint64_t more) override;
  // With who holds it, where that is one user.
  std::string what() const override;

 private:
  // What is left of it once `more` has come.
  int64_t Left(uint64_t more);

  const Measure measure_;
  const uint64_t configured_;
  const std::string what_ = "the room that stays free on the file system (store.keep_free_bytes)";
  const std::shared_ptr<Tidier> tidier_;
  std::atomic<int64_t> free_{INT64_MAX};
  std::atomic<uint64_t> written_{0};  // since the last look
  uint64_t keep_ = 0;
  uint64_t next_look_ns_ = 0;
  uint64_t renewals_ = 0;  // of the tidier, at the last look
};

}  // namespace profd::store
