#include "tests/unit/agent_ring/harness.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "libagent/src/process.h"

namespace profd::agent {

void MarkNumber(profd_name name, uint64_t number) {
  profd_value values[2] = {};
  for (profd_value& value : values) {
    value.key = name;
    value.type = PROFD_U64;
    value.as.u64 = number;
  }
  const profd_event event{sizeof(event), 0, name, 0, values, 2};
  profd_mark_event(&event);
}

bool IsIncreasing(const std::vector<uint64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

Drain::Reply TestCtl::Reply() {
  return [this](std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  };
}

void TestCtl::Run() {
  for (;;) {
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

std::vector<uint64_t> StoredTrace::ValuesOf(uint32_t lane) const {
  std::vector<uint64_t> values;
  if (const auto found = lanes.find(lane); found != lanes.end()) {
    for (const StoredEvent& event : found->second) values.push_back(event.record.value);
  }
  return values;
}

TestWriter::TestWriter(size_t chunk_bytes, size_t chunks) : pipe_("test", chunk_bytes, chunks, bell_) {}

void TestWriter::Pump(size_t items) {
  chunk::Item item;
  for (; items > 0 && pipe_.Pop(item); --items) {
    StoredTrace& trace = traces_[item.key.trace];
    EXPECT_EQ(trace.ends, 0U) << "something comes behind the end mark";
    switch (item.what) {
      case chunk::Item::What::kChunk:
        TakeChunk(*item.chunk);
        pipe_.Return(item.chunk);
        break;
      case chunk::Item::What::kLoss:
        EXPECT_EQ(item.loss.where, format::Loss::Where::kAgent);
        EXPECT_LE(item.loss.from_ns, item.loss.to_ns);
        trace.loss.records += item.loss.records;
        trace.loss.bytes += item.loss.bytes;
        break;
      case chunk::Item::What::kStream:
        ++trace.streams;
        break;
      case chunk::Item::What::kEnd:
        ++trace.ends;
        break;
    }
  }
}

void TestWriter::TakeChunk(const chunk::Chunk& chunk) {
  StoredTrace& trace = traces_[chunk.header.key.trace];
  EXPECT_EQ(trace.streams, 2U) << "the streams are announced before their chunks";
  format::BlockReader reader({chunk.data, chunk.header.used});
  format::Block block;
  uint64_t records = 0;
  while (reader.Next(block)) {
    records += block.header.records;
    if (block.header.type == static_cast<uint16_t>(format::BlockType::kLane)) {
      EXPECT_EQ(chunk.header.key.stream, 10U);
      TakeLane(block, trace);
    } else {
      EXPECT_EQ(chunk.header.key.stream, 11U);
      TakeNames(block, trace);
    }
  }
  EXPECT_EQ(reader.skipped_bytes(), 0U);
  EXPECT_EQ(records, chunk.header.records);
  if (const auto found = stats_.find(chunk.header.key.trace); found != stats_.end()) {
    found->second->Written(chunk.data, chunk.header.used, true);
  }
}

void TestWriter::TakeLane(const format::Block& block, StoredTrace& trace) const {
  const format::BlockHeader& header = block.header;
  EXPECT_EQ(header.seq, trace.next_seq[header.lane]++);
  uint32_t tid = header.tid;
  uint32_t records = 0;
  for (size_t at = 0; at < block.payload.size();) {
    StoredEvent event{};
    std::memcpy(&event.record, block.payload.data() + at, sizeof(event.record));
    if (at == 0) {
      EXPECT_EQ(event.record.stamp, header.first_stamp);
    }
    at += abi::kRecordBytes;
    if (event.record.kind == abi::kThread) tid = static_cast<uint32_t>(event.record.value);
    if (event.record.kind >= abi::kThread) continue;
    ASSERT_NE(event.record.kind, abi::kValue);
    ASSERT_LE(at + size_t{event.record.more} * abi::kRecordBytes, block.payload.size());
    for (int left = event.record.more - 1; left >= 0; --left, at += abi::kRecordBytes) {
      abi::ValueSlot value;
      std::memcpy(&value, block.payload.data() + at, sizeof(value));
      ASSERT_EQ(value.kind, abi::kValue);
      ASSERT_EQ(value.more, left);
      ASSERT_EQ(value.stamp, event.record.stamp);
      event.payload.push_back(value);
    }
    if (check_names && event.record.name != 0) {
      EXPECT_TRUE(trace.names.contains(event.record.name)) << event.record.name;
    }
    event.tid = tid;
    ++records;
    trace.lanes[header.lane].push_back(std::move(event));
  }
  EXPECT_EQ(records, header.records);
  trace.events += records;
}

void TestWriter::TakeNames(const format::Block& block, StoredTrace& trace) {
  EXPECT_EQ(block.header.lost_before, trace.names_to);
  uint32_t entries = 0;
  for (size_t at = 0; at < block.payload.size(); ++entries) {
    abi::NameEntry entry;
    ASSERT_LE(at + sizeof(entry), block.payload.size());
    std::memcpy(&entry, block.payload.data() + at, sizeof(entry));
    trace.names.insert(static_cast<uint32_t>((trace.names_to + at) / abi::kNameUnit));
    at += (sizeof(entry) + entry.bytes + abi::kNameUnit) / abi::kNameUnit * abi::kNameUnit;
    ASSERT_LE(at, block.payload.size());
  }
  EXPECT_EQ(entries, block.header.records);
  trace.names_to += block.payload.size();
}

DrainTest::DrainTest(size_t chunk_bytes, size_t chunks)
    : writer_(chunk_bytes, chunks), drain_(std::make_unique<Drain>(Drain::Options{}, ctl_.Reply())) {}

DrainTest::~DrainTest() {
  if (attached_) DetachRegion();
  drain_.reset();
  ctl_.Run();
}

void DrainTest::Make(const Geometry& geometry) {
  auto region = Region::Make(geometry);
  ASSERT_TRUE(region.ok()) << region.status().message();
  region_ = *region;
}

void DrainTest::Attach(const Geometry& geometry) {
  ASSERT_NO_FATAL_FAILURE(Make(geometry));
  ASSERT_EQ(AttachRegion(region_->memfd(), ::dup(region_->wake_fd())), AttachError::kOk);
  attached_ = true;
}

DrainTarget DrainTest::Target(uint32_t trace) {
  auto stats = std::make_shared<RecordingStats>(region_->geometry().lanes);
  all_stats_[trace] = stats;
  writer_.Count(trace, stats);
  return {.trace = trace,
          .first_stream = 10,
          .pipe = &writer_.pipe(),
          .lanes_spec = std::make_shared<chunk::StreamSpec>(),
          .names_spec = std::make_shared<chunk::StreamSpec>(),
          .reports = nullptr,
          .stats = stats};
}

void DrainTest::Until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    Serve();
    // Between two looks: the drain's thread rings nobody.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  Serve();
}

void DrainTest::Wait(const std::function<void(std::function<void()>)>& call) {
  auto done = std::make_shared<bool>(false);
  call([done] {
    EXPECT_FALSE(*done);
    *done = true;
  });
  EXPECT_FALSE(*done) << "never from inside the call";
  Until([done] { return *done; });
}

uint64_t DrainTest::LostOfAllLanes(uint32_t trace) {
  uint64_t lost = 0;
  for (const RecordingStats::Lane& one : stats(trace).lanes) lost += one.lost_records;
  return lost;
}

}  // namespace profd::agent
