#include "client/export/read/sources/iterations.h"

#include <algorithm>
#include <map>
#include <string>

#include "client/export/read/filter.h"
#include "client/export/read/sources/pipeline.h"

namespace profd::client {

using base::Code;
using base::Status;

namespace {

constexpr size_t kMostModels = 1000;

struct Model {
  uint64_t first = UINT64_MAX, last = 0;  // numbers of its iterations
  std::optional<IterationTime> asked;
};

// **Thread:** one.
class Finder : public format::RowSink, public format::SpanSink {
 public:
  explicit Finder(uint64_t number) : number_(number) {}

  void Rows(const format::RowBatch&) override {}
  void Spans(const format::SpanBatch& batch) override {
    for (const format::Span& span : batch.spans) {
      if (span.kind != format::SpanKind::kStep) continue;
      const format::TaskDetail* detail = batch.DetailOf(span);
      Add(detail == nullptr ? kStepsOfPrograms : detail->model, span);
    }
  }
  const std::map<uint32_t, Model>& models() const { return models_; }

 private:
  void Add(uint32_t id, const format::Span& span) {
    if (models_.size() >= kMostModels && !models_.contains(id)) return;
    Model& model = models_[id];
    model.first = std::min(model.first, span.value);
    model.last = std::max(model.last, span.value);
    if (span.value != number_) return;
    if (!model.asked) model.asked = {span.begin_ns, span.end_ns};
    model.asked->from_ns = std::min(model.asked->from_ns, span.begin_ns);
    model.asked->to_ns = std::max(model.asked->to_ns, span.end_ns);
  }

  const uint64_t number_;
  std::map<uint32_t, Model> models_;
};

std::string ModelText(uint32_t id) {
  return id == kStepsOfPrograms ? "steps of programs (4294967295)" : "model " + std::to_string(id);
}

// What there is instead.
Status NoIteration(const Capture& capture, const IterationAsked& asked, const Finder& finder) {
  std::string text = capture.path + ": no iteration " + std::to_string(asked.number);
  if (asked.model) text += " of " + ModelText(*asked.model);
  if (finder.models().empty()) return {Code::kNotFound, text + " in it: nobody recorded iterations"};
  std::string there;
  for (const auto& [id, model] : finder.models()) {
    there += (there.empty() ? "; there are: " : ", ") + ModelText(id) + " " + std::to_string(model.first) +
             " to " + std::to_string(model.last);
  }
  return {Code::kNotFound, text + there};
}

}  // namespace

base::Result<IterationTime> FindIteration(const Capture& capture, const IterationAsked& asked,
                                          Progress& progress) {
  Finder finder(asked.number);
  format::Texts texts;
  Report unused;  // the export itself says what it could not read
  Sinks sinks;
  sinks.rows = &finder;
  sinks.spans = &finder;
  sinks.texts = &texts;
  sinks.report = &unused;
  sinks.progress = &progress;
  sinks.overlap = false;
  Wanted wanted;
  wanted.kinds = {"step-trace", "agent-step"};
  Decode(capture, wanted, false, sinks);
  const auto& models = finder.models();
  const auto found = asked.model ? models.find(*asked.model) : models.begin();
  if (found == models.end() || !found->second.asked) return NoIteration(capture, asked, finder);
  return *found->second.asked;
}

}  // namespace profd::client
