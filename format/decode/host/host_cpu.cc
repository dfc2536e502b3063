// host_cpu.data: uptime and one line of /proc/PID/task/TID/stat per thread, sample by sample.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "format/decode/family.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/series.h"

namespace profd::format {

namespace {

// key cpu: -1 = the machine's average. Stamped at the beginning of the interval.
const Series kHostCpuSeries{"host_cpu", Kind::kHostCpu, {"cpu"}, {{"usage", Unit::kRatio}}};

constexpr size_t kMaxThreads = 1 << 17;
constexpr int kTimesAfterName = 11;  // utime and stime are words 11 and 12 behind "(name)", the CPU word 36
constexpr int kCpuAfterName = 36;
constexpr int64_t kAverage = -1;
constexpr double kPerSecond = 100;  // of what /proc/uptime counts

// **Thread:** one.
class HostCpu : public LineDecoder {
 public:
  explicit HostCpu(const DecodeContext& context) : LineDecoder(context), rows_(kHostCpuSeries, context) {}

  void Finish() override {
    EndSample();
    rows_.Flush();
  }

 private:
  struct ThreadTicks {
    double ticks = 0;
    int64_t cpu = 0;
  };
  struct Sample {
    uint64_t raw_ns = 0;
    double ticks = 0;  // since boot, of one CPU
    bool has_uptime = false;
    base::FlatMap<ThreadTicks> threads{kMaxThreads};
  };

  void Line(std::string_view line) override {
    if (line.starts_with("time ")) {
      EndSample();
      ++records_;
      const auto raw_ns = ToNumber<uint64_t>(line.substr(5));
      if (!raw_ns) Reject("no time in the sample's first line");
      now_.raw_ns = raw_ns.value_or(0);
      open_ = raw_ns.has_value();
    } else if (open_ && !now_.has_uptime) {
      const auto uptime = ToDouble(Words(line).Next());
      if (!uptime) return Broken("no uptime");
      // In whole hundredths, as the vendor has them: a share of just 1 must not be a little more.
      now_.ticks = std::round(*uptime * kPerSecond) * context().side->clock_ticks / kPerSecond;
      now_.has_uptime = true;
    } else if (open_ && !line.empty()) {
      Thread(line);
    }
  }

  void Broken(std::string_view why) {
    Reject(why);
    open_ = false;
  }

  void Thread(std::string_view line) {
    // A name may hold blanks and parentheses; the vendor splits at blanks, which shifts its columns.
    const size_t name_end = line.rfind(')');
    const auto tid = ToNumber<uint64_t>(Words(line).Next());
    if (name_end == std::string_view::npos || !tid) return Reject("no line of /proc/PID/task/TID/stat");
    Words words(line.substr(name_end + 1));
    ThreadTicks thread;
    bool whole = true;
    for (int i = 0; i <= kCpuAfterName; ++i) {
      const std::string_view word = words.Next();
      if (i == kTimesAfterName || i == kTimesAfterName + 1) {
        const auto ticks = ToNumber<uint64_t>(word);
        whole = whole && ticks;
        thread.ticks += static_cast<double>(ticks.value_or(0));
      } else if (i == kCpuAfterName) {
        const auto cpu = ToNumber<int64_t>(word);
        whole = whole && cpu && *cpu >= 0;
        thread.cpu = cpu.value_or(0);
      }
    }
    if (!whole) return Reject("no line of /proc/PID/task/TID/stat");
    if (ThreadTicks* place = now_.threads.FindOrAdd(*tid)) {
      *place = thread;
    } else {
      Reject("more threads in one sample than there is room for");
    }
  }

  void EndSample() {
    // Two samples, of which the first was late, can be of one tick of /proc/uptime: the next one covers both,
    // the vendor's begins with the second.
    const bool same_tick = before_.has_uptime && now_.ticks == before_.ticks && now_.raw_ns >= before_.raw_ns;
    if (open_ && now_.has_uptime && (!same_tick || context().vendor_compatible)) {
      if (before_.has_uptime && !same_tick) Usage();
      std::swap(now_, before_);
    }
    now_.threads.Clear();
    now_.has_uptime = false;
    open_ = false;
  }

  void Usage() {
    if (!(now_.ticks > before_.ticks) || now_.raw_ns <= before_.raw_ns)
      return Reject("time does not pass between two samples");
    // The line of /proc/uptime has only hundredths of a second.
    const double elapsed = context().vendor_compatible ? now_.ticks - before_.ticks
                                                       : static_cast<double>(now_.raw_ns - before_.raw_ns) /
                                                             1e9 * context().side->clock_ticks;
    per_cpu_.clear();
    double total = 0;
    now_.threads.ForEach([&](uint64_t tid, ThreadTicks& thread) {
      const ThreadTicks* before = before_.threads.Find(tid);
      if (before == nullptr || thread.ticks < before->ticks) return;
      const double ticks = std::min(thread.ticks - before->ticks, elapsed);
      // The kernel counts whole ticks, and some a little late: what cannot be of this interval is of the
      // next.
      if (!context().vendor_compatible) thread.ticks = before->ticks + ticks;
      per_cpu_.emplace_back(thread.cpu, ticks);
      total += ticks;
    });
    std::sort(per_cpu_.begin(), per_cpu_.end());
    const uint64_t wall_ns = context().HostRawToWall(before_.raw_ns);
    for (size_t i = 0; i < per_cpu_.size();) {
      const int64_t cpu = per_cpu_[i].first;
      double ticks = 0;
      for (; i < per_cpu_.size() && per_cpu_[i].first == cpu; ++i) ticks += per_cpu_[i].second;
      // Threads that moved in between are counted where they are now.
      if (ticks > elapsed && context().vendor_compatible) continue;
      rows_.Add(wall_ns, {cpu}, {ticks / elapsed});
    }
    const double cpus = std::max(context().side->cpu_nums, 1u);
    rows_.Add(wall_ns, {kAverage}, {total / elapsed / cpus});
  }

  Rows rows_;
  Sample now_, before_;
  bool open_ = false;
  std::vector<std::pair<int64_t, double>> per_cpu_;
};

std::unique_ptr<Decoder> MakeHostCpu(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<HostCpu>(context);
}

constexpr DecoderEntry kDecoders[] = {
    row::OfHost(file::kHostCpu, Kind::kHostCpu, MakeHostCpu, "time "),
};

constexpr const Series* kSeries[] = {&kHostCpuSeries};

}  // namespace

namespace family {
Family HostCpu() { return {.decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
