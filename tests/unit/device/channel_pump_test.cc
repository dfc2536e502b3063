#include "daemon/device/channel_pump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "fakes.h"

namespace profd::device {
namespace {

constexpr uint64_t kMs = 1'000'000;
using What = ChannelEvent::What;

class ChannelPumpTest : public testing::Test {
 protected:
  const format::StreamFormat& Format(std::string_view file) {
    return *format::FindStreamFormat(file, driver::Chip::k910B);
  }

  void Add(ChannelPump& pump, ChannelId id, FakeWriter& writer, uint32_t stream,
           std::string_view file = "hbm.data", uint32_t period_ms = 20) {
    stats_[stream] = std::make_shared<chunk::StreamStats>();
    driver_->With(id.device, id.channel, [](FakeDriver::Channel& c) { c.started = true; });
    pump.Add({.id = id,
              .format = &Format(file),
              .period_ms = period_ms,
              .counter_mhz = 0,
              .stop = stop_,
              .report = [this](const ChannelEvent& event) { events_.push_back(event); }},
             std::make_shared<Subscriber>(Format(file), format::StreamKey{1, stream}, stats_[stream],
                                          writer.pipe(), nullptr));
  }
  bool Joined(ChannelPump& pump, ChannelId id, std::shared_ptr<Subscriber> joining) {
    bool joined = false;
    pump.Join(id, std::move(joining), [&joined] { joined = true; });
    return ctl_.RunUntil([&joined] { return joined; });
  }
  bool Gone(ChannelPump& pump, ChannelId id) {
    bool gone = false;
    pump.Remove(id, true, [&gone] { gone = true; });
    return ctl_.RunUntil([&gone] { return gone; });
  }

  FakeCtl ctl_;
  std::shared_ptr<FakeDriver> driver_ = std::make_shared<FakeDriver>();
  const ChannelPump::Options options_{.sweep_ns = 5 * kMs, .stop_sweep_ns = kMs};
  std::shared_ptr<StopCall> stop_ = std::make_shared<StopCall>();
  std::map<uint32_t, chunk::StreamStatsPtr> stats_;
  std::vector<ChannelEvent> events_;
};

TEST_F(ChannelPumpTest, TornReadsBecomeWholeRecords) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.most_per_read = 35; });
  Add(pump, {0, 1}, writer, 1);
  std::string stream;
  for (uint64_t i = 0; i < 30; ++i) stream += HbmPeriod(20'000 * (i + 1), i);
  driver_->Deliver(0, 1, stream);
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].bytes.size() == stream.size(); }));
  EXPECT_TRUE(writer[1].bytes == stream);
  EXPECT_EQ(writer[1].records, 240U);
  EXPECT_TRUE(writer.in_order());
  EXPECT_EQ(stats_[1]->read_records, 240U);
  EXPECT_EQ(stats_[1]->lost_records, 0U);
  EXPECT_TRUE(writer[1].losses.empty());
}

TEST_F(ChannelPumpTest, WholeSamplesAreReadOnceASweep) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  ctl_.RunFor(100 * kMs);
  const uint64_t reads = driver_->With(0, 1, [](FakeDriver::Channel& c) { return c.reads; });
  EXPECT_GE(reads, 2U);
  EXPECT_LE(reads, 100 / 5 + 2U);  // late wake-ups make it fewer, nothing makes it more
}

