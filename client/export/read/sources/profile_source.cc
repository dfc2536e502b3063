#include "client/export/read/sources/profile_source.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/export/read/slices.h"
#include "client/export/read/sources/profile_names.h"
#include "format/decode/catalogue.h"
#include "format/decode/host/cpu_classes.h"
#include "format/decode/host/cpu_profile.h"
#include "format/decode/line_decoder.h"
#include "format/decode/span_writer.h"

namespace profd::client {

namespace {

using format::TextId;

// **Thread:** one.
class ProfileSource {
 public:
  ProfileSource(bool off_cpu, const Capture& capture, const Wanted& wanted, const Sinks& sinks)
      : off_cpu_(off_cpu),
        kind_(off_cpu ? format::kOffCpuKind : format::kCpuProfileKind),
        capture_(capture),
        wanted_(wanted),
        sinks_(sinks),
        texts_(*sinks.texts),
        names_(*sinks.texts, capture.begin_wall_ns(),
               std::max(capture.begin_wall_ns(), capture.end_wall_ns())) {
    if (off_cpu && sinks.spans != nullptr) waits_.emplace(*sinks.spans, *sinks.texts, kind_);
    if (!capture.manifest) return;
    for (const format::ManifestKind& kind : capture.manifest->kinds) {
      if (kind.kind == kind_) cycles_ = kind.reason.starts_with("CPU cycles");
    }
  }

  void Run() {
    const Stream* samples = Find(off_cpu_ ? format::kOffCpuFile : format::kCpuProfileFile);
    const Stream* names = Find(off_cpu_ ? format::kOffCpuNamesFile : format::kCpuProfileNamesFile);
    if (samples == nullptr || !wanted_.Kind(kind_)) return;
    if (capture_.host() == nullptr || !capture_.host()->has_wall_clock())
      return Skip(*samples, samples->bytes(), 0,
                  "the host's clock is missing: the times of its samples are unknown");
    if (names == nullptr) return Skip(*samples, samples->bytes(), 0, "its names are not there");
    EachLine(*names, [this](std::string_view line) { return names_.Take(line); });
    const auto [bytes, records] =
        EachLine(*samples, [this](std::string_view line) { return TakeSample(line); });
    sinks_.report->Count(samples->path(), std::string(kind_), bytes, records);
    if (unknown_stacks_ > 0) Skip(*samples, 0, unknown_stacks_, "of a stack that has no names");
    if (names_.spared() > 0) {
      sinks_.report->Note(std::to_string(names_.spared()) +
                          " samples have callers by frame pointers only: more would have cost the machine "
                          "more than profd may");
    }
    for (const std::string& why : names_.WithoutSymbols()) sinks_.report->Note("no symbols: " + why);
    GiveSums();
    if (waits_) waits_->Flush();
  }

 private:
  const Stream* Find(std::string_view file) const {
    for (const Stream& stream : capture_.agents) {
      if (stream.file == file) return &stream;
    }
    return nullptr;
  }
  void Skip(const Stream& stream, uint64_t bytes, uint64_t records, const char* why) {
    sinks_.report->Skip({stream.path(), 0, bytes, records, why});
  }

  // Bytes and lines; what `take` does not know is reported.
  std::pair<uint64_t, uint64_t> EachLine(const Stream& stream,
                                         const std::function<bool(std::string_view)>& take) {
    Framed framed;
    framed.by = Framed::By::kLine;
    StreamReader reader(capture_, stream, framed, *sinks_.report, sinks_.progress);
    uint64_t lines = 0, damaged = 0;
    for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
      std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
      while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++lines;
        if (!take(line)) ++damaged;
      }
    }
    if (damaged > 0) Skip(stream, 0, damaged, "lines that say nothing known");
    return {reader.bytes_read(), lines};
  }

  bool TakeSample(std::string_view line) {
    const auto sample = format::ParseCpuSample(line);
    if (!sample) return false;
    const uint64_t wall_ns = capture_.host()->clocks.ToWall(format::Clock::kHostRaw, sample->raw_ns, memo_);
    if (wall_ns < wanted_.from_ns || wall_ns > wanted_.to_ns) return true;
    const auto frames = names_.Frames(sample->stack);
    if (!frames) {
      ++unknown_stacks_;
      return true;
    }
    ProfileSample given;
    given.texts = &texts_;
    given.wall_ns = wall_ns;
    given.period = sample->period;
    given.cycles = cycles_;
    given.off_cpu = off_cpu_;
    given.pid = sample->pid;
    given.tid = sample->tid;
    given.process = names_.Process(sample->pid);
    given.stack = sample->stack;
    given.frames = *frames;
    if (sinks_.profile != nullptr) sinks_.profile->Sample(given);
    if (waits_) {
      AddWait(given);
    } else if (!given.frames.empty()) {
      const ProfileFrame& innermost = given.frames.front();
      sums_[{innermost.function, innermost.module}] += static_cast<double>(sample->period);
    }
    last_wall_ns_ = std::max(last_wall_ns_, wall_ns);
    return true;
  }

  // Named after the program's function that waits.
  void AddWait(const ProfileSample& sample) {
    format::Span& span = waits_->Add(format::SpanKind::kOsCall);
    span.begin_ns = sample.wall_ns;
    span.end_ns = sample.wall_ns + std::min(sample.period, UINT64_MAX - sample.wall_ns);
    span.pid = sample.pid;
    span.tid = sample.tid;
    const auto own = std::ranges::find(sample.frames, false, &ProfileFrame::kernel);
    const std::string_view function =
        own == sample.frames.end() ? "[kernel]" : std::string_view(texts_.Get(own->place));
    const bool for_cpu = !sample.frames.empty() && sample.frames.front().kernel &&
                         texts_.Get(sample.frames.front().function) == format::kWaitsForCpu;
    span.name = texts_.Intern((for_cpu ? "waits for a CPU in " : "waits in ") + std::string(function));
  }

  void GiveSums() {
    if (sums_.empty() || sinks_.rows == nullptr) return;
    const format::Series& series = *format::FindSeries("pmu_functions");
    format::RowBatch batch;
    batch.series = &series;
    batch.kind = format::kCpuProfileKind;
    for (const auto& [key, sum] : sums_) {
      sinks_.rows->Label(series, -1, 1, key.first, texts_.Get(key.first));
      sinks_.rows->Label(series, -1, 2, key.second, texts_.Get(key.second));
      batch.wall_ns.push_back(last_wall_ns_);
      batch.keys.insert(batch.keys.end(),
                        {static_cast<int64_t>(format::PmuCpu::kHost), key.first, key.second});
      batch.values.push_back(sum);
    }
    sinks_.rows->Rows(batch);
  }

  const bool off_cpu_;
  const std::string_view kind_;
  const Capture& capture_;
  const Wanted& wanted_;
  const Sinks& sinks_;
  format::Texts& texts_;
  bool cycles_ = false;
  ProfileNames names_;
  std::map<std::pair<TextId, TextId>, double> sums_;
  std::optional<format::SpanWriter> waits_;
  format::ClockMemo memo_;
  uint64_t unknown_stacks_ = 0, last_wall_ns_ = 0;
};

}  // namespace

bool IsProfileStream(std::string_view file) { return format::IsProfileFile(file); }

void DecodeProfile(const Capture& capture, const Wanted& wanted, const Sinks& sinks) {
  for (const bool off_cpu : {false, true}) ProfileSource(off_cpu, capture, wanted, sinks).Run();
}

}  // namespace profd::client
