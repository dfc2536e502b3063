// host-network: the counters of every interface, once per tick.
#include <string>
#include <string_view>

#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/probe.h"
#include "format/kind.h"

namespace profd::host {

namespace {

class NetworkProbe final : public Probe {
 public:
  NetworkProbe(const ProbeOptions& options, const ProbeContext& context)
      : files_(context.files),
        stream_(context.output.AddStream("host", std::string(format::file::kHostNetwork), options.stats)) {}

  void Sample(const Tick& tick) override {
    text_.clear();
    AppendLine(text_, "time ", tick.raw_ns);
    const size_t stamp_only = text_.size();
    for (std::string_view rest = files_.net_dev.Text(tick); !rest.empty();) {
      const std::string_view line = FirstLine(rest);
      rest.remove_prefix(line.size());
      if (line.find(':') != std::string_view::npos) text_ += line;
    }
    if (text_.size() == stamp_only) {
      stream_.Lose(format::Loss::Where::kSampler, tick.raw_ns, tick.raw_ns, 1);
    } else {
      stream_.Append(tick, text_);
    }
  }

  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) override {
    stream_.Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
  }

 private:
  HostFiles& files_;
  RowStream& stream_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Probe> MakeNetworkProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<NetworkProbe>(options, context);
}

}  // namespace profd::host
