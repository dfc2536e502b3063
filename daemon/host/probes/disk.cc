// host-disk: a line per tick with the storage rates of all processes together, as iotop would print it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <unordered_map>

#include "base/calendar.h"
#include "base/clock.h"
#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/process/process.h"
#include "format/directory/own_folder.h"
#include "format/kind.h"

namespace profd::host {

namespace {

// The vendor's reader finds the time of a line by counting: line i spans start_time + i periods. So a tick
// without a measurement of its own (missed, or no room for its line) gets the mean rate of its time along
// with the next one: the line is written once for each, the record is counted once.
class DiskProbe final : public Probe {
 public:
  DiskProbe(const ProbeOptions& options, const ProbeContext& context)
      : family_(*context.family),
        stream_(context.output.AddStream("host", std::string(format::file::kHostDisk), options.stats)),
        per_process_(context.output, format::kOwnFolder, std::string(format::file::kProcessDisk),
                     options.stats),
        target_(context.targets.front()),
        user_(OwnerOf(target_)),
        name_(CommandName(target_)),
        hz_(std::max(options.hz, 1u)) {}

  void Want() override {
    for (const auto& process : family_.members()) process->WantIo();
  }

  void Sample(const Tick& tick) override {
    const bool readable = ReadAll(tick);
    if (start_raw_ns_ == 0) return Begin(tick);
    if (family_.running() == 0) return;
    ++lines_owed_;
    if (!readable) return stream_.Lose(format::Loss::Where::kSampler, last_raw_ns_, tick.raw_ns, 1);
    AppendLines(tick);
    several_ |= family_.running() > 1;
    if (several_) AppendPerProcess(tick);
  }

  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) override {
    if (start_raw_ns_ == 0 || family_.running() == 0) return;
    lines_owed_ += count;
    stream_.Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
    if (several_) per_process_.Miss(family_, tick, from_raw_ns, count);
  }

  void Finish(const Tick& tick) override { AppendStartTime(tick); }

 private:
  // Rates need two readings: the first tick gives the start only. Its line stands at both ends of the file,
  // so that a file that was cut short by a crash can be read, too.
  void Begin(const Tick& tick) {
    start_raw_ns_ = last_raw_ns_ = tick.raw_ns;
    since_last_ = {};
    AppendStartTime(tick);
  }

  void AppendStartTime(const Tick& tick) {
    if (start_raw_ns_ == 0) return;
    line_.clear();
    AppendLine(line_, "start_time ", start_raw_ns_);
    stream_.Append(tick, line_, 0);
  }

  // Adds to `since_last_` what every process has done; false when processes run and none can be read.
  bool ReadAll(const Tick& tick) {
    bool any = false;
    // Children stand behind their parents and have to be read before them.
    const auto& members = family_.members();
    for (auto at = members.rbegin(); at != members.rend(); ++at) {
      const std::shared_ptr<Process>& process = *at;
      any |= process->ReadIo(tick);
      auto [entry, is_new] = counted_.try_emplace(process.get());
      // Who was there at the start begins at zero, who came later has done everything since.
      if (is_new)
        entry->second = {.process = process, .total = start_raw_ns_ == 0 ? process->io() : IoBytes{}};
    }
    for (auto& [key, counted] : counted_) Count(counted);
    std::erase_if(counted_, [](const auto& entry) { return !entry.second.process->alive(); });
    return any;
  }

  void AppendLines(const Tick& tick) {
    // Not the time that really passed: what a reader adds up by counting lines shall be what was moved.
    const double seconds = static_cast<double>(lines_owed_) / hz_;
    const double kib_read = static_cast<double>(std::max<int64_t>(since_last_.read, 0)) / 1024 / seconds;
    const double kib_written =
        static_cast<double>(std::max<int64_t>(since_last_.written, 0)) / 1024 / seconds;
    // User names would need the name service, which may block: all but root appear by number.
    char user[16] = "root";
    if (user_ != 0) std::snprintf(user, sizeof user, "%u", user_);
    char line[192];
    const int size = std::snprintf(line, sizeof line, "%s %d be/4 %s %.2f K/s %.2f K/s 0.00 %% 0.00 %% %s\n",
                                   base::LocalText(base::WallNs(), "%H:%M:%S").c_str(), target_, user,
                                   kib_read, kib_written, name_.empty() ? "-" : name_.c_str());
    line_.assign(line, static_cast<size_t>(size));
    if (!stream_.Append(tick, line_)) return;
    for (--lines_owed_; lines_owed_ > 0; --lines_owed_) {
      if (!stream_.Append(tick, line_, 0)) break;
    }
    since_last_ = {};
    last_raw_ns_ = tick.raw_ns;
  }

  // "<raw ns> <bytes read> <bytes written>", running totals: a lost row loses no bytes.
  void AppendPerProcess(const Tick& tick) {
    for (const auto& process : family_.members()) {
      if (!process->running()) continue;
      const bool read = process->ReadIo(tick);
      if (!read && !process->late()) continue;
      RowStream* stream = per_process_.Of(*process, tick);
      if (stream == nullptr) continue;
      if (!read) {
        stream->Lose(format::Loss::Where::kSampler, tick.raw_ns, tick.raw_ns, 1);
        continue;
      }
      line_.clear();
      AppendNumber(line_, tick.raw_ns);
      for (const int64_t bytes : {process->io().read, process->io().written}) {
        line_ += ' ';
        AppendNumber(line_, static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
      }
      line_ += '\n';
      stream->Append(tick, line_);
    }
  }

  struct Counted {
    std::shared_ptr<Process> process;
    IoBytes total;  // of the process, as far as it is in `since_last_`
  };

  void Count(Counted& counted) {
    since_last_ += counted.process->io() - counted.total;
    counted.total = counted.process->io();
  }

  const Family& family_;
  RowStream& stream_;
  ProcessStreams per_process_;
  const pid_t target_;
  const uid_t user_;
  const std::string name_;
  const double hz_;
  std::unordered_map<const Process*, Counted> counted_;
  IoBytes since_last_;
  uint64_t start_raw_ns_ = 0;
  uint64_t last_raw_ns_ = 0;
  uint64_t lines_owed_ = 0;
  bool several_ = false;
  std::string line_;
};

}  // namespace

std::unique_ptr<Probe> MakeDiskProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<DiskProbe>(options, context);
}

}  // namespace profd::host
