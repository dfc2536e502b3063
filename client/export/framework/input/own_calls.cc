#include "client/export/framework/input/own_calls.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "client/export/framework/input/torch_trace.h"
#include "client/export/read/program_steps.h"
#include "client/export/read/sources/pipeline.h"
#include "format/events/spans.h"

namespace profd::client::framework {
namespace {

using format::Span;
using format::SpanKind;
using format::TextId;

// Ranges of the Python package, profd.
constexpr std::string_view kCollectsGarbage = "Python: garbage collection";

// **Thread:** one. Fills one Calls.
class Collector final : public format::SpanSink, public format::RowSink {
 public:
  explicit Collector(Calls& calls) : calls_(calls) {
    Rest none;
    none.high_sequence = -1;  // as no operator of autograd
    calls_.rests.push_back(none);
  }

  void Take(const TorchCall& call) {
    Op op;
    op.begin = call.begin;
    op.end = call.end;
    op.low_sequence = static_cast<uint32_t>(call.sequence);
    op.thread = ThreadOf({call.pid, call.tid});
    op.name = calls_.texts.Intern(call.name);
    Rest rest;
    rest.high_sequence = static_cast<int32_t>(call.sequence >> 32);
    rest.forward_tid = call.forward_tid;
    for (const auto& [text, into, has, bit] :
         {std::tuple(&call.types, &rest.types, call.has_types, Rest::kTypes),
          std::tuple(&call.dims, &rest.dims, call.has_dims, Rest::kDims),
          std::tuple(&call.stack, &rest.stack, call.has_stack, Rest::kStack),
          std::tuple(&call.modules, &rest.modules, call.has_modules, Rest::kModules),
          std::tuple(&call.flops, &rest.flops, call.has_flops, Rest::kFlops)}) {
      if (!has) continue;
      *into = calls_.texts.Intern(*text);
      rest.has = static_cast<uint8_t>(rest.has | bit);
    }
    const auto key = std::tuple(rest.forward_tid, rest.high_sequence, rest.types, rest.dims, rest.stack,
                                rest.modules, rest.flops, rest.has);
    const auto [at, is_new] = rests_.try_emplace(key, static_cast<Ref>(calls_.rests.size()));
    if (is_new) calls_.rests.push_back(rest);
    op.rest = at->second;
    calls_.ops.push_back(op);
  }

  void Spans(const format::SpanBatch& batch) override {
    for (const Span& span : batch.spans) {
      const bool is_step = span.kind == SpanKind::kStep && span.device < 0;
      if ((!is_step && span.kind != SpanKind::kRange) || IsUnfinished(batch, span)) continue;
      const std::string_view name = batch.texts->Get(span.name);
      if (!is_step && name.starts_with(kCollectsGarbage)) {
        calls_.gc.push_back({static_cast<int64_t>(span.begin_ns), static_cast<int64_t>(span.end_ns),
                             static_cast<uint64_t>(span.pid)});
        continue;
      }
      Op op;
      op.begin = static_cast<int64_t>(span.begin_ns);
      op.end = static_cast<int64_t>(span.end_ns);
      op.low_sequence = UINT32_MAX;
      op.thread = ThreadOf({static_cast<uint64_t>(span.pid), static_cast<uint64_t>(span.tid)});
      op.name = calls_.texts.Intern(is_step ? "ProfilerStep#" + std::to_string(span.value) : name);
      calls_.ops.push_back(op);
    }
  }
  void Rows(const format::RowBatch&) override {}

 private:
  Ref ThreadOf(const Place& place) {
    const auto [at, is_new] = threads_.emplace(place, static_cast<Ref>(calls_.threads.size()));
    if (is_new) calls_.threads.push_back(place);
    return at->second;
  }

  Calls& calls_;
  std::map<Place, Ref> threads_;
  std::map<std::tuple<uint64_t, int32_t, TextId, TextId, TextId, TextId, TextId, uint8_t>, Ref> rests_;
};

}  // namespace

Calls ReadOwnCalls(const Folder& folder, Report& report, Progress& progress) {
  Calls calls;
  Report of_export;  // an export of the PROF directory says it
  const auto capture = OpenCapture(folder.ProfPath(), false, of_export);
  if (!capture.ok()) return calls;
  Collector collector(calls);
  format::Texts texts;
  Sinks sinks;
  sinks.rows = &collector;
  sinks.spans = &collector;
  sinks.texts = &texts;
  sinks.report = &of_export;
  sinks.progress = &progress;
  sinks.overlap = false;
  Wanted wanted;
  wanted.kinds = std::set<std::string, std::less<>>{"agent-range", "agent-step"};
  Decode(*capture, wanted, false, sinks);
  ReadTorchTrace(folder, report, progress, [&collector](const TorchCall& call) { collector.Take(call); });
  report.Note(folder.prof, calls.texts.dropped(), "text found no room in memory",
              "texts found no room in memory");
  return calls;
}

}  // namespace profd::client::framework
