// host-sys-cpu and host-sys-mem: blocks of the whole host.
#include <string>
#include <string_view>

#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/probe.h"
#include "format/kind.h"

namespace profd::host {

namespace {

class SystemProbe final : public Probe {
 public:
  SystemProbe(const ProbeOptions& options, const ProbeContext& context)
      : files_(context.files),
        cpu_(options.kind == NameOf(format::Kind::kHostSysCpu)),
        stream_(context.output.AddStream(
            "host", std::string(cpu_ ? format::file::kHostSysCpu : format::file::kHostSysMem),
            options.stats)) {}

  void Sample(const Tick& tick) override {
    const std::string_view body = cpu_ ? CpuLines(files_.stat.Text(tick)) : files_.meminfo.Text(tick);
    if (body.empty()) return stream_.Lose(format::Loss::Where::kSampler, tick.raw_ns, tick.raw_ns, 1);
    block_.clear();
    AppendBlock(block_, tick.raw_ns, stream_.records(), body);
    stream_.Append(tick, block_);
  }

  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) override {
    stream_.Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
  }

 private:
  HostFiles& files_;
  const bool cpu_;
  RowStream& stream_;
  std::string block_;
};

}  // namespace

std::unique_ptr<Probe> MakeSystemProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<SystemProbe>(options, context);
}

}  // namespace profd::host