TEST_F(ChannelPumpTest, AFastChannelIsReadMoreOften) {
  FakeWriter writer(256 << 10, 64);
  const ChannelPump::Options slow{.sweep_ns = 2'000 * kMs, .stop_sweep_ns = kMs};
  ChannelPump pump(driver_, slow, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  std::string burst;
  while (burst.size() < 3 << 20) burst += HbmPeriod(20'000 * (burst.size() / 192 + 1), 0);
  // At the pace of the sweep these would take 80 s.
  ASSERT_TRUE(ctl_.RunUntil([&] {
    driver_->With(0, 1, [&](FakeDriver::Channel& c) {
      if (c.ring.empty()) c.ring = burst;
    });
    writer.Take();
    return driver_->Delivered(0, 1) > 40 * burst.size();
  }));
}

// It may deliver faster than anything before the first sweep is due.
TEST_F(ChannelPumpTest, ANewChannelIsNotLeftToItsFirstSweep) {
  FakeWriter writer;
  const ChannelPump::Options slow{.sweep_ns = 60'000 * kMs, .stop_sweep_ns = kMs};
  ChannelPump pump(driver_, slow, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  for (uint64_t i = 1; i <= 3; ++i) {
    driver_->Deliver(0, 1, HbmPeriod(20'000 * i, i));
    ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].records == 8 * i; }));
  }
}

TEST_F(ChannelPumpTest, DamageIsSkippedCountedAndToldOnce) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  std::string stream;
  for (uint64_t i = 0; i < 30; ++i) {
    stream += HbmPeriod(20'000 * (i + 1), i);
    if (i % 10 == 4) stream += std::string(50, '\xFF');
  }
  driver_->Deliver(0, 1, stream);
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].records == 240; }));
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_.empty(); }));
  ASSERT_TRUE(Gone(pump, {0, 1}));
  EXPECT_EQ(stats_[1]->lost_bytes, 150U);
  EXPECT_EQ(LostRecords(writer[1], format::Loss::Where::kDriver), stats_[1]->lost_records);
  EXPECT_EQ(writer[1].bytes.size() + stats_[1]->lost_bytes, stream.size());
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].what, What::kDamaged);
  for (const format::Loss& loss : writer[1].losses) EXPECT_LE(loss.from_ns, loss.to_ns);
}

TEST_F(ChannelPumpTest, MissingPeriodsAreLoss) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2) + HbmPeriod(140'000, 3));
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].records == 24 && !writer[1].losses.empty(); }));
  EXPECT_EQ(writer[1].losses[0].records, 4 * 8U);
  EXPECT_EQ(writer[1].losses[0].bytes, 4 * 8 * sizeof(format::HbmRecord));
  EXPECT_EQ(writer[1].losses[0].where, format::Loss::Where::kDriver);
}

TEST_F(ChannelPumpTest, AFailingChannelIsToldOnceAndRecovers) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  Add(pump, {0, 3}, writer, 3, "pcie.data");
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.read_code = -1; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_.empty(); }));
  EXPECT_EQ(events_[0].what, What::kFailed);
  ctl_.RunFor(100 * kMs);
  EXPECT_LE(driver_->With(0, 1, [](FakeDriver::Channel& c) { return c.reads; }), 25U);  // it does not spin
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.read_code = 0; });
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].records == 8; }));
  ASSERT_TRUE(ctl_.RunUntil([&] { return events_.size() == 2; }));
  EXPECT_EQ(events_[1].what, What::kRecovered);
}

TEST_F(ChannelPumpTest, ADriverThatClaimsMoreThanItWasAskedForIsNotBelieved) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.read_code = 1 << 30; });
  Add(pump, {0, 1}, writer, 1);
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_.empty(); }));
  EXPECT_EQ(events_[0].what, What::kFailed);
  EXPECT_EQ(writer[1].records, 0U);
}

// A writer that is slow for a while: nothing may be lost while the driver's ring has room.
TEST_F(ChannelPumpTest, WaitsForChunksWhileTheRingHasRoom) {
  FakeWriter writer(8 << 10, 2);
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  std::string stream;
  for (uint64_t i = 0; stream.size() < 1 << 20; ++i) stream += HbmPeriod(20'000 * (i + 1), i);
  driver_->Deliver(0, 1, stream);
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_->Delivered(0, 1) >= 2 * (8 << 10) - 24; }));
  ctl_.RunFor(10 * kMs);  // no chunk comes back
  EXPECT_LE(driver_->Delivered(0, 1), 2U * (8 << 10));
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].bytes.size() == stream.size(); }));
  EXPECT_TRUE(writer[1].bytes == stream);
  EXPECT_EQ(stats_[1]->lost_records, 0U);
}

