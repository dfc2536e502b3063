// host-cpu: a block per tick with the stat line of every thread of every process.
#include <optional>
#include <string>
#include <string_view>

#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/probes/process_blocks.h"
#include "format/kind.h"

namespace profd::host {

namespace {

class CpuProbe final : public Probe {
 public:
  CpuProbe(const ProbeOptions& options, const ProbeContext& context)
      : files_(context.files),
        family_(*context.family),
        stream_(context.output.AddStream("host", std::string(format::file::kHostCpu), options.stats)) {
    if (options.per_process_elsewhere) return;
    blocks_.emplace(ProcessBlocks::What::kCpu, ProcessBlocks::When::kSeveral, context, options.stats);
  }

  void Want() override {
    for (const auto& process : family_.members()) process->WantThreadLines();
    if (blocks_) blocks_->Want();
  }

  void Sample(const Tick& tick) override {
    if (family_.running() == 0) return;
    text_.clear();
    AppendLine(text_, "time ", tick.raw_ns);
    text_ += FirstLine(files_.uptime.Text(tick));
    bool some = false, late = false;
    for (const auto& process : family_.members()) {
      if (!process->running()) continue;
      const std::string_view lines = process->ThreadLines(tick);
      text_ += lines;
      some |= !lines.empty();
      late |= process->late();
    }
    if (late) stream_.Lose(format::Loss::Where::kSampler, tick.raw_ns, tick.raw_ns, 1);
    if (some || !late) stream_.Append(tick, text_);
    if (blocks_) blocks_->Sample(tick);
  }

  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) override {
    if (family_.running() == 0) return;
    stream_.Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
    if (blocks_) blocks_->Miss(tick, from_raw_ns, count);
  }

 private:
  HostFiles& files_;
  const Family& family_;
  RowStream& stream_;
  std::optional<ProcessBlocks> blocks_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Probe> MakeCpuProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<CpuProbe>(options, context);
}

}  // namespace profd::host
