// How much of profd's memory holds data that waits: for slow disks, or in flight recorders. Users make it
// wait, so the sum is bounded: whoever has some already gets no more than half of what is left. Alone that is
// a lot; the more there are, the less each may have.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace profd::chunk {

// **Thread:** any.
class Ledger {
 public:
  explicit Ledger(uint64_t most) : most_(most) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  // Who needs his no more should give it back now.
  bool IsShort() const { return taken() > most_ / 2; }

 private:
  friend class Account;

  // What nobody has, or has beyond it, is shared by two: one who asks, and those who come later.
  uint64_t Half(uint64_t taken) const { return taken < most_ ? (most_ - taken) / 2 : 0; }

  const uint64_t most_;
  std::atomic<uint64_t> taken_{0};
};

// What one of those has who share it. Without a ledger: as much as he likes.
// **Thread:** any.
class Account {
 public:
  explicit Account(std::shared_ptr<Ledger> ledger) : ledger_(std::move(ledger)) {}
  ~Account() { Give(own_); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  uint64_t Room() const;
  bool Claim(uint64_t bytes);
  // The little that everybody has in any case.
  void Take(uint64_t bytes);
  void Give(uint64_t bytes);
  // Several may have one account together: what each of them may have.
  void Join() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() { holders_.fetch_sub(1, std::memory_order_relaxed); }
  uint64_t FairShare() const;
  uint64_t own() const { return own_.load(std::memory_order_relaxed); }
  bool IsShort() const { return ledger_ != nullptr && ledger_->IsShort(); }
  const std::shared_ptr<Ledger>& ledger() const { return ledger_; }

 private:
  const std::shared_ptr<Ledger> ledger_;
  std::atomic<uint64_t> own_{0};
  std::atomic<uint64_t> holders_{0};
};

// What one piece of data has of it, as long as it lives.
class Share {
 public:
  Share() = default;
  Share(std::shared_ptr<Account> account, uint64_t bytes) : account_(std::move(account)), bytes_(bytes) {}
  Share(Share&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() {
    if (account_ != nullptr) account_->Give(bytes_);
  }

 private:
  std::shared_ptr<Account> account_;
  uint64_t bytes_ = 0;
};

}  // namespace profd::chunk
