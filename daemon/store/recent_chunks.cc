#include "daemon/store/recent_chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace profd::store {

RecentChunks::RecentChunks(uint64_t most_bytes, const std::vector<Buffer>& own,
                           std::shared_ptr<chunk::Account> account)
    : account_(account ? std::move(account) : std::make_shared<chunk::Account>(nullptr)) {
  account_->Join();
  rings_.push_back({{most_bytes, false}});
  for (const Buffer& buffer : own) {
    rings_.push_back({buffer});
    rings_[0].buffer.most_bytes -= std::min(rings_[0].buffer.most_bytes, buffer.most_bytes);
  }
}

RecentChunks::~RecentChunks() { account_->Leave(); }

void RecentChunks::Add(const chunk::Chunk& chunk, uint32_t buffer) {
  if (chunk.header.first_time_ns > until_ns_.load(std::memory_order_relaxed)) return;
  Ring& ring = rings_.at(buffer);
  const uint64_t size = chunk.header.used + kOverhead;
  // Nothing makes way for what finds no room even then.
  if (size > std::min(ring.buffer.most_bytes, account_->FairShare())) return;
  uint64_t all = bytes();
  const auto has_room = [&] {
    return ring.bytes + size <= ring.buffer.most_bytes && all + size <= account_->FairShare();
  };
  if (ring.buffer.keeps_first && !has_room()) return;
  while (!ring.held.empty() && !has_room()) {
    const uint64_t oldest = SizeOf(ring.held.front());
    ring.bytes -= oldest;
    all -= oldest;
    ring.held.pop_front();
  }
  if (has_room() && account_->Claim(size)) {
    Held held{chunk.header, std::make_unique_for_overwrite<std::byte[]>(chunk.header.used), ++added_,
              chunk::Share(account_, size)};
    std::memcpy(held.data.get(), chunk.data, chunk.header.used);
    ring.held.push_back(std::move(held));
    ring.bytes += size;
  }
  Publish();
}

std::deque<RecentChunks::Held> RecentChunks::Take(uint32_t trace, uint64_t from_ns) {
  std::deque<Held> taken;
  for (Ring& ring : rings_) {
    std::deque<Held> left;
    ring.bytes = 0;
    for (Held& held : ring.held) {
      if (held.header.key.trace != trace) {
        ring.bytes += SizeOf(held);
        left.push_back(std::move(held));
      } else if (held.header.last_time_ns >= from_ns) {
        taken.push_back(std::move(held));
      }
    }
    ring.held = std::move(left);
  }
  std::ranges::sort(taken, {}, &Held::number);
  Publish();
  return taken;
}

bool RecentChunks::HasAny(uint32_t trace) const {
  return std::ranges::any_of(rings_, [trace](const Ring& ring) {
    return std::ranges::any_of(ring.held,
                               [trace](const Held& held) { return held.header.key.trace == trace; });
  });
}

void RecentChunks::Publish() {
  uint64_t bytes = 0, from_ns = UINT64_MAX;
  for (const Ring& ring : rings_) {
    bytes += ring.bytes;
    if (!ring.held.empty()) from_ns = std::min(from_ns, ring.held.front().header.first_time_ns);
  }
  bytes_.store(bytes, std::memory_order_relaxed);
  from_ns_.store(from_ns == UINT64_MAX ? 0 : from_ns, std::memory_order_relaxed);
}

}  // namespace profd::store
