#include "daemon/host/probes/process_blocks.h"

#include <utility>

#include "daemon/host/files/row_text.h"
#include "format/kind.h"

namespace profd::host {

ProcessBlocks::ProcessBlocks(What what, When when, const ProbeContext& context, chunk::StreamStatsPtr stats)
    : what_(what),
      files_(context.files),
      family_(*context.family),
      streams_(context.output, "host",
               std::string(what == What::kCpu ? format::file::kProcessCpu : format::file::kProcessMemory),
               std::move(stats)),
      active_(when == When::kAlways) {}

bool ProcessBlocks::Active() {
  active_ |= family_.running() > 1;
  return active_;
}

bool ProcessBlocks::MakeBody(Process& process, const Tick& tick) {
  body_.clear();
  std::string_view cpu_line;
  if (what_ == What::kCpu) {
    body_ += process.StatLine(tick);
    if (body_.empty()) return false;
    cpu_line = FirstLine(CpuLines(files_.stat.Text(tick)));
  } else {
    const StatmPages* statm = process.Statm(tick);
    if (statm == nullptr) return false;
    for (const uint64_t pages : *statm) {
      if (!body_.empty()) body_ += ' ';
      AppendNumber(body_, pages);
    }
    body_ += '\n';
  }
  body_ += "ProcessName:";
  body_ += process.comm();
  body_ += '\n';
  body_ += cpu_line;  // the vendor's reader ends the sample here
  return true;
}

void ProcessBlocks::Want() {
  if (what_ != What::kCpu || !Active()) return;
  for (const auto& process : family_.members()) process->WantStatLine();
}

void ProcessBlocks::Sample(const Tick& tick) {
  if (!Active()) return;
  for (const auto& process : family_.members()) {
    if (!process->running()) continue;
    RowStream* stream = streams_.Of(*process, tick);
    if (stream == nullptr) continue;
    if (!MakeBody(*process, tick)) {
      if (process->late()) stream->Lose(format::Loss::Where::kSampler, tick.raw_ns, tick.raw_ns, 1);
      continue;
    }
    block_.clear();
    AppendBlock(block_, tick.raw_ns, stream->records(), body_);
    stream->Append(tick, block_);
  }
}

void ProcessBlocks::Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) {
  if (Active()) streams_.Miss(family_, tick, from_raw_ns, count);
}

namespace {

// host-pid-cpu, host-pid-mem.
class ProcessProbe final : public Probe {
 public:
  ProcessProbe(const ProbeOptions& options, const ProbeContext& context)
      : blocks_(options.kind == NameOf(format::Kind::kHostPidCpu) ? ProcessBlocks::What::kCpu
                                                                  : ProcessBlocks::What::kMemory,
                ProcessBlocks::When::kAlways, context, options.stats) {}

  void Want() override { blocks_.Want(); }
  void Sample(const Tick& tick) override { blocks_.Sample(tick); }
  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) override {
    blocks_.Miss(tick, from_raw_ns, count);
  }

 private:
  ProcessBlocks blocks_;
};

}  // namespace

std::unique_ptr<Probe> MakeProcessProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<ProcessProbe>(options, context);
}

}  // namespace profd::host
