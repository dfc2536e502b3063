#include "client/export/read/sources/tasks/kernel_feed.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "client/export/read/agent_stream.h"
#include "format/decode/agents/agent_lanes.h"
#include "libagent/abi/record.h"

namespace profd::client {

namespace {

// Programs learn of kernels some seconds late, and in no order.
constexpr uint64_t kAheadNs = 3'000'000'000;
constexpr size_t kMostWaiting = 1 << 16;  // of a device

bool Has(const format::Block& block, format::AgentKind kind) {
  return block.header.kind_records[static_cast<size_t>(kind)] > 0;
}
// They are of no kind; nor are the agent's own records, of one slot each, which are rare.
bool MayHaveTensors(const format::Block& block) {
  constexpr size_t kFewestSlots = 5;
  const uint64_t slots = block.payload.size() / abi::kRecordBytes;
  const auto& kinds = block.header.kind_slots;
  return slots >= std::accumulate(std::begin(kinds), std::end(kinds), uint64_t{kFewestSlots});
}

}  // namespace

// One program's records. **Thread:** one.
class KernelFeed::Program : private format::SpanSink {
 public:
  using Take = std::function<void(format::ReportedKernel&&)>;
  Program(const Capture& capture, const format::ManifestAgent& agent, uint32_t number, const Stream& lanes,
          format::Texts& texts, Take take)
      : decoder_(agent, number, capture.host()->clocks, texts, *this),
        lanes_(capture, lanes, unused_, nullptr),
        take_(std::move(take)) {
    if (const Stream* names = FindAgentStream(capture, agent.names_file)) {
      AgentStream stream(capture, *names, unused_, nullptr);
      for (format::Block block; stream.Next(block);) {
        if (block.header.type == static_cast<uint16_t>(format::BlockType::kNames)) decoder_.Names(block);
      }
    }
  }

  bool has_clock() const { return decoder_.has_clock(); }
  void ReadTo(uint64_t until_ns) {
    while (!ended_ && newest_ns_ <= until_ns) {
      format::Block block;
      ended_ = !lanes_.Next(block);
      if (ended_) {
        decoder_.Finish();
      } else if (block.header.type == static_cast<uint16_t>(format::BlockType::kLane) &&
                 (Has(block, format::AgentKind::kKernel) || Has(block, format::AgentKind::kApi) ||
                  MayHaveTensors(block))) {
        decoder_.Lane(block);
      }
    }
  }

 private:
  void Spans(const format::SpanBatch& batch) override {
    for (const format::Span& span : batch.spans) {
      if (span.kind != format::SpanKind::kKernel) continue;
      newest_ns_ = std::max(newest_ns_, span.begin_ns);
      const format::TaskDetail& detail = *batch.DetailOf(span);
      take_({span, detail.op_type, detail.op_task_type, format::TensorsOf(detail)});
    }
  }

  Report unused_;  // who decodes the rest of them says what is wrong
  format::AgentLanes decoder_;
  AgentStream lanes_;
  const Take take_;
  uint64_t newest_ns_ = 0;
  bool ended_ = false;
};

KernelFeed::KernelFeed(const Capture& capture, const Wanted& wanted, format::SpanSink& to,
                       format::Texts& texts)
    : spans_(to, texts) {
  if (!capture.manifest || capture.host() == nullptr || !wanted.Kind("agent-kernel")) return;
  uint32_t number = 0;
  for (const format::ManifestAgent& agent : capture.manifest->agents) {
    const uint32_t program = number++;
    const Stream* lanes = FindAgentStream(capture, agent.lanes_file);
    if (lanes == nullptr || !wanted.Program(agent.lanes_file)) continue;
    const auto take = [this, &wanted](format::ReportedKernel&& kernel) {
      const int device = kernel.span.device;
      if (device < 0) return Give(kernel);
      if (!wanted.Device(device)) return;
      format::KernelJoin& join = devices_[device];
      join.Add(kernel);
      if (join.waiting() > 2 * kMostWaiting) Shorten(join, 0, kMostWaiting);
    };
    auto made = std::make_unique<Program>(capture, agent, program, *lanes, texts, take);
    if (made->has_clock()) programs_.push_back(std::move(made));  // without one none of its records are used
  }
}

void KernelFeed::Shorten(format::KernelJoin& join, uint64_t now_ns, size_t most) {
  join.Drop(now_ns, most, [this](const format::ReportedKernel& kernel) { Give(kernel); });
}

KernelFeed::~KernelFeed() = default;

void KernelFeed::ReadTo(uint64_t until_ns) {
  for (const auto& program : programs_) program->ReadTo(until_ns);
}

void KernelFeed::Announce(int device, std::span<const format::KernelJoin::Task> tasks) {
  if (tasks.empty()) return;
  uint64_t newest_ns = 0;
  for (const format::KernelJoin::Task& task : tasks) newest_ns = std::max(newest_ns, task.begin_ns);
  ReadTo(newest_ns + kAheadNs);
  for (auto& [number, join] : devices_)
    Shorten(join, number == device ? tasks.front().begin_ns : 0, kMostWaiting);
  if (const auto found = devices_.find(device); found != devices_.end()) found->second.Learn(tasks);
}

bool KernelFeed::Find(int device, const format::KernelJoin::Task& task, format::ReportedKernel& kernel) {
  const auto found = devices_.find(device);
  return found != devices_.end() && found->second.Find(task, kernel);
}

void KernelFeed::Give(const format::ReportedKernel& kernel) {
  format::Span& span = spans_.Add(format::SpanKind::kKernel);
  const uint32_t first_arg = span.first_arg;
  span = kernel.span;
  span.first_arg = first_arg;
  span.arg_count = 0;  // its type, which is its category
  kernel.Describe(spans_.AddDetail());
}

void KernelFeed::Finish() {
  ReadTo(UINT64_MAX);
  for (auto& [number, join] : devices_) Shorten(join, 0, 0);
  spans_.Flush();
}

}  // namespace profd::client