// A source faster than anything, and a writer that stalls now and then: what does not fit is counted to the
// byte.
TEST_F(ChannelPumpTest, WhatAFloodLosesIsCounted) {
  FakeWriter writer(64 << 10, 8);
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  std::string ring;
  for (uint64_t i = 0; ring.size() < 4 << 20; ++i) ring += HbmPeriod(20'000 * (i + 1), i);
  for (const uint32_t channel : {1, 2}) {
    driver_->With(0, channel, [&](FakeDriver::Channel& c) { c.supply = [&ring] { return ring; }; });
    Add(pump, {0, channel}, writer, channel);
  }
  for (int stall = 0; stall < 4; ++stall) {
    const uint64_t until = driver_->Delivered(0, 1) + (8 << 20);
    ASSERT_TRUE(ctl_.RunUntil([&] {
      writer.Take();
      return driver_->Delivered(0, 1) >= until;
    }));
    const uint64_t lost = stats_[1]->lost_bytes + stats_[2]->lost_bytes;
    ASSERT_TRUE(ctl_.RunUntil([&] { return stats_[1]->lost_bytes + stats_[2]->lost_bytes > lost; }));
  }
  for (const uint32_t channel : {1, 2}) {
    driver_->With(0, channel, [](FakeDriver::Channel& c) { c.supply = nullptr; });
  }
  for (const uint32_t channel : {1, 2}) {
    ASSERT_TRUE(ctl_.RunUntil([&] {
      writer.Take();
      return driver_->Empty(0, channel);
    }));
    ASSERT_TRUE(Gone(pump, {0, channel}));
    const uint64_t delivered = driver_->Delivered(0, channel);
    EXPECT_EQ(writer[channel].bytes.size() + stats_[channel]->lost_bytes, delivered);
    EXPECT_EQ(writer[channel].records + stats_[channel]->lost_records, delivered / sizeof(format::HbmRecord));
    EXPECT_EQ(LostRecords(writer[channel], format::Loss::Where::kPool), stats_[channel]->lost_records);
    EXPECT_TRUE(writer.in_order());
  }
}

TEST_F(ChannelPumpTest, AFloodedChannelDoesNotStarveTheOthers) {
  FakeWriter writer(64 << 10, 8);
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  std::string ring;
  for (uint64_t i = 0; ring.size() < 1 << 20; ++i) ring += HbmPeriod(20'000 * (i + 1), i);
  driver_->With(0, 1, [&](FakeDriver::Channel& c) { c.supply = [&ring] { return ring; }; });
  Add(pump, {0, 1}, writer, 1);
  Add(pump, {0, 2}, writer, 2);
  for (uint64_t i = 0; i < 5; ++i) {
    driver_->Deliver(0, 2, HbmPeriod(20'000 * (i + 1), i));
    ASSERT_TRUE(ctl_.RunUntil([&] { return writer[2].records == 8 * (i + 1); }));
  }
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.supply = nullptr; });
}

// The later session has no chunks of its own: the first must not suffer once the ring fills, and the loss is
// the later one's alone.
TEST_F(ChannelPumpTest, ASlowSecondSessionLosesAlone) {
  FakeWriter fast(64 << 10, 64);
  FakeWriter slow(64 << 10, 2);
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, fast, 1);
  const auto stats = std::make_shared<chunk::StreamStats>();
  const Join join{.channel_start_ns = 0, .session_start_ns = 0, .periods = 1};
  ASSERT_TRUE(Joined(
      pump, {0, 1},
      std::make_shared<Subscriber>(Format("hbm.data"), format::StreamKey{2, 2}, stats, slow.pipe(), &join)));
  uint64_t period = 0;
  driver_->With(0, 1, [&](FakeDriver::Channel& c) {
    c.supply = [&period] {
      std::string bytes;
      while (bytes.size() < 1 << 20) {
        ++period;
        bytes += HbmPeriod(20'000 * period, period);
      }
      return bytes;
    };
  });
  ASSERT_TRUE(ctl_.RunUntil([&] {
    fast.Take();
    return stats->lost_records > 0;
  }));
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.supply = nullptr; });
  ASSERT_TRUE(ctl_.RunUntil([&] {
    fast.Take();
    slow.Take();
    return driver_->Empty(0, 1);
  }));
  bool gone = false;
  pump.Remove({0, 1}, true, [&gone] { gone = true; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return gone; }));
  EXPECT_EQ(fast[1].bytes.size(), driver_->Delivered(0, 1));
  EXPECT_EQ(stats_[1]->lost_records, 0U);
  EXPECT_EQ(slow[2].bytes.size() + stats->lost_bytes, driver_->Delivered(0, 1));
}

