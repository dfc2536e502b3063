// What an agent wrote into its lanes and names: any bytes in.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "format/decode/agents/agent_lanes.h"
#include "tests/fuzz/checked_spans.h"

using namespace profd::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::span bytes = std::as_bytes(std::span(data + 4, size - 4));
  ManifestAgent agent;
  agent.pid = 1;
  agent.first = {1000, 5000, 0};
  agent.latest = {uint64_t{1000} << (data[0] % 50), uint64_t{5000} << (data[1] % 40), 0};
  agent.counter_hz = data[2];
  ClockMap clocks(0, 0);
  clocks.Add({5000, 0, 1'700'000'000'000'000'000, 0, 0, 0});
  Texts texts(1 << 16);
  Checked sink;
  AgentLanes lanes(agent, data[3], clocks, texts, sink);

  const size_t cut = std::min<size_t>(bytes.size(), size_t{data[3]} * 8);
  BlockHeader names{};
  names.lost_before = 16;
  lanes.Names({names, bytes.first(cut)});
  uint64_t slots = 0;
  for (std::span rest = bytes.subspan(cut); rest.size() >= 32;) {
    const size_t block = std::min<size_t>(rest.size() / 32, 1 + data[2] % 7) * 32;
    BlockHeader header{};
    header.lane = data[1] % 3;
    header.tid = data[0];
    header.seq = slots / 7;
    lanes.Lane({header, rest.first(block)});
    slots += block / 32;
    rest = rest.subspan(block);
  }
  lanes.Finish();
  const AgentCounts& counts = lanes.counts();
  PROFD_CHECK(counts.records + counts.damaged_slots <= 2 * slots);
  PROFD_CHECK(sink.spans <= counts.records);
  return 0;
}
