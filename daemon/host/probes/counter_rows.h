// The kinds whose samples are rows of counters: "time <raw ns>", then "<what> <number or -> … <name>" for
// each thing that there is (docs/formats.md, format/decode/host/host_counters.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/host/probes/probe.h"

namespace profd::host {

// **Thread:** sample.
class CounterRows : public Probe {
 public:
  CounterRows(const ProbeOptions& options, const ProbeContext& context, const std::string& file);
  void Sample(const Tick& tick) final;
  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) final;

 protected:
  // What there is may have changed; every second.
  virtual void Refresh() = 0;
  virtual void AppendRows() = 0;

  void AppendRow(std::string_view what, std::span<const std::optional<uint64_t>> numbers,
                 std::string_view name);

  const ProbeContext context_;
  std::string buffer_;  // for files

 private:
  RowStream& stream_;
  std::string text_;
  uint64_t refresh_at_ns_ = 0;
};

}  // namespace profd::host