TEST_F(ChannelPumpTest, SessionsShareTheOnlyChunk) {
  FakeWriter writer(64 << 10, 1);
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  const auto stats = std::make_shared<chunk::StreamStats>();
  const Join join{.channel_start_ns = 0, .session_start_ns = 0, .periods = 1};
  ASSERT_TRUE(Joined(pump, {0, 1},
                     std::make_shared<Subscriber>(Format("hbm.data"), format::StreamKey{1, 2}, stats,
                                                  writer.pipe(), &join)));
  std::string ring;
  for (uint64_t i = 0; ring.size() < 4 << 20; ++i) ring += HbmPeriod(20'000 * (i + 1), i);
  driver_->With(0, 1, [&](FakeDriver::Channel& c) { c.supply = [&ring] { return ring; }; });
  EXPECT_TRUE(ctl_.RunUntil([&] { return writer[1].records > 0 && writer[2].records > 0; }));
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.supply = nullptr; });
}

TEST_F(ChannelPumpTest, AJoiningSessionGetsNothingFromBefore) {
  FakeWriter writer;
  // Sweeps far apart: without the read at the join the second would get the first's records too.
  const ChannelPump::Options slow{.sweep_ns = 60'000 * kMs, .stop_sweep_ns = kMs};
  ChannelPump pump(driver_, slow, "pump", ctl_.Post());
  Add(pump, {0, 52}, writer, 1, "stars_soc_profile.data", 0);
  ASSERT_TRUE(ctl_.RunUntil(
      [&] { return driver_->With(0, 52, [](FakeDriver::Channel& c) { return c.reads; }) > 0; }));
  format::StarsSioRecord record{};
  record.head.magic = format::kStarsMagic;
  driver_->Deliver(0, 52, Bytes(record));
  const Join join{};
  const auto joining =
      std::make_shared<Subscriber>(Format("stars_soc_profile.data"), format::StreamKey{2, 2},
                                   std::make_shared<chunk::StreamStats>(), writer.pipe(), &join);
  ASSERT_TRUE(Joined(pump, {0, 52}, joining));
  driver_->Deliver(0, 52, Bytes(record) + Bytes(record));
  ASSERT_TRUE(Gone(pump, {0, 52}));
  EXPECT_EQ(writer[1].records, 3U);
  EXPECT_EQ(writer[2].records, 2U);
}

TEST_F(ChannelPumpTest, WhatASlowStopHasDiscardedIsSaid) {
  struct Case {
    const char* what;
    uint64_t took_ns;
    bool is_read_empty, is_discarded;
  };
  for (const Case& one :
       {Case{"quick", 100 * kMs, false, false}, Case{"slow, and read empty", 2000 * kMs, true, false},
        Case{"slow", 1000 * kMs, false, true}}) {
    SCOPED_TRACE(one.what);
    events_.clear();
    stop_ = std::make_shared<StopCall>();
    FakeWriter writer;
    ChannelPump pump(driver_, options_, "pump", ctl_.Post());
    // Reads never say that nothing is left.
    std::string ring;
    for (uint64_t i = 0; i < 100; ++i) ring += HbmPeriod(20'000 * (i + 1), i);
    driver_->With(0, 1, [&](FakeDriver::Channel& c) { c.supply = [&ring] { return ring; }; });
    Add(pump, {0, 1}, writer, 1);
    ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].records > 0; }));
    if (one.is_read_empty) {
      driver_->With(0, 1, [](FakeDriver::Channel& c) { c.supply = nullptr; });
      ASSERT_TRUE(ctl_.RunUntil([&] { return driver_->Empty(0, 1); }));
      const auto reads = [this] {
        return driver_->With(0, 1, [](FakeDriver::Channel& c) { return c.reads; });
      };
      const auto before = reads();
      ASSERT_TRUE(ctl_.RunUntil([&] { return reads() > before + 1; }));
    }
    const uint64_t now_ns = base::MonotonicNs();
    stop_->began_ns = now_ns - one.took_ns;
    stop_->returned_ns = now_ns;
    ASSERT_TRUE(Gone(pump, {0, 1}));
    const auto is_discarded = [](const ChannelEvent& event) {
      return event.what == ChannelEvent::What::kDiscarded;
    };
    EXPECT_EQ(std::count_if(events_.begin(), events_.end(), is_discarded), one.is_discarded);
    driver_->With(0, 1, [](FakeDriver::Channel& c) { c.supply = nullptr; });
  }
}

