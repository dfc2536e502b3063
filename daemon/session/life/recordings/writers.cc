#include "daemon/session/life/recordings/writers.h"

#include <iterator>
#include <string>
#include <utility>

namespace profd::session {

namespace {

constexpr uint64_t kLookNs = 2'000'000'000;

store::Durability DurabilityOf(const std::string& name) {
  if (name == "none") return store::Durability::kNone;
  if (name == "slice") return store::Durability::kSlice;
  return name == "always" ? store::Durability::kAlways : store::Durability::kPeriodic;
}

}  // namespace

std::shared_ptr<Writer> Writers::For(dev_t file_system, size_t pump_count) {
  Entry& entry = writers_[file_system];
  if (!entry.writer) entry.writer = Make();
  entry.unused = false;
  Writer& writer = *entry.writer;
  while (writer.pumps.size() < pump_count) {
    writer.pumps.push_back(&writer.thread->AddPipe("pump-" + std::to_string(writer.pumps.size()),
                                                   config_.store.chunk_bytes, config_.store.device_chunks));
  }
  if (!looking_) LookForUnused();
  return entry.writer;
}

void Writers::LookForUnused() {
  looking_ = true;
  timers_.After(kLookNs, [this] {
    for (auto at = writers_.begin(); at != writers_.end();) {
      Entry& entry = at->second;
      const bool was_unused = std::exchange(entry.unused, entry.writer.use_count() == 1);
      at = was_unused && entry.unused ? writers_.erase(at) : std::next(at);
    }
    looking_ = false;
    if (!writers_.empty()) LookForUnused();
  });
}

std::shared_ptr<Writer> Writers::Make() {
  auto writer = std::make_shared<Writer>();
  writer->thread = std::make_unique<store::TraceWriter>(
      "write", store::PosixFileSystem(), [this](std::function<void()> work) { ctl_.Post(std::move(work)); },
      DurabilityOf(config_.store.durability), config_.store.flush_every_s * 1'000'000'000);
  writer->sampler =
      &writer->thread->AddPipe("sample", config_.store.host_chunk_bytes, config_.store.host_chunks);
  writer->drain = &writer->thread->AddPipe("drain", config_.store.chunk_bytes, config_.store.agent_chunks);
  return writer;
}

std::vector<QueueLoad> Writers::Loads() const {
  std::vector<QueueLoad> loads = {{.source = "pump"}, {.source = "sample"}, {.source = "drain"}};
  const auto add = [](QueueLoad& load, const chunk::Pipe& pipe) {
    load.chunks += pipe.InFlight();
    load.room += pipe.chunks();
    load.bytes += pipe.InFlight() * pipe.chunk_bytes();
  };
  for (const auto& [file_system, entry] : writers_) {
    const Writer* const writer = entry.writer.get();
    for (const chunk::Pipe* pump : writer->pumps) add(loads[0], *pump);
    add(loads[1], *writer->sampler);
    add(loads[2], *writer->drain);
  }
  return loads;
}

}  // namespace profd::session
