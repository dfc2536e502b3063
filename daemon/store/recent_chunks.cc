#include "daemon/store/recent_chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace profd::store {

RecentChunks::RecentChunks(uint64_t most_bytes, std::shared_ptr<chunk::Account> account)
    : most_bytes_(most_bytes),
      account_(account ? std::move(account) : std::make_shared<chunk::Account>(nullptr)) {
  account_->Join();
}

RecentChunks::~RecentChunks() { account_->Leave(); }

bool RecentChunks::HasRoom(uint64_t bytes) const {
  return bytes <= std::min(most_bytes_, account_->FairShare());
}

void RecentChunks::Add(const chunk::Chunk& chunk) {
  if (chunk.header.first_time_ns > until_ns_.load(std::memory_order_relaxed)) return;
  const uint64_t size = chunk.header.used + kOverhead;
  uint64_t bytes = this->bytes();
  while (!held_.empty() && !HasRoom(bytes + size)) {
    bytes -= SizeOf(held_.front());
    held_.pop_front();
  }
  if (HasRoom(bytes + size) && account_->Claim(size)) {
    Held held{chunk.header, std::make_unique_for_overwrite<std::byte[]>(chunk.header.used),
              chunk::Share(account_, size)};
    std::memcpy(held.data.get(), chunk.data, chunk.header.used);
    held_.push_back(std::move(held));
    bytes += size;
  }
  Publish(bytes);
}

std::deque<RecentChunks::Held> RecentChunks::Take(uint32_t trace, uint64_t from_ns) {
  std::deque<Held> taken;
  std::deque<Held> left;
  uint64_t bytes = 0;
  for (Held& held : held_) {
    if (held.header.key.trace != trace) {
      bytes += SizeOf(held);
      left.push_back(std::move(held));
    } else if (held.header.last_time_ns >= from_ns) {
      taken.push_back(std::move(held));
    }
  }
  held_ = std::move(left);
  Publish(bytes);
  return taken;
}

bool RecentChunks::HasAny(uint32_t trace) const {
  return std::ranges::any_of(held_, [trace](const Held& held) { return held.header.key.trace == trace; });
}

void RecentChunks::Publish(uint64_t bytes) {
  bytes_.store(bytes, std::memory_order_relaxed);
  from_ns_.store(held_.empty() ? 0 : held_.front().header.first_time_ns, std::memory_order_relaxed);
}

}  // namespace profd::store
