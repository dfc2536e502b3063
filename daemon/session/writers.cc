#include "daemon/session/writers.h"

#include <string>

namespace profd::session {

namespace {

store::Durability DurabilityOf(const std::string& name) {
  if (name == "none") return store::Durability::kNone;
  if (name == "slice") return store::Durability::kSlice;
  return name == "always" ? store::Durability::kAlways : store::Durability::kPeriodic;
}

}  // namespace

std::shared_ptr<Writer> Writers::For(dev_t file_system, size_t pump_count) {
  std::erase_if(writers_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Writer>& known = writers_[file_system];
  if (auto writer = known.lock()) return writer;
  auto writer = std::make_shared<Writer>();
  writer->thread = std::make_unique<store::TraceWriter>(
      "write", store::PosixFileSystem(), [this](std::function<void()> work) { ctl_.Post(std::move(work)); },
      DurabilityOf(config_.store.durability), config_.store.flush_every_s * 1'000'000'000);
  for (size_t pump = 0; pump < pump_count; ++pump) {
    writer->pumps.push_back(&writer->thread->AddPipe("pump-" + std::to_string(pump),
                                                     config_.store.chunk_bytes, config_.store.device_chunks));
  }
  writer->sampler =
      &writer->thread->AddPipe("sample", config_.store.host_chunk_bytes, config_.store.host_chunks);
  writer->drain = &writer->thread->AddPipe("drain", config_.store.chunk_bytes, config_.store.agent_chunks);
  known = writer;
  return writer;
}

std::vector<QueueLoad> Writers::Loads() const {
  std::vector<QueueLoad> loads = {{.source = "pump"}, {.source = "sample"}, {.source = "drain"}};
  const auto add = [](QueueLoad& load, const chunk::Pipe& pipe) {
    load.chunks += pipe.InFlight();
    load.room += pipe.chunks();
    load.bytes += pipe.InFlight() * pipe.chunk_bytes();
  };
  for (const auto& [file_system, known] : writers_) {
    const auto writer = known.lock();
    if (writer == nullptr) continue;
    for (const chunk::Pipe* pump : writer->pumps) add(loads[0], *pump);
    add(loads[1], *writer->sampler);
    add(loads[2], *writer->drain);
  }
  return loads;
}

}  // namespace profd::session
