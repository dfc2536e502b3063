// aicpu.data: what the AI CPUs of a device report of the kernels that they ran.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/decode/span_writer.h"
#include "format/decode/tasks/task_log.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

namespace {

// Kernels on AI CPUs, from when they began to run. dispatch: until then, total: until after it, both since
// the kernel was handed to its CPU.
const Series kAiCpuKernelSeries = {"aicpu_kernel",
                                   Kind::kAiCpu,
                                   {"stream", "task"},
                                   {{"compute", Unit::kNs},
                                    {"copy", Unit::kNs},
                                    {"run", Unit::kNs},
                                    {"dispatch", Unit::kNs},
                                    {"total", Unit::kNs}}};

// **Thread:** one.
class AiCpuKernels : public Decoder {
 public:
  explicit AiCpuKernels(const DecodeContext& context)
      : Decoder(context),
        rows_(kAiCpuKernelSeries, context),
        spans_(*context.spans, *context.texts, NameOf(Kind::kAiCpu)),
        column_(context.texts->Intern("column")),
        plain_ids_(Is950(context.side->chip)),
        ns_per_tick_(context.side->counter_mhz > 0 ? 1000 / context.side->counter_mhz : kNoValue) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<AiCpuRecord>(whole, [this](const AiCpuRecord& record) {
      ++records_;
      const auto type = static_cast<AiCpuReport>(uint32_t{record.type});
      if (record.level == kAiCpuLevel && IsOfCollective(type)) return;  // read with the tasks
      const auto* const data = reinterpret_cast<const std::byte*>(record.data);
      if (record.level == kAiCpuLevel && type == AiCpuReport::kQueue)
        return Add(context().DeviceTicksToWall(record.ticks), Load<AiCpuQueue>(data));
      if (record.level == kAiCpuLevel && type == AiCpuReport::kWait)
        return Add(context().DeviceTicksToWall(record.ticks), Load<AiCpuWait>(data));
      if (record.level != kAiCpuLevel || type != AiCpuReport::kKernel)
        return Ignore("that are not of kernels, collectives or queues of data");
      const auto kernel = Load<AiCpuKernel>(data);
      Add(kernel, plain_ids_ ? StarsIds{kernel.stream, kernel.task}
                             : StarsIdsOf(kernel.stream, kernel.task, context().side->wide_streams));
    });
  }
  void Finish() override {
    rows_.Flush();
    spans_.Flush();
  }

 protected:
  // As the analyser makes them (msparser/add_info/aicpu_add_info_bean.py).
  void Add(const AiCpuKernel& kernel, const StarsIds& ids) {
    if (kernel.begin_ticks == 0 || kernel.end_ticks == 0) return Ignore("of kernels that did not run");
    rows_.Add(context().DeviceTicksToWall(kernel.begin_ticks), {ids.stream, ids.task},
              {OfUs(kernel.compute_us, kernel.copy_us), OfUs(kernel.copy_us, kernel.copied_us),
               OfTicks(kernel.begin_ticks, kernel.end_ticks), kernel.dispatch_us * 1e3,
               OfTicks(kernel.submit_ticks, kernel.after_ticks)});
  }
  void Add(uint64_t wall_ns, const AiCpuQueue& queue) {
    AddRow(wall_ns, "dp");
    AddColumn(TextOf(queue.action));
    AddColumn(TextOf(queue.source));
    AddColumn(queue.size);
  }

