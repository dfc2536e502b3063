// What stands around a drain in a test: ctl, and a writer that keeps what it gets.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/threads/wake_up.h"
#include "daemon/agent/drain.h"
#include "libagent/abi/lane.h"
#include "profd/agent.h"

namespace profd::agent {

// A mark whose payload repeats its number, so that a torn one is seen.
void MarkNumber(profd_name name, uint64_t number);

bool IsIncreasing(const std::vector<uint64_t>& values);

// Ctl's queue: closures run where Run() or Until() is called.
class TestCtl {
 public:
  Drain::Reply Reply();
  void Run();

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> queue_;
};

struct StoredEvent {
  abi::Record record;
  std::vector<abi::ValueSlot> payload;
  uint32_t tid;
};

// What one trace holds of one process.
struct StoredTrace {
  std::map<uint32_t, std::vector<StoredEvent>> lanes;
  std::map<uint32_t, uint64_t> next_seq;
  std::map<uint32_t, uint32_t> tids;
  std::set<uint32_t> names;  // references
  uint64_t names_to = abi::kFirstNameOffset;
  uint64_t events = 0;
  uint64_t streams = 0;
  uint64_t ends = 0;
  format::Loss loss{.records = 0};

  std::vector<uint64_t> ValuesOf(uint32_t lane) const;
};

// Checks every block that it takes: whole, in sequence, whole records only, names before who refers to them.
class TestWriter {
 public:
  TestWriter(size_t chunk_bytes, size_t chunks);

  chunk::Pipe& pipe() { return pipe_; }
  // Takes what is there; at most `items`.
  void Pump(size_t items = SIZE_MAX);
  StoredTrace& trace(uint32_t number) { return traces_[number]; }
  // Its chunks are counted here as stored.
  void Count(uint32_t trace, std::shared_ptr<RecordingStats> stats) { stats_[trace] = std::move(stats); }
  bool check_names = true;

 private:
  void TakeChunk(const chunk::Chunk& chunk);
  void TakeLane(const format::Block& block, StoredTrace& trace) const;
  static void TakeNames(const format::Block& block, StoredTrace& trace);

  base::WakeUp bell_;
  chunk::Pipe pipe_;
  std::map<uint32_t, StoredTrace> traces_;
  std::map<uint32_t, std::shared_ptr<RecordingStats>> stats_;
};

// One process, its region and a drain with small chunks.
class DrainTest : public ::testing::Test {
 protected:
  explicit DrainTest(size_t chunk_bytes = 16 << 10, size_t chunks = 32);
  ~DrainTest() override;

  void Make(const Geometry& geometry);
  void Attach(const Geometry& geometry);  // the process is this one
  DrainTarget Target(uint32_t trace);
  RecordingStats& stats(uint32_t trace) { return *all_stats_.at(trace); }
  Drain::Id Start(uint32_t trace, RingMode mode = RingMode::kDropNewest) {
    return drain_->Start(region_, mode, Target(trace));
  }
  // Serves ctl and the writer until `done` says so; fails after a minute.
  void Until(const std::function<bool()>& done);
  // Waits for the answer of one call of the drain.
  void Wait(const std::function<void(std::function<void()>)>& call);
  void Stop(Drain::Id id) {
    Wait([&](std::function<void()> done) { drain_->Stop(id, std::move(done)); });
  }
  void Serve() {
    ctl_.Run();
    writer_.Pump();
  }

  abi::RegionHeader* header() { return region_->untrusted_header(); }
  abi::Lane* lane(uint32_t i) { return region_->untrusted_lane(i); }
  uint64_t LostOfAllLanes(uint32_t trace);

  TestCtl ctl_;
  TestWriter writer_;
  std::shared_ptr<Region> region_;
  std::map<uint32_t, std::shared_ptr<RecordingStats>> all_stats_;
  std::unique_ptr<Drain> drain_;
  bool attached_ = false;
};

}  // namespace profd::agent
