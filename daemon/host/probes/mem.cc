// host-mem: a row per tick with the statm numbers summed over all processes.
#include <unistd.h>

#include <optional>
#include <string>

#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/probes/process_blocks.h"
#include "format/kind.h"

namespace profd::host {

namespace {

// The vendor's reader takes every page for 4 KiB; many Arm hosts have 64 KiB pages.
constexpr uint64_t kReadersPageBytes = 4096;

class MemProbe final : public Probe {
 public:
  MemProbe(const ProbeOptions& options, const ProbeContext& context)
      : family_(*context.family),
        stream_(context.output.AddStream("host", std::string(format::file::kHostMem), options.stats)),
        readers_pages_per_page_(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / kReadersPageBytes) {
    if (options.per_process_elsewhere) return;
    blocks_.emplace(ProcessBlocks::What::kMemory, ProcessBlocks::When::kSeveral, context, options.stats);
  }

  void Sample(const Tick& tick) override {
    StatmPages sum{};
    bool any = false;
    for (const auto& process : family_.members()) {
      const StatmPages* pages = process->running() ? process->Statm(tick) : nullptr;
      if (pages == nullptr) continue;
      any = true;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += (*pages)[i] * readers_pages_per_page_;
    }
    if (!any) return;
    row_.clear();
    AppendNumber(row_, tick.raw_ns);
    for (const uint64_t pages : sum) {
      row_ += ' ';
      AppendNumber(row_, pages);
    }
    row_ += '\n';
    stream_.Append(tick, row_);
    if (blocks_) blocks_->Sample(tick);
  }

  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) override {
    if (family_.running() == 0) return;
    stream_.Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
    if (blocks_) blocks_->Miss(tick, from_raw_ns, count);
  }

 private:
  const Family& family_;
  RowStream& stream_;
  std::optional<ProcessBlocks> blocks_;
  const uint64_t readers_pages_per_page_;
  std::string row_;
};

}  // namespace

std::unique_ptr<Probe> MakeMemProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<MemProbe>(options, context);
}

}  // namespace profd::host
