#include "daemon/host/events/python_probe.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "daemon/host/events/perf_ring.h"
#include "daemon/host/scouts/profile_scout.h"

namespace profd::host {
namespace {

constexpr uint64_t kPatienceNs = 10'000'000'000;

// Frames of a thread as an interpreter has them, in this process.
class PythonProbeTest : public testing::Test {
 protected:
  static constexpr size_t kFrames = 80;
  struct Frame {
    uint64_t code, previous, instruction;
    uint8_t unused, mark, others[6];
  };
  struct State {
    uint64_t id, current;
  };
  struct Record {
    uint64_t unused, frame;
  };

  void SetUp() override {
    PythonProbe::Prepare();
    auto probe = PythonProbe::Claim();
    if (!probe.ok()) GTEST_SKIP() << probe.status().message();
    probe_.emplace(std::move(probe).value());
    auto ring = PerfRing::Open(OnCpuAttributes(999, false), ::gettid(), -1, 256 << 10);
    if (!ring.ok()) GTEST_SKIP() << ring.status().message();
    ring_.emplace(std::move(ring).value());
    for (size_t i = 0; i < kFrames; ++i) {
      frames_[i] = {.code = 1000 + i,
                    .previous = i + 1 < kFrames ? At(i + 1) : 0,
                    .instruction = 2000 + i,
                    .unused = 9,
                    .mark = static_cast<uint8_t>(i % 3),
                    .others = {9, 9, 9, 9, 9, 9}};
    }
    record_.frame = At(0);
    state_ = {.id = 4711, .current = reinterpret_cast<uint64_t>(&record_)};
    ASSERT_TRUE(probe_->RunAt(ring_->event()).ok());
  }
  uint64_t At(size_t frame) const { return reinterpret_cast<uint64_t>(&frames_[frame]); }
  PythonThread Thread() const {
    return {.tid = static_cast<uint32_t>(::gettid()),
            .current = offsetof(State, current),
            .record = 1,
            .frame = offsetof(Record, frame),
            .code = offsetof(Frame, code),
            .previous = offsetof(Frame, previous),
            .instruction = offsetof(Frame, instruction),
            .mark = offsetof(Frame, mark),
            .id_at = offsetof(State, id),
            .state = reinterpret_cast<uint64_t>(&state_),
            .id = 4711};
  }
  // Computes until a sample has come, and what is noted of it.
  std::vector<PythonFrames> Noted(size_t samples = 1) {
    std::vector<PythonFrames> noted;
    probe_->Drain([](const PythonFrames&) {});
    ring_->Drain([](PerfRecord) {});
    ring_->Enable();
    const uint64_t end_ns = base::MonotonicNs() + kPatienceNs;
    size_t seen = 0;
    while (seen < samples && base::MonotonicNs() < end_ns) ring_->Drain([&seen](PerfRecord) { ++seen; });
    ring_->Disable();
    EXPECT_GE(seen, samples);  // the kernel makes them all the same
    probe_->Drain([&noted](const PythonFrames& frames) { noted.push_back(frames); });
    return noted;
  }

  std::optional<PythonProbe> probe_;
  std::optional<PerfRing> ring_;
  std::array<Frame, kFrames> frames_;
  Record record_{};
  State state_{};
};

TEST_F(PythonProbeTest, NotesTheFramesOfAThreadThatItKnows) {
  EXPECT_TRUE(Noted().empty());
  probe_->Add(Thread());
  frames_[2].previous = 0;
  const uint64_t before_ns = base::MonotonicNs();
  const auto noted = Noted(5);
  ASSERT_GE(noted.size(), 5u);
  for (const PythonFrames& frames : noted) {
    EXPECT_EQ(frames.tid, static_cast<uint32_t>(::gettid()));
    EXPECT_GE(frames.mono_ns, before_ns);
    EXPECT_LE(frames.mono_ns, base::MonotonicNs());
    EXPECT_EQ(frames.current, state_.current);
    ASSERT_EQ(frames.count, 3u);
    EXPECT_EQ(frames.rest, 0u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(frames.frames[i].at, At(i));
      EXPECT_EQ(frames.frames[i].code, 1000 + i);
      EXPECT_EQ(frames.frames[i].instruction, 2000 + i);
      EXPECT_EQ(frames.frames[i].mark, i % 3);
    }
  }
}

TEST_F(PythonProbeTest, NotesAsManyAsItHasRoomForAndWhereTheyGoOn) {
  probe_->Add(Thread());
  const auto noted = Noted();
  ASSERT_FALSE(noted.empty());
  EXPECT_EQ(noted.front().count, PythonFrames::kMost);
  EXPECT_EQ(noted.front().frames.back().at, At(PythonFrames::kMost - 1));
  EXPECT_EQ(noted.front().rest, At(PythonFrames::kMost));
}

TEST_F(PythonProbeTest, EndsWhereMemoryIsNotThere) {
  probe_->Add(Thread());
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  frames_[1].previous = reinterpret_cast<uint64_t>(page);
  const auto noted = Noted();
  ASSERT_FALSE(noted.empty());
  EXPECT_EQ(noted.front().count, 2u);
  EXPECT_EQ(noted.front().rest, frames_[1].previous);
  // A circle is as long as there is room.
  frames_[1].previous = At(0);
  const auto circle = Noted();
  ASSERT_FALSE(circle.empty());
  EXPECT_EQ(circle.front().count, PythonFrames::kMost);
  ::munmap(page, 4096);
}

TEST_F(PythonProbeTest, KnowsAThreadByItsState) {
  probe_->Add(Thread());
  state_.id = 4712;  // another's now
  EXPECT_TRUE(Noted().empty());
  PythonThread other = Thread();
  other.id = 4712;
  probe_->Add(other);
  EXPECT_FALSE(Noted().empty());
  // Threads whose numbers fall together.
  for (uint32_t i = 1; i < 3; ++i) {
    other.tid = static_cast<uint32_t>(::gettid()) + 2048 * i;
    probe_->Add(other);
  }
  EXPECT_FALSE(Noted().empty());
}

TEST_F(PythonProbeTest, IsLetGoOf) {
  probe_->Add(Thread());
  probe_.reset();
  auto again = PythonProbe::Claim();
  ASSERT_TRUE(again.ok()) << again.status().message();
  probe_.emplace(std::move(again).value());
  EXPECT_TRUE(Noted().empty());  // the threads are the next one's own
}

}  // namespace
}  // namespace profd::host
