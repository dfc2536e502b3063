#include "sim/hal/channels/channel.h"

#include "sim/abi.h"

namespace profd::sim {

int Channel::BeginStart() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kDisabled) return code::kStatusFail;
  state_ = State::kStarting;
  orphaned_ = false;
  counters_ = {};
  return code::kOk;
}

bool Channel::MapRing(size_t bytes) {
  const std::lock_guard lock(mutex_);
  return ring_.Map(bytes);
}

void Channel::FillForFlood(Producer& producer, double bytes_s) {
  const std::lock_guard lock(mutex_);
  flood_ = std::make_unique<Flood>(ring_, producer);
  flood_->SetRate(bytes_s, RawNs());  // at once: somebody may read before the start returns
}

void Channel::EndStart(bool ok) {
  const std::lock_guard lock(mutex_);
  state_ = ok ? State::kEnabled : State::kDisabled;
  if (!ok) {
    flood_.reset();
    ring_.Unmap();
  }
}

int Channel::BeginStop() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kEnabled) return code::kStatusFail;
  state_ = State::kStopping;
  return code::kOk;
}

size_t Channel::Waiting() {
  const std::lock_guard lock(mutex_);
  return flood_ ? flood_->Available(RawNs()) : ring_.used();
}

Counters Channel::EndStop() {
  const std::lock_guard lock(mutex_);
  if (flood_) {
    counters_ = flood_->Count();
  } else {
    counters_.discarded_bytes = ring_.used();
    counters_.crc_valid = counters_.overwritten_bytes == 0 && counters_.discarded_bytes == 0;
  }
  flood_.reset();
  ring_.Unmap();
  state_ = State::kDisabled;
  queued.store(false, std::memory_order_relaxed);
  return counters_;
}

int Channel::BeginFlush() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kDisabled) return code::kStoppedAlready;
  if (state_ != State::kEnabled) return code::kStatusFail;
  state_ = State::kFlushing;
  return code::kOk;
}

uint32_t Channel::EndFlush() {
  const std::lock_guard lock(mutex_);
  state_ = State::kEnabled;
  return static_cast<uint32_t>(flood_ ? flood_->Available(RawNs()) : ring_.used());
}

int Channel::Read(char* out, uint32_t size) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kDisabled) return code::kStoppedAlready;
  if (!ring_.mapped() || orphaned_) return 0;
  if (flood_) return static_cast<int>(flood_->Read(out, size, flood_->limited() ? RawNs() : 0));
  if (ring_.empty()) return 0;
  if (size == 0) return code::kError;
  const size_t read = ring_.Read(out, size);
  counters_.delivered_bytes += read;
  return static_cast<int>(read);
}

bool Channel::Put(const Sample& sample, Write how) {
  const std::string& bytes = sample.bytes();
  counters_.generated_bytes += bytes.size();
  counters_.generated_records += sample.records();
  if (how == Write::kLose || (how == Write::kGuarded && ring_.room() < bytes.size())) {
    counters_.dropped_bytes += bytes.size();
    counters_.dropped_records += sample.records();
    return false;
  }
  counters_.overwritten_bytes += ring_.Write(bytes);
  counters_.crc32 = Crc32(counters_.crc32, bytes);
  return true;
}

bool Channel::Deliver(const Sample& sample, Write how) {
  const std::lock_guard lock(mutex_);
  return Put(sample, how);
}

void Channel::DeliverBacklog(const Sample& sample, Write how, double rings) {
  const std::lock_guard lock(mutex_);
  const auto bytes = static_cast<size_t>(rings * static_cast<double>(ring_.capacity()));
  for (size_t sent = 0; sent < bytes; sent += sample.bytes().size()) Put(sample, how);
}

void Channel::Orphan() {
  const std::lock_guard lock(mutex_);
  orphaned_ = true;
}

void Channel::SetFloodRate(double bytes_s) {
  const std::lock_guard lock(mutex_);
  if (flood_) flood_->SetRate(bytes_s, RawNs());
}

void Channel::EndFlood() {
  const std::lock_guard lock(mutex_);
  if (flood_) flood_->End(RawNs());
}

bool Channel::HasFloodData() {
  const std::lock_guard lock(mutex_);
  return flood_ && !orphaned_ && flood_->Available(RawNs()) > 0;
}

}  // namespace profd::sim
