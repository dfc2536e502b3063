#include "client/export/inventory.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "client/export/read/filter.h"
#include "client/export/read/missing.h"
#include "client/export/read/program_steps.h"
#include "client/export/read/ranks.h"
#include "client/export/read/sources/agent_source.h"
#include "client/export/read/sources/pipeline.h"
#include "client/words/quantile.h"

namespace profd::client {

namespace {

constexpr size_t kSlowest = 5;
constexpr size_t kMostModels = 1000;
constexpr uint64_t kGapFactor = 3;

// **Thread:** one.
class Counter : public format::RowSink, public format::SpanSink {
 public:
  explicit Counter(Inventory& inventory) : inventory_(inventory) {}

  void Rows(const format::RowBatch& batch) override {
    InventoryItem& item = Item(batch.kind, batch.series->name, batch.device);
    item.rows += batch.rows();
    item.sampled = true;
    for (const uint64_t ns : batch.wall_ns) item.moments.Add(ns);
  }
  void Spans(const format::SpanBatch& batch) override {
    for (const format::Span& span : batch.spans) {
      const std::string_view kind =
          batch.kind.empty() ? format::AgentKindName(AgentKindOf(span.kind)) : batch.kind;
      InventoryItem& item = Item(kind, SpanKindName(span.kind), span.device);
      ++item.rows;
      item.moments.Add(span.begin_ns);
      if (span.kind == format::SpanKind::kStep) Step(batch, span);
      const format::TaskDetail* detail = batch.DetailOf(span);
      if (detail == nullptr || detail->model == format::kNoId) continue;
      std::set<uint32_t>& models = inventory_.models[span.device];
      if (models.size() < kMostModels) models.insert(detail->model);
    }
  }

  // At the end.
  void CountSteps() {
    const auto steps = inventory_.steps.find(-1);
    if (steps == inventory_.steps.end()) return;
    const ProgramSteps::Lengths lengths = program_.Count();
    steps->second.counted = lengths.ns.size();
    steps->second.p50_ns = static_cast<uint64_t>(Quantile(lengths.ns, 0.5));
    steps->second.p95_ns = static_cast<uint64_t>(Quantile(lengths.ns, 0.95));
    for (const uint64_t number : lengths.first) steps->second.left_out.emplace_back(number, "first");
    for (const uint64_t number : lengths.unfinished)
      steps->second.left_out.emplace_back(number, "unfinished");
  }

 private:
  InventoryItem& Item(std::string_view kind, std::string_view what, int device) {
    const auto [found, fresh] = index_.try_emplace({kind, what, device}, inventory_.items.size());
    if (fresh) inventory_.items.push_back({std::string(kind), std::string(what), device, 0, {}});
    return inventory_.items[found->second];
  }
  void Step(const format::SpanBatch& batch, const format::Span& span) {
    InventorySteps& steps = inventory_.steps[span.device];
    ++steps.count;
    if (batch.IsUnfinished(span)) return program_.AddUnfinished(span.value);
    if (span.device < 0) program_.Add(span.pid, span.tid, span.value, span.begin_ns, span.end_ns);
    std::string edge;
    for (const format::SpanArg& arg : batch.ArgsOf(span)) {
      const std::string_view key = batch.texts->Get(arg.key);
      if (key == "edge") edge = batch.texts->Get(static_cast<format::TextId>(arg.bits));
    }
    const Iteration iteration = {span.value, span.end_ns - std::min(span.begin_ns, span.end_ns), edge};
    const auto at = std::find_if(
        steps.slowest.begin(), steps.slowest.end(),
        [&iteration](const Iteration& other) { return iteration.duration_ns > other.duration_ns; });
    steps.slowest.insert(at, iteration);
    if (steps.slowest.size() > kSlowest) steps.slowest.pop_back();
  }

  Inventory& inventory_;
  ProgramSteps program_;
  std::map<std::tuple<std::string_view, std::string_view, int>, size_t> index_;
};

}  // namespace

void Moments::Add(uint64_t ns) {
  if (moments_ == 0) {
    first_ns_ = last_ns_ = ns;
    moments_ = 1;
    return;
  }
  first_ns_ = std::min(first_ns_, ns);
  if (ns <= last_ns_) return;
  const uint64_t interval = ns - std::exchange(last_ns_, ns);
  ++moments_;
  if (learning_.size() < kLearnt) {
    learning_.push_back(interval);
    if (learning_.size() < kLearnt) return;
    std::vector<uint64_t> sorted = learning_;
    std::nth_element(sorted.begin(), sorted.begin() + kLearnt / 2, sorted.end());
    usual_ns_ = sorted[kLearnt / 2];
    for (const uint64_t learnt : learning_) {
      if (learnt / kGapFactor > usual_ns_) ++gaps_, longest_gap_ns_ = std::max(longest_gap_ns_, learnt);
    }
    return;
  }
  if (interval / kGapFactor > usual_ns_) ++gaps_, longest_gap_ns_ = std::max(longest_gap_ns_, interval);
}

double Moments::rate_hz() const {
  if (moments_ < 2) return 0;
  return static_cast<double>(moments_ - 1) * 1e9 / static_cast<double>(last_ns_ - first_ns_);
}

base::Result<Inventory> TakeInventory(const std::string& directory, std::optional<int> side,
                                      Progress& progress) {
  Inventory inventory;
  auto capture = OpenCapture(directory, false, inventory.report);
  if (!capture.ok()) return capture.status();
  inventory.capture = std::move(capture).value();
  FindRanks(inventory.capture);
  Counter counter(inventory);
  format::Texts texts;
  Sinks sinks;
  sinks.rows = &counter;
  sinks.spans = &counter;
  sinks.texts = &texts;
  sinks.report = &inventory.report;
  sinks.progress = &progress;
  sinks.overlap = false;  // is worked out, nothing of it is in there
  sinks.joins_kernels = false;
  Wanted wanted;
  if (side) {
    wanted.devices.emplace();
    if (*side >= 0) wanted.devices->insert(*side);
    std::erase_if(inventory.capture.sides,
                  [side](const Side& other) { return !other.is_host() && other.facts.device != *side; });
  }
  Decode(inventory.capture, wanted, false, sinks);
  counter.CountSteps();
  ReportMissingKinds(inventory.capture, wanted, inventory.report);
  return inventory;
}

}  // namespace profd::client
