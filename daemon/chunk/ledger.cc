#include "daemon/chunk/ledger.h"

#include <algorithm>

namespace profd::chunk {

uint64_t Account::Room() const {
  if (ledger_ == nullptr) return UINT64_MAX;
  const uint64_t half = ledger_->Half(ledger_->taken());
  return half > own() ? half - own() : 0;
}

uint64_t Account::FairShare() const {
  if (ledger_ == nullptr) return UINT64_MAX;
  // All of it is had when it is half of what is left, which is a third of what others leave.
  const uint64_t own = this->own(), others = std::max(ledger_->taken(), own) - own;
  const uint64_t all = others < ledger_->most_ ? (ledger_->most_ - others) / 3 : 0;
  return all / std::max<uint64_t>(1, holders_.load(std::memory_order_relaxed));
}

bool Account::Claim(uint64_t bytes) {
  if (ledger_ != nullptr) {
    uint64_t taken = ledger_->taken();
    do {
      if (own() + bytes > ledger_->Half(taken)) return false;
    } while (!ledger_->taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  }
  own_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void Account::Take(uint64_t bytes) {
  if (ledger_ != nullptr) ledger_->taken_.fetch_add(bytes, std::memory_order_relaxed);
  own_.fetch_add(bytes, std::memory_order_relaxed);
}

void Account::Give(uint64_t bytes) {
  if (ledger_ != nullptr) ledger_->taken_.fetch_sub(bytes, std::memory_order_relaxed);
  own_.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace profd::chunk
