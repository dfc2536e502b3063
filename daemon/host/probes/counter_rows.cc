#include "daemon/host/probes/counter_rows.h"

#include "base/text.h"
#include "daemon/host/files/row_text.h"

namespace profd::host {

namespace {
constexpr uint64_t kRefreshNs = 1'000'000'000;
constexpr size_t kMostNameBytes = 512;
}  // namespace

CounterRows::CounterRows(const ProbeOptions& options, const ProbeContext& context, const std::string& file)
    : context_(context), stream_(context.output.AddStream("host", file, options.stats)) {}

void CounterRows::Sample(const Tick& tick) {
  if (tick.mono_ns >= refresh_at_ns_) {
    Refresh();
    refresh_at_ns_ = tick.mono_ns + kRefreshNs;
  }
  text_.clear();
  AppendLine(text_, "time ", tick.raw_ns);
  const size_t stamp_only = text_.size();
  AppendRows();
  if (text_.size() > stamp_only) stream_.Append(tick, text_);
}

void CounterRows::Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) {
  stream_.Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
}

void CounterRows::AppendRow(std::string_view what, std::span<const std::optional<uint64_t>> numbers,
                            std::string_view name) {
  text_ += what;
  for (const std::optional<uint64_t>& number : numbers) {
    text_ += ' ';
    if (number) {
      AppendNumber(text_, *number);
    } else {
      text_ += '-';
    }
  }
  text_ += ' ';
  text_ += base::OneLine(name, kMostNameBytes);
  text_ += '\n';
}

}  // namespace profd::host