 private:
  void AddRow(uint64_t wall_ns, std::string_view table) {
    Span& span = spans_.Add(SpanKind::kTableRow);
    span.begin_ns = span.end_ns = wall_ns;
    span.device = context().side->device;
    span.category = spans_.texts().Intern(table);
  }
  void Add(uint64_t wall_ns, const AiCpuWait& wait) {
    AddRow(wall_ns, "aicpu_mi");
    AddColumn(wait.node == AiCpuWait::kGetNext ? "GetNext_dequeue_wait" : "");
    AddColumn(wait.begin_us);
    AddColumn(wait.end_us);
    AddColumn(wait.queue_size);
  }
  void AddColumn(std::string_view text) { spans_.AddArg(column_, text); }
  void AddColumn(uint64_t value) { spans_.AddArg(column_, ArgType::kU64, value); }
  static std::string_view TextOf(std::span<const char> text) {
    return {text.data(), static_cast<size_t>(std::ranges::find(text, '\0') - text.begin())};
  }
  // NaN: the end is before the begin.
  static double OfUs(uint64_t begin, uint64_t end) {
    return end >= begin ? static_cast<double>(end - begin) * 1e3 : kNoValue;
  }
  double OfTicks(uint64_t begin, uint64_t end) const {
    return end >= begin ? static_cast<double>(end - begin) * ns_per_tick_ : kNoValue;
  }

  Rows rows_;
  SpanWriter spans_;
  const TextId column_;
  const bool plain_ids_;
  const double ns_per_tick_;
};

// **Thread:** one. As older drivers bring it.
class AiCpuMessages : public AiCpuKernels {
 public:
  using AiCpuKernels::AiCpuKernels;
  void Take(std::span<const std::byte> whole) override {
    EachRecord<AiCpuKernelMessage>(whole, [this](const AiCpuKernelMessage& record) {
      ++records_;
      if (record.tag == AiCpuQueueMessage::kTag) {
        const auto message = std::bit_cast<AiCpuQueueMessage>(record);
        return Add(context().DeviceNsToWall(message.ns), message.queue);
      }
      if (record.tag != AiCpuKernelMessage::kTag) return Ignore("that are not of kernels or queues of data");
      Add(std::bit_cast<AiCpuKernel>(record), {record.stream & kStreamBits, record.task});
    });
  }
};

std::unique_ptr<Decoder> MakeAiCpuMessages(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<AiCpuMessages>(context);
}

std::unique_ptr<Decoder> MakeAiCpuKernels(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<AiCpuKernels>(context);
}

bool IsReport(const std::byte* bytes) {
  const auto length = Load<uint32_t>(bytes + offsetof(AiCpuRecord, data_len));
  return check::All(Load<uint16_t>(bytes) == kReportMagic, length <= sizeof(AiCpuRecord::data));
}

constexpr FramingRow AiCpuRow() {
  FramingRow entry = row::Fixed<AiCpuRecord, IsReport>(chips::kAll, file::kAiCpu, StampDomain::kDeviceTicks,
                                                       offsetof(AiCpuRecord, ticks), Combine::kNone, 0);
  entry.format.trailer = "###drv_hashdata###";
  return entry;
}

bool IsMessage(const std::byte* bytes) { return Load<uint16_t>(bytes) == kReportMagic; }

// Of the vendor's collector only.
constexpr std::string_view kKernelMessages = "DATA_PREPROCESS.AICPU", kQueueMessages = "DATA_PREPROCESS.DP";

constexpr FramingRow kFramings[] = {
    AiCpuRow(),
    row::Sized<IsMessage>(chips::kAll, kKernelMessages, sizeof(AiCpuKernelMessage), StampDomain::kNone, 0),
    row::Sized<IsMessage>(chips::kAll, kQueueMessages, sizeof(AiCpuQueueMessage), StampDomain::kNone, 0)};

constexpr DecoderEntry kDecoders[] = {{.file = file::kAiCpu,
                                       .kind = Kind::kAiCpu,
                                       .stamp = StampDomain::kDeviceTicks,
                                       .vendor_chips = ~Only({Chip::kMdcV2, Chip::kMdcLiteV2}),
                                       .make = MakeAiCpuKernels},
                                      {.file = kKernelMessages,
                                       .kind = Kind::kAiCpu,
                                       .stamp = StampDomain::kDeviceTicks,
                                       .make = MakeAiCpuMessages},
                                      {.file = kQueueMessages,
                                       .kind = Kind::kAiCpu,
                                       .stamp = StampDomain::kDeviceNs,
                                       .make = MakeAiCpuMessages}};

constexpr const Series* kSeries[] = {&kAiCpuKernelSeries};

}  // namespace

namespace family {
Family AiCpu() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
