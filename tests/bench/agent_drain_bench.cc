// What it costs to bring a process's records to disk: region → drain → pipe → writer, checksummed, against a
// naked append of the same bytes, in turns in one run. `ratio` is bytes per CPU-second of the first to the
// second, all threads of the daemon's side counted; the process that emits is another one. It emits at a
// steady 10 million events a second, and what it lost is printed.
//
// Usage: agent_drain_bench [--json] [--gate] [--seconds N] [--slots N]; --gate fails when the ratio is beyond
// what CI tolerates. --seconds: of the run that looks for losses (0: none).
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/agent/drain.h"
#include "daemon/store/trace_writer.h"
#include "format/directory/own_folder.h"
#include "libagent/src/process.h"
#include "profd/agent.h"
#include "tests/unit/support/process_lanes.h"

namespace profd {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kEventsPerSecond = 10'000'000;
constexpr uint64_t kRatioEvents = 8'000'000;  // of one turn: 256 MB
constexpr int kTurns = 5;
constexpr size_t kChunkBytes = 256 << 10;
constexpr size_t kChunks = 64;
constexpr size_t kSliceBytes = 2 << 20;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(2);
}

uint64_t CpuNs() { return base::ReadClockNs(CLOCK_PROCESS_CPUTIME_ID); }

// A process that emits `events` counters as steadily as it can.
class Producer {
 public:
  Producer(const agent::Region& region, uint64_t events) {
    int go[2];
    int done[2];
    if (::pipe2(go, O_CLOEXEC) != 0 || ::pipe2(done, O_CLOEXEC) != 0) Die("pipe");
    pid_ = ::fork();
    if (pid_ < 0) Die("fork");
    if (pid_ == 0) Emit(region, events, go[0], done[1]);
    ::close(go[0]);
    ::close(done[1]);
    go_.Reset(go[1]);
    done_.Reset(done[0]);
    Wait();  // it has attached
  }
  ~Producer() { ::waitpid(pid_, nullptr, 0); }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void Go() {
    if (::write(go_.get(), "g", 1) != 1) Die("go");
  }
  bool Done() {
    pollfd answer{.fd = done_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&answer, 1, 0) == 1;
  }
  void Wait() {
    char byte = 0;
    if (::read(done_.get(), &byte, 1) != 1) Die("the producer");
  }

 private:
  [[noreturn]] static void Emit(const agent::Region& region, uint64_t events, int go, int done) {
    char byte = 0;
    const profd_name name = profd_intern("bench");
    if (agent::AttachRegion(region.memfd(), ::dup(region.wake_fd())) != agent::AttachError::kOk)
      std::_Exit(2);
    if (::write(done, "a", 1) != 1 || ::read(go, &byte, 1) != 1) std::_Exit(2);
    agent::Arm({});
    constexpr uint64_t kBurst = 2000;
    uint64_t due = base::MonotonicNs();
    for (uint64_t emitted = 0; emitted < events; emitted += kBurst) {
      for (uint64_t i = 0; i < kBurst; ++i) profd_counter(name, static_cast<int64_t>(emitted + i));
      due += kBurst * 1'000'000'000 / kEventsPerSecond;
      const uint64_t now = base::MonotonicNs();
      // What it missed for want of a processor it doesn't make up for at ten times the rate.
      constexpr uint64_t kLate = 1'000'000;
      due = std::max(due, now - kLate);
      if (due > now + 20'000) {
        const timespec rest{0, static_cast<long>(due - now)};
        ::nanosleep(&rest, nullptr);
      }
    }
    agent::Disarm();
    std::_Exit(::write(done, "d", 1) == 1 ? 0 : 2);
  }

  pid_t pid_ = 0;
  base::UniqueFd go_;
  base::UniqueFd done_;
};

struct Outcome {
  uint64_t cpu_ns = 0;
  uint64_t stored = 0;
  uint64_t lost = 0;
};

