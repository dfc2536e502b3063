#include "daemon/session/life/recordings/writers.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "daemon/base/memory/slack.h"

namespace profd::session {

namespace {

constexpr uint64_t kLookNs = 2'000'000'000;
constexpr uint64_t kInAnyCase = 8 << 20;         // for what waits on one source's way to one file system
constexpr uint64_t kSamplesInAnyCase = 2 << 20;  // the same of one user's samples
// All that waits has as much as the samples may for so many file systems, recorders as so many of them.
constexpr uint64_t kFileSystems = 4, kRecorders = 16;
constexpr uint64_t kWorthATrim = 4 << 20;

store::Durability DurabilityOf(const std::string& name) {
  if (name == "none") return store::Durability::kNone;
  if (name == "slice") return store::Durability::kSlice;
  return name == "always" ? store::Durability::kAlways : store::Durability::kPeriodic;
}

}  // namespace

void Writer::ForEachPipe(const std::function<void(Source, chunk::Pipe&)>& use) const {
  for (chunk::Pipe* pump : pumps) use(Source::kPump, *pump);
  for (chunk::Pipe* sampler : samplers) {
    if (sampler != nullptr) use(Source::kSampler, *sampler);
  }
  use(Source::kDrain, *drain);
}

Writers::Writers(base::Executor& ctl, base::Timers& timers, const config::Config& config)
    : ctl_(ctl),
      timers_(timers),
      config_(config),
      waiting_(std::make_shared<chunk::Ledger>(kFileSystems * config.store.host_chunks *
                                               config.store.host_chunk_bytes)),
      recorders_(std::make_shared<chunk::Ledger>(kRecorders * config.store.flight_recorder_bytes)) {}

std::shared_ptr<chunk::Account> Writers::RecorderAccount(uid_t user) {
  std::erase_if(recorder_accounts_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<chunk::Account>& known = recorder_accounts_[user];
  auto account = known.lock();
  if (!account) known = account = std::make_shared<chunk::Account>(recorders_);
  return account;
}

chunk::Pipe& Writers::AddPipe(Writer& writer, const std::string& name, uint64_t chunk_bytes,
                              uint64_t chunks) {
  return writer.thread->AddPipe(
      name, chunk_bytes, chunks,
      {.ledger = waiting_, .in_any_case = std::max<uint64_t>(2, kInAnyCase / chunk_bytes)});
}

std::shared_ptr<Writer> Writers::For(dev_t file_system, Of of, size_t pump_count) {
  Entry& entry = writers_[file_system];
  if (!entry.writer) entry = {.writer = Make()};
  entry.unused = false;
  entry.of_spool |= of == Of::kSpool;
  Writer& writer = *entry.writer;
  while (writer.pumps.size() < pump_count) {
    writer.pumps.push_back(&AddPipe(writer, "pump-" + std::to_string(writer.pumps.size()),
                                    config_.store.chunk_bytes, config_.store.device_chunks));
  }
  if (entry.of_spool) {
    writer.ForEachPipe([](Writer::Source source, chunk::Pipe& pipe) {
      if (source != Writer::Source::kSampler) pipe.HaveAll();
    });
  }
  if (!looking_) LookForUnused();
  return entry.writer;
}

// One user's samples do not take the room of another's.
chunk::Pipe& Writers::SamplerPipe(Writer& writer, size_t thread) {
  if (writer.samplers.size() <= thread) writer.samplers.resize(thread + 1);
  chunk::Pipe*& pipe = writer.samplers[thread];
  if (pipe == nullptr) {
    const uint64_t bytes = config_.store.host_chunk_bytes;
    pipe = &writer.thread->AddPipe(
        "sample-" + std::to_string(thread), bytes, config_.store.host_chunks,
        {.ledger = waiting_, .in_any_case = std::max<uint64_t>(2, kSamplesInAnyCase / bytes)});
  }
  return *pipe;
}

void Writers::LookForUnused() {
  looking_ = true;
  timers_.After(kLookNs, [this] {
    for (auto at = writers_.begin(); at != writers_.end();) {
      Entry& entry = at->second;
      const bool was_unused = std::exchange(entry.unused, entry.writer.use_count() == 1);
      at = was_unused && entry.unused ? writers_.erase(at) : std::next(at);
    }
    LetGoOfUnused();
    looking_ = false;
    if (!writers_.empty()) LookForUnused();
  });
}

// So that what waited for a slow disk, or in a flight recorder, does not stay with profd afterwards.
void Writers::LetGoOfUnused() {
  for (const auto& [file_system, entry] : writers_) {
    entry.writer->ForEachPipe([](Writer::Source, chunk::Pipe& pipe) { pipe.LetGoOfUnused(); });
  }
  const uint64_t taken = waiting_->taken() + recorders_->taken();
  if (taken + kWorthATrim < most_taken_) {
    base::Slack::Comes();  // the allocator keeps what lies between others' data
    most_taken_ = taken;
  }
  most_taken_ = std::max(most_taken_, taken);
}

std::shared_ptr<Writer> Writers::Make() {
  auto writer = std::make_shared<Writer>();
  writer->thread = std::make_unique<store::TraceWriter>(
      "write", store::PosixFileSystem(), [this](std::function<void()> work) { ctl_.Post(std::move(work)); },
      DurabilityOf(config_.store.durability), config_.store.flush_every_s * 1'000'000'000);
  writer->drain = &AddPipe(*writer, "drain", config_.store.chunk_bytes, config_.store.agent_chunks);
  return writer;
}

std::vector<QueueLoad> Writers::Loads() const {
  // By Writer::Source.
  std::vector<QueueLoad> loads = {{.source = "pump"}, {.source = "sample"}, {.source = "drain"}};
  for (const auto& [file_system, entry] : writers_) {
    entry.writer->ForEachPipe([&loads](Writer::Source source, const chunk::Pipe& pipe) {
      QueueLoad& load = loads[static_cast<size_t>(source)];
      load.chunks += pipe.InFlight();
      load.room += pipe.chunks();
      load.bytes += pipe.InFlight() * pipe.chunk_bytes();
    });
  }
  return loads;
}

}  // namespace profd::session
