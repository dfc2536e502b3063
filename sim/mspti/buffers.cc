#include "sim/mspti/buffers.h"

#include <pthread.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "sim/hal/channels/truth.h"

namespace profd::sim::mspti {
namespace {

constexpr uint32_t kIdleMs = 60'000;
constexpr uint32_t kLargerKernel = 64, kUnknownBytes = 40;
constexpr std::array<uint32_t, kKinds> kSizes = {
    0,
    sizeof(MarkerRecord),
    sizeof(KernelRecord),
    sizeof(ApiRecord),
    sizeof(HcclRecord),
    sizeof(MemoryRecord),
    sizeof(MemsetRecord),
    sizeof(MemcpyRecord),
    sizeof(ExternalCorrelationRecord),
    sizeof(CommunicationRecord),
    sizeof(ApiRecord),
    sizeof(ApiRecord),
    sizeof(ApiRecord),
};

uint32_t KindAt(const uint8_t* at) {
  uint32_t kind;
  std::memcpy(&kind, at, sizeof kind);
  return kind;
}

}  // namespace

uint32_t Buffers::SizeOf(uint32_t kind) const {
  if (kind == kUnknownKind) return kUnknownBytes;
  if (kind == kKernel && config_.larger_kernels) return kLargerKernel;
  return kind < kKinds ? kSizes[kind] : 0;
}

void Buffers::Register(RequestFn request, CompleteFn complete) {
  const std::lock_guard lock(record_mutex_);
  request_ = request;
  complete_ = complete;
  if (!manager_.joinable()) manager_ = std::thread([this] { Manage(); });
}

// Needs the record mutex.
void Buffers::Request() {
  current_ = {};
  size_t max_records = 0;
  if (request_ != nullptr) request_(&current_.bytes, &current_.size, &max_records);
  if (current_.bytes == nullptr) current_.size = 0;
  has_current_ = true;
}

bool Buffers::Append(std::string_view record) {
  const uint32_t kind = KindAt(reinterpret_cast<const uint8_t*>(record.data()));
  const auto drop = [&] {
    const std::lock_guard lock(truth_mutex_);
    ++truth_[kind].dropped;
    return false;
  };
  const std::lock_guard lock(record_mutex_);
  if (config_.drop_every != 0 && ++appended_ % config_.drop_every == 0) return drop();
  if (!has_current_) {
    Request();
  } else if (current_.valid * 10 >= current_.size * 8) {  // a refused buffer is full at once
    {
      const std::lock_guard queue(queue_mutex_);
      full_.push_back(current_);
    }
    wake_.notify_one();
    Request();
  }
  if (current_.bytes == nullptr || current_.size - current_.valid < record.size()) return drop();
  std::memcpy(current_.bytes + current_.valid, record.data(), record.size());
  current_.valid += record.size();
  return true;
}

void Buffers::Manage() {
  pthread_setname_np(pthread_self(), "sim-manager");
  uint64_t jitter = 1;
  std::unique_lock lock(queue_mutex_);
  while (!over_) {
    wake_.wait_for(lock, std::chrono::milliseconds(period_ms_ != 0 ? period_ms_ : kIdleMs),
                   [this] { return over_ || !full_.empty(); });
    for (const Buffer& buffer : full_) {
      const uint64_t delay_us =
          config_.complete_jitter_us == 0 ? 0 : Mix(jitter++) % config_.complete_jitter_us;
      workers_.emplace_back([this, buffer, delay_us] {
        pthread_setname_np(pthread_self(), "sim-complete");
        std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
        Deliver(buffer);
      });
    }
    full_.clear();
  }
}

void Buffers::Deliver(const Buffer& buffer) {
  {
    const std::lock_guard lock(truth_mutex_);
    for (size_t at = 0; at < buffer.valid;) {
      const uint32_t kind = KindAt(buffer.bytes + at);
      const uint32_t bytes = SizeOf(kind);
      if (bytes == 0) break;  // the client handed the buffer out twice and it was overwritten
      ++truth_[kind].delivered;
      truth_[kind].checksum += Crc32(0, {reinterpret_cast<const char*>(buffer.bytes + at), bytes});
      at += bytes;
    }
  }
  if (complete_ != nullptr) complete_(buffer.bytes, buffer.size, buffer.valid);
}

void Buffers::FlushAll() {
  {
    const std::lock_guard lock(queue_mutex_);
    for (const Buffer& buffer : std::exchange(full_, {})) Deliver(buffer);
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }
  const std::lock_guard lock(record_mutex_);
  if (!has_current_) return;
  Deliver(current_);
  has_current_ = false;
}

void Buffers::SetPeriod(uint32_t ms) {
  {
    const std::lock_guard lock(queue_mutex_);
    period_ms_ = ms;
  }
  wake_.notify_one();
}

void Buffers::Shutdown() {
  {
    const std::lock_guard lock(queue_mutex_);
    over_ = true;
  }
  wake_.notify_one();
  if (manager_.joinable()) manager_.join();
  FlushAll();
}

std::array<KindTruth, kKinds + 1> Buffers::Truth() {
  const std::lock_guard lock(truth_mutex_);
  return truth_;
}

}  // namespace profd::sim::mspti