// Ctl, as far as it goes here: what comes back is run by who waits for it.
class Ctl {
 public:
  agent::Drain::Reply Reply() {
    return [this](std::function<void()> work) {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    };
  }
  void Until(const bool& done) {
    while (!done) {
      std::function<void()> work;
      {
        const std::lock_guard lock(mutex_);
        if (!queue_.empty()) {
          work = std::move(queue_.front());
          queue_.pop_front();
        }
      }
      if (work) {
        work();
      } else {
        ::usleep(1000);
      }
    }
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> queue_;
};

Outcome ThroughDrain(const fs::path& root, const agent::Geometry& geometry, uint64_t events) {
  auto made = agent::Region::Make(geometry);
  if (!made.ok()) Die(made.status().message().c_str());
  const std::shared_ptr<agent::Region> region = *made;
  Producer producer(*region, events);

  Ctl ctl;
  store::TraceWriter writer("write", store::PosixFileSystem(), ctl.Reply());
  agent::Drain drain({}, ctl.Reply());
  chunk::Pipe& pipe = writer.AddPipe("drain", kChunkBytes, kChunks);
  store::TraceSpec spec;
  spec.parent.Reset(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  spec.name = "PROF_1";
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  spec.slice_bytes = kSliceBytes;
  bool opened = false;
  writer.Open(1, std::move(spec), {}, [&opened](const base::Status& status) {
    if (!status.ok()) Die(status.message().c_str());
    opened = true;
  });
  ctl.Until(opened);
  auto lanes = std::make_shared<chunk::StreamSpec>();
  lanes->folder = format::kOwnFolder;
  lanes->file = "agent_1_0.lanes";
  lanes->stats = std::make_shared<chunk::StreamStats>();
  auto names = std::make_shared<chunk::StreamSpec>();
  names->folder = format::kOwnFolder;
  names->file = "agent_1_0.names";
  const auto stats = std::make_shared<agent::RecordingStats>(geometry.lanes);
  const uint64_t before = CpuNs();
  const agent::Drain::Id id = drain.Start(region, agent::RingMode::kDropNewest,
                                          {.trace = 1,
                                           .first_stream = 0,
                                           .pipe = &pipe,
                                           .lanes_spec = lanes,
                                           .names_spec = names,
                                           .reports = nullptr,
                                           .stats = stats});
  producer.Go();
  producer.Wait();
  bool stopped = false;
  drain.Stop(id, [&stopped] { stopped = true; });
  drain.EndTrace(1, pipe);
  ctl.Until(stopped);
  bool sealed = false;
  writer.Seal(1, 1, UINT64_MAX, [&sealed](const store::TraceRecord& record) {
    if (!record.error.empty()) Die(record.error.c_str());
    sealed = true;
  });
  ctl.Until(sealed);
  Outcome outcome{.cpu_ns = CpuNs() - before, .stored = lanes->stats->stored_records, .lost = 0};
  for (const agent::RecordingStats::Lane& lane : stats->lanes) outcome.lost += lane.lost_records;
  if (outcome.stored + outcome.lost != events) {
    std::fprintf(stderr, "%lu stored + %lu lost is not %lu emitted\n", outcome.stored, outcome.lost, events);
    std::exit(2);
  }
  return outcome;
}

// Slices as the writer cuts them.
class NakedFile {
 public:
  explicit NakedFile(fs::path root) : root_(std::move(root)) { fs::create_directories(root_); }
  void Append(const std::byte* bytes, size_t count) {
    if (!fd_ || size_ >= kSliceBytes) {
      const fs::path name = root_ / ("agent_1_0.lanes.slice_" + std::to_string(slices_++));
      fd_.Reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
      size_ = 0;
    }
    if (::write(fd_.get(), bytes, count) != static_cast<ssize_t>(count)) Die("write");
    size_ += count;
  }

 private:
  const fs::path root_;
  base::UniqueFd fd_;
  size_t size_ = 0;
  int slices_ = 0;
};

// Straight from the rings into the file: nothing checked, nothing in between.
Outcome NakedRings(const fs::path& root, const agent::Geometry& geometry, uint64_t events) {
  const std::shared_ptr<agent::Region> region = agent::Region::Make(geometry).value();
  const agent::ProcessLanes lanes(*region);
  Producer producer(*region, events);
  NakedFile file(root);
  const uint64_t before = CpuNs();
  producer.Go();
  Outcome outcome;
  for (bool last = false;; last = producer.Done()) {
    pollfd bell{.fd = region->wake_fd(), .events = POLLIN, .revents = 0};
    uint64_t count = 0;
    if (!last && ::poll(&bell, 1, 20) == 1 && ::read(bell.fd, &count, sizeof(count)) < 0) Die("bell");
    for (uint32_t i = 0; i < geometry.lanes; ++i) {
      abi::Lane* lane = region->untrusted_lane(i);
      const std::byte* ring = lanes.bytes() + abi::RingOffset(geometry.lanes, geometry.lane_slots, i);
      const uint64_t head = std::atomic_ref(lane->head).load(std::memory_order_acquire);
      for (uint64_t at = lane->tail; at != head;) {
        const uint64_t index = at & (geometry.lane_slots - 1);
        const uint64_t slots =
            std::min({head - at, geometry.lane_slots - index, uint64_t{kChunkBytes / abi::kRecordBytes}});
        file.Append(ring + index * abi::kRecordBytes, slots * abi::kRecordBytes);
        at += slots;
        outcome.stored += slots;
        std::atomic_ref(lane->tail).store(at, std::memory_order_release);
      }
    }
    if (last) break;
  }
  outcome.cpu_ns = CpuNs() - before;
  return outcome;
}

// From a buffer that stays in the cache: what no reader of another process's memory can reach.
uint64_t NakedBuffer(const fs::path& root, uint64_t bytes) {
  const std::vector<std::byte> source(kChunkBytes, std::byte{0x5a});
  NakedFile file(root);
  const uint64_t before = CpuNs();
  for (uint64_t done = 0; done < bytes; done += kChunkBytes) file.Append(source.data(), kChunkBytes);
  return CpuNs() - before;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string name;
  double value;
  double goal;
  double gate;
  const char* unit;
};

void MeasureRatio(const char* where, const fs::path& parent, const agent::Geometry& geometry,
                  std::vector<Row>& rows) {
  std::string root = parent / "profd-bench-XXXXXX";
  if (::mkdtemp(root.data()) == nullptr) Die(root.c_str());
  std::vector<double> rings, buffer, drained, ratio,
      ratio_to_buffer;  // bytes per CPU-second, and turn by turn
  uint64_t lost = 0;
  for (int turn = 0; turn <= kTurns; ++turn) {
    // Nothing is removed before the end: ext4 makes files slowly right after others were deleted.
    const fs::path folder = fs::path(root) / std::to_string(turn);
    fs::create_directories(folder);
    const Outcome ours = ThroughDrain(folder, geometry, kRatioEvents);
    const Outcome naked = NakedRings(folder / "rings", geometry, kRatioEvents);
    const uint64_t bytes = ours.stored * abi::kRecordBytes;
    const uint64_t buffer_ns = NakedBuffer(folder / "buffer", bytes);
    if (turn == 0) continue;  // warms up
    const auto rate = [](uint64_t stored_bytes, uint64_t ns) {
      return static_cast<double>(stored_bytes) * 1e9 / static_cast<double>(ns);
    };
    drained.push_back(rate(bytes, ours.cpu_ns));
    rings.push_back(rate(naked.stored * abi::kRecordBytes, naked.cpu_ns));
    buffer.push_back(rate(bytes, buffer_ns));
    ratio.push_back(drained.back() / rings.back());
    ratio_to_buffer.push_back(drained.back() / buffer.back());
    lost += ours.lost;
  }
  fs::remove_all(root);
  const std::string name(where);
  rows.push_back({name + "_drain", Median(drained) / 1e6, 0, 0, "MB/cpu-s"});
  rows.push_back({name + "_append_rings", Median(rings) / 1e6, 0, 0, "MB/cpu-s"});
  rows.push_back({name + "_append_buffer", Median(buffer) / 1e6, 0, 0, "MB/cpu-s"});
  rows.push_back({name + "_ratio", Median(ratio), 0.55, 0.3, "x"});
  rows.push_back({name + "_ratio_to_buffer", Median(ratio_to_buffer), 0, 0, "x"});
  rows.push_back({name + "_lost", static_cast<double>(lost), 0, 0, "records"});
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) {
  using namespace profd;
  bool json = false;
  bool gate = false;
  uint64_t seconds = 10;
  agent::Geometry geometry{.lanes = 16};
  for (int i = 1; i < argc; ++i) {
    json = json || std::strcmp(argv[i], "--json") == 0;
    gate = gate || std::strcmp(argv[i], "--gate") == 0;
    if (i + 1 == argc) break;
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--slots") == 0) {
      geometry.lane_slots = static_cast<uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    }
  }
  const fs::path tmpfs = fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
  std::vector<Row> rows;
  MeasureRatio("tmpfs", tmpfs, geometry, rows);
  MeasureRatio("disk", fs::temp_directory_path(), geometry, rows);
  if (seconds > 0) {
    std::string root = tmpfs / "profd-bench-XXXXXX";
    if (::mkdtemp(root.data()) == nullptr) Die(root.c_str());
    const uint64_t events = seconds * kEventsPerSecond;
    const uint64_t before = base::MonotonicNs();
    const Outcome outcome = ThroughDrain(root, geometry, events);
    const double took = static_cast<double>(base::MonotonicNs() - before) / 1e9;
    fs::remove_all(root);
    rows.push_back({"steady_events_per_s", static_cast<double>(events) / took / 1e6, 0, 0, "million"});
    rows.push_back({"steady_cpu", static_cast<double>(outcome.cpu_ns) / 1e9 / took, 0, 0, "cores"});
    rows.push_back({"steady_lost", static_cast<double>(outcome.lost), 0, 0, "records"});
  }
  bool failed = false;
  for (const Row& row : rows) {
    const bool bad = row.gate != 0 && row.value < row.gate;
    failed = failed || bad;
    if (json) {
      std::printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", \"goal\": %.2f}\n", row.name.c_str(),
                  row.value, row.unit, row.goal);
    } else if (row.goal != 0) {
      std::printf("%-24s %10.2f %s  (goal %.2f%s)\n", row.name.c_str(), row.value, row.unit, row.goal,
                  row.value >= row.goal ? "" : ", missed");
    } else {
      std::printf("%-24s %10.2f %s\n", row.name.c_str(), row.value, row.unit);
    }
  }
  return gate && failed ? 1 : 0;
}
