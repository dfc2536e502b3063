// ts_track.data: what the scheduler's firmware notes down. Iterations of models are read, the rest is passed
// over.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "format/decode/family.h"
#include "format/decode/span_writer.h"
#include "format/decode/track_records.h"
#include "format/kind.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

namespace {

// **Thread:** one.
class StepTrace : public Decoder {
 public:
  explicit StepTrace(const DecodeContext& context)
      : Decoder(context),
        of_310_(context.side->chip == Chip::k310),
        is_950_(Is950(context.side->chip)),
        spans_(*context.spans, *context.texts, context.kind),
        forward_key_(context.texts->Intern("FP Start(ns)")),
        backward_key_(context.texts->Intern("BP End(ns)")),
        before_key_(context.texts->Intern("previous end(ns)")) {}

  void Take(std::span<const std::byte> whole) override {
    const uint64_t none = track_.Take(
        whole, [this](const std::byte* record, const TsTrackHead& head) { Record(record, head); });
    if (none > 0) Reject("bytes that are no record", none);
  }
  void Lost() override {
    if (track_.Drop()) Reject("record without its end");
    for (auto& [number, model] : models_) {  // an end that is missing must not join two iterations
      Close(model);
      model.before_ns = std::nullopt;
    }
  }
  void Finish() override {
    if (track_.Drop()) Reject("record without its end");
    for (const auto& [model, state] : models_) cut_ += state.begin_ns || state.forward_ns;
    spans_.Flush();
  }

 private:
  static constexpr size_t kMostModels = 4096;
  struct Model {
    std::optional<uint64_t> begin_ns, forward_ns, backward_ns, before_ns;
    uint64_t ended = 0;  // iterations
  };

  void Record(const std::byte* data, const TsTrackHead& head) {
    // Those of a 310's tasks are read with its counters, not here.
    if (of_310_ && head.kind == static_cast<uint8_t>(TsTrackKind::kTimeLine)) return;
    ++records_;
    if (head.kind != static_cast<uint8_t>(TsTrackKind::kStepTrace) ||
        head.size != sizeof(TsStepTraceRecord)) {
      return Ignore("of the scheduler that are no steps of models, which the export does not use");
    }
    auto record = Load<TsStepTraceRecord>(data);
    if (is_950_) record.tag = Load<TsStepTraceRecord950>(data).tag;
    if (models_.size() >= kMostModels && !models_.contains(record.model))
      return Reject("of more models than there is room for");
    Model& model = models_[record.model];
    const uint64_t ns = context().DeviceTicksToWall(head.ticks);
    switch (static_cast<TsStepTag>(record.tag)) {
      case TsStepTag::kModelStart:
      case TsStepTag::kStepStart:
        model.begin_ns = ns;
        return;
      case TsStepTag::kForwardStart:
        model.forward_ns = ns;
        return;
      case TsStepTag::kBackwardEnd:
        model.backward_ns = ns;
        return;
      case TsStepTag::kIterationEnd:
      case TsStepTag::kStepEnd:
        return End(record, model, ns);
      case TsStepTag::kModelEnd:
        // Of a model that is not trained nothing else says that it is over.
        if (model.begin_ns && !model.forward_ns) End(record, model, ns);
        Close(model);
        return;
      default:
        return Ignore("of collectives and data fetches inside of iterations, which are not used");
    }
  }

  void End(const TsStepTraceRecord& record, Model& model, uint64_t ns) {
    const std::optional<uint64_t> begin_ns = model.forward_ns ? model.forward_ns
                                             : model.begin_ns ? model.begin_ns
                                                              : model.before_ns;
    if (!begin_ns || *begin_ns > ns) {
      Reject("end of an iteration whose begin is not there");
    } else {
      // The vendor counts those of a recording (csrc/domain/services/modeling/step_trace/fsm.cpp).
      const uint64_t number = context().vendor_compatible ? ++model.ended : record.index;
      Span& span = spans_.Add(SpanKind::kStep);
      span.begin_ns = *begin_ns;
      span.end_ns = ns;
      span.value = number;
      span.device = context().side->device;
      span.pid = context().side->pid;
      span.name = Name(number);
      spans_.AddDetail().model = static_cast<uint32_t>(std::min<uint64_t>(record.model, kNoId));
      if (model.forward_ns) spans_.AddArg(forward_key_, ArgType::kU64, *model.forward_ns);
      if (model.backward_ns) spans_.AddArg(backward_key_, ArgType::kU64, *model.backward_ns);
      if (model.before_ns) spans_.AddArg(before_key_, ArgType::kU64, *model.before_ns);
    }
    Close(model);
    model.before_ns = ns;
  }
  static void Close(Model& model) { model.begin_ns = model.forward_ns = model.backward_ns = std::nullopt; }

  TextId Name(uint64_t index) {
    constexpr size_t kMostNames = 1 << 20;  // iterations by the million share one
    Texts& texts = spans_.texts();
    return texts.Intern(texts.size() < kMostNames ? "Iteration " + std::to_string(index) : "Iteration");
  }

  const bool of_310_, is_950_;
  SpanWriter spans_;
  const TextId forward_key_, backward_key_, before_key_;
  TrackRecords track_;
  std::map<uint64_t, Model> models_;
};

std::unique_ptr<Decoder> MakeStepTrace(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<StepTrace>(context);
}

constexpr FramingRow kFramings[] = {
    // Records of several sizes.
    row::Opaque(file::kTaskTrack),
    row::Opaque(file::kVectorTaskTrack),
    row::Opaque("training_trace.data"),
    row::Opaque("stars_block.data"),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kTaskTrack,
     .kind = Kind::kStepTrace,
     .by = DecoderEntry::By::kUnits,
     .stamp = StampDomain::kDeviceTicks,
     .make = MakeStepTrace},
    {.file = file::kVectorTaskTrack,
     .kind = Kind::kStepTrace,
     .by = DecoderEntry::By::kUnits,
     .stamp = StampDomain::kDeviceTicks,
     .make = MakeStepTrace},
};

}  // namespace

namespace family {
Family StepTrace() { return {.framings = kFramings, .decoders = kDecoders}; }
}  // namespace family

}  // namespace profd::format
