// What the writer costs above the bytes themselves: the same data through a TraceWriter and through a naked
// append loop, in turns in one run. `ratio` is bytes per CPU-second of the first to the second (all threads
// counted).
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/store/trace_writer.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kStreams = 40;
constexpr size_t kBytesEach = 256 << 20;  // of all streams, per turn

uint64_t CpuNs() { return base::ReadClockNs(CLOCK_PROCESS_CPUTIME_ID); }

// Slices of 2 MiB over all streams, written as the vendor's layout wants them and nothing else.
void NakedAppend(const fs::path& root, const std::vector<std::byte>& data) {
  struct Stream {
    base::UniqueFd fd;
    size_t bytes = 0;
    int slice = 0;
  };
  std::array<Stream, kStreams> streams;
  std::vector<std::byte> buffer(data.size());
  for (size_t done = 0, i = 0; done < kBytesEach; done += data.size(), ++i) {
    Stream& stream = streams[i % kStreams];
    if (!stream.fd) {
      const fs::path name =
          root / ("s" + std::to_string(i % kStreams) + ".slice_" + std::to_string(stream.slice++));
      stream.fd.Reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
      stream.bytes = 0;
    }
    std::memcpy(buffer.data(), data.data(), data.size());
    if (::write(stream.fd.get(), buffer.data(), buffer.size()) != static_cast<ssize_t>(data.size()))
      std::abort();
    stream.bytes += data.size();
    if (stream.bytes >= (2U << 20)) stream.fd.Reset();
  }
}

void ThroughWriter(const fs::path& root, const std::vector<std::byte>& data) {
  // Answers may run on the writer's thread here: they only set a promise.
  TraceWriter writer("write", PosixFileSystem(), [](const std::function<void()>& work) { work(); });
  chunk::Pipe& pipe = writer.AddPipe("bench", data.size(), 64);
  TraceSpec spec;
  spec.parent.Reset(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  spec.name = "PROF_1";
  spec.folders = {"device_0"};
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  writer.Open(1, std::move(spec), {}, [](const base::Status& status) {
    if (!status.ok()) std::abort();
  });
  for (uint32_t i = 0; i < kStreams; ++i) {
    chunk::StreamSpec stream;
    stream.folder = "device_0";
    stream.file = "s" + std::to_string(i);
    writer.AddStream({1, i}, std::move(stream));
  }
  for (size_t done = 0, i = 0; done < kBytesEach; done += data.size(), ++i) {
    chunk::Chunk* chunk = nullptr;
    while ((chunk = pipe.TryTake()) == nullptr) {
      pipe.Kick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    chunk->header.key = {1, static_cast<uint32_t>(i % kStreams)};
    std::memcpy(chunk->data, data.data(), data.size());
    chunk->header.used = static_cast<uint32_t>(data.size());
    chunk->header.records = 1;
    chunk::Item item;
    item.chunk = chunk;
    pipe.Push(std::move(item));
    if (i % 16 == 0) pipe.Kick();  // a pump sweeps many channels, then rings once
  }
  chunk::Item end;
  end.what = chunk::Item::What::kEnd;
  end.key.trace = 1;
  while (!pipe.Push(end)) std::this_thread::yield();
  pipe.Kick();
  std::promise<uint64_t> sealed;
  writer.Seal(1, 1, UINT64_MAX, [&](const TraceRecord& record) {
    if (!record.error.empty()) std::abort();
    sealed.set_value(record.bytes);
  });
  sealed.get_future().wait();
}

void BM_WriterAgainstAppend(benchmark::State& state) {
  const auto chunk_bytes = static_cast<size_t>(state.range(0));
  std::vector<std::byte> data(chunk_bytes, std::byte{1});
  std::string root = fs::temp_directory_path() / "profd-bench-XXXXXX";
  if (::mkdtemp(root.data()) == nullptr) {
    state.SkipWithError("no temporary directory");
    return;
  }
  uint64_t naked_ns = 0;
  uint64_t writer_ns = 0;
  int turn = 0;
  for ([[maybe_unused]] auto _ : state) {
    // New names each turn: ext4 makes files slowly right after others were deleted.
    const fs::path naked = fs::path(root) / ("naked_" + std::to_string(turn));
    const fs::path through = fs::path(root) / ("writer_" + std::to_string(turn++));
    fs::create_directory(naked);
    fs::create_directory(through);
    uint64_t before = CpuNs();
    NakedAppend(naked, data);
    naked_ns += CpuNs() - before;
    before = CpuNs();
    ThroughWriter(through, data);
    writer_ns += CpuNs() - before;
  }
  fs::remove_all(root);
  const double bytes = static_cast<double>(kBytesEach) * static_cast<double>(state.iterations());
  state.counters["append_B_per_cpu_s"] = bytes * 1e9 / static_cast<double>(naked_ns);
  state.counters["writer_B_per_cpu_s"] = bytes * 1e9 / static_cast<double>(writer_ns);
  state.counters["ratio"] = static_cast<double>(naked_ns) / static_cast<double>(writer_ns);
}
BENCHMARK(BM_WriterAgainstAppend)
    ->Arg(4 << 10)
    ->Arg(64 << 10)
    ->Arg(256 << 10)
    ->Iterations(3)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace profd::store