TEST_F(ChannelPumpTest, TheEndMarkComesAfterTheData) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1) + "tail");
  bool gone = false;
  pump.Remove({0, 1}, true, [&gone] { gone = true; });
  pump.EndTrace(9, &writer.pipe());
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer.Take(), gone && !writer.ends().empty(); }));
  EXPECT_EQ(writer.ends(), std::vector<uint32_t>{9});
  EXPECT_EQ(writer[1].records, 8U);
  EXPECT_EQ(stats_[1]->lost_bytes, 4U);
}

TEST_F(ChannelPumpTest, ASleepingPumpWakesForTheFirstChannel) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  for (uint32_t trace = 1; trace <= 3; ++trace) {
    pump.EndTrace(trace, &writer.pipe());
    ASSERT_TRUE(ctl_.RunUntil([&] { return writer.Take(), writer.ends().size() == trace; }));
  }
}

TEST_F(ChannelPumpTest, AReadThatDoesNotReturnCostsItsDeviceOnly) {
  FakeWriter writer;
  ChannelPump pump(driver_, options_, "pump", ctl_.Post());
  Add(pump, {0, 1}, writer, 1);
  Add(pump, {1, 1}, writer, 2);
  Add(pump, {1, 2}, writer, 3, "ddr.data");
  const auto gate = std::make_shared<Gate>();
  gate->Close();
  const std::string stream = HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2);
  driver_->Deliver(1, 1, stream);
  driver_->With(1, 1, [&](FakeDriver::Channel& c) { c.read_gate = gate; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  EXPECT_FALSE(pump.GiveUpRead(0, [] {}));  // it has only begun

  std::atomic<int> returned = 0;
  std::optional<ChannelId> id;
  ASSERT_TRUE(
      ctl_.RunUntil([&] { return (id = pump.GiveUpRead(UINT64_MAX, [&] { ++returned; })).has_value(); }));
  EXPECT_EQ(*id, (ChannelId{1, 1}));
  driver_->Deliver(0, 1, stream);
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[1].bytes == stream; }));
  ASSERT_TRUE(Gone(pump, {1, 2}));  // without a read
  EXPECT_EQ(returned, 0);

  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return returned == 1; }));
  EXPECT_TRUE(writer[2].bytes.empty());
  pump.ReadAgain(1);
  driver_->Deliver(1, 1, HbmPeriod(60'000, 3));
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer[2].records == 24; }));
  EXPECT_EQ(writer[2].bytes, stream + HbmPeriod(60'000, 3));
  EXPECT_TRUE(writer.in_order());
  EXPECT_EQ(stats_[2]->lost_records, 0U);
}

TEST_F(ChannelPumpTest, TasksThatHangInAReadGoOnWithoutIt) {
  FakeWriter writer;
  ChannelPump pump(driver_, {.sweep_ns = 60'000 * kMs, .stop_sweep_ns = kMs}, "pump", ctl_.Post());
  Add(pump, {1, 1}, writer, 1);
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_->With(1, 1, [](auto& c) { return c.reads > 0; }); }));
  const auto gate = std::make_shared<Gate>();
  gate->Close();
  driver_->With(1, 1, [&](FakeDriver::Channel& c) { c.read_gate = gate; });
  bool gone = false, other = false;
  pump.Remove({1, 1}, true, [&] { gone = true; });
  pump.Remove({0, 1}, true, [&] { other = true; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  EXPECT_FALSE(gone);
  ASSERT_TRUE(ctl_.RunUntil([&] { return pump.GiveUpRead(UINT64_MAX, [] {}).has_value(); }));
  ASSERT_TRUE(ctl_.RunUntil([&] { return gone && other; }));
  gate->Open();
}

TEST_F(ChannelPumpTest, ItsEndDoesNotWaitForTheDriver) {
  const auto gate = std::make_shared<Gate>();
  {
    FakeWriter writer;
    ChannelPump pump(driver_, options_, "pump", ctl_.Post());
    Add(pump, {1, 1}, writer, 1);
    gate->Close();
    driver_->With(1, 1, [&](FakeDriver::Channel& c) { c.read_gate = gate; });
    ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  }
  driver_->Deliver(1, 1, HbmPeriod(20'000, 1));  // into memory that nobody else has any more
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_->Delivered(1, 1) > 0; }));
}

}  // namespace
}  // namespace profd::device
