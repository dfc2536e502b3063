#include "client/export/read/sources/tasks/task_source.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/export/read/sources/tasks/cann_cursor.h"
#include "client/export/read/sources/tasks/device_tasks.h"
#include "client/export/read/sources/tasks/host_records.h"
#include "client/export/read/sources/tasks/kernel_feed.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/tasks/task_join.h"
#include "format/kind.h"
#include "format/records/cann.h"

namespace profd::client {

namespace {

using format::CannApiRecord;
using format::CannCommOp;
using format::CannCommPart;
using format::CannContexts;
using format::CannCopy;
using format::CannNodeAttributes;
using format::CannNodeInfo;
using format::CannTaskTrack;
using format::CannTensorInfo;
using format::Launch;
namespace file = format::file;

// What the host recorded of its calls and of what these launched, without "aging." and "unaging.".
constexpr std::string_view kTracks = "compact.task_track", kNodeInfos = "compact.node_basic_info",
                           kTensors = "additional.tensor_info", kNodeAttributes = "compact.node_attr_info",
                           kContexts = "additional.context_id_info", kCopies = "compact.memcpy_info",
                           kCommOps = "compact.hccl_op_info", kCommParts = "additional.hccl_info";
constexpr std::string_view kOfCalls[] = {file::kApi, kTracks, kNodeInfos, kTensors,  kNodeAttributes,
                                         kContexts,  kCopies, kCommOps,   kCommParts};

constexpr size_t kWindowCalls = 1 << 13;
constexpr size_t kWindowTracks = 16 * kWindowCalls;  // a call can launch many

// Nowhere.
class NoSpans : public format::SpanSink {
 public:
  void Spans(const format::SpanBatch&) override {}
};

// **Thread:** one.
class TaskSource {
 public:
  TaskSource(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks)
      : capture_(capture),
        sinks_(sinks),
        wanted_(wanted),
        vendor_compatible_(vendor_compatible),
        names_(*sinks.texts),
        with_calls_(wanted.Kind("api")),
        calls_(with_calls_ ? *sinks.spans : static_cast<format::SpanSink&>(nowhere_), *sinks.texts, "api") {
    const int64_t pid = capture.host() != nullptr ? capture.host()->facts.pid : 0;
    for (const Side& side : capture.sides) {
      if (side.is_host() || !wanted.Device(side.facts.device)) continue;
      devices_.emplace_back(capture, side, wanted, sinks, pid);
    }
    const bool any = std::ranges::any_of(devices_, &DeviceTasks::has_tasks);
    if (!any || !sinks.joins_kernels) return;
    kernels_.emplace(capture, wanted, *sinks.spans, *sinks.texts);
    if (!kernels_->any()) kernels_.reset();
    for (DeviceTasks& device : devices_) device.Join(kernels_ ? &*kernels_ : nullptr);
  }
  bool gave_kernels() const { return kernels_.has_value(); }

  void Run() {
    const Side* host = capture_.host();
    if (host != nullptr && host->has_wall_clock()) {
      Host(*host);
    } else if (host != nullptr) {
      for (const Stream& stream : host->streams) {
        if (!TaskStreamKind(*host, stream.file).empty())
          sinks_.report->SkipUndated(stream.path(), stream.bytes(), "start_info");
      }
    }
    for (DeviceTasks& device : devices_) device.Finish();
    const bool cancelled = sinks_.progress != nullptr && sinks_.progress->cancelled;
    if (kernels_ && !cancelled) kernels_->Finish();
  }

 private:
  void Host(const Side& host) {
    ReadNames(capture_, host, sinks_, names_);
    format::ModelCalls models;
    // The same file is read for the calls once more: what most directories need not.
    if (names_.knows_models()) ReadModelCalls(capture_, host, sinks_, models);
    const std::map<uint32_t, format::TextId> model_names = ReadModelNames(capture_, host, names_);
    format::DecodeContext context;
    context.side = &host.facts;
    context.clocks = &host.clocks;
    if (with_calls_) GiveOperatorRecords(capture_, host, wanted_, sinks_, names_, models, calls_);
    Report& report = *sinks_.report;
    Cursor<CannApiRecord> calls(capture_, host, file::kApi, report, sinks_.progress);
    Cursor<CannTaskTrack> tracks(capture_, host, kTracks, report, sinks_.progress);
    Cursor<CannNodeInfo> infos(capture_, host, kNodeInfos, report, sinks_.progress);
    Cursor<CannTensorInfo> tensors(capture_, host, kTensors, report, sinks_.progress);
    Cursor<CannNodeAttributes> attributes(capture_, host, kNodeAttributes, report, sinks_.progress);
    Cursor<CannContexts> contexts(capture_, host, kContexts, report, sinks_.progress);
    Cursor<CannCopy> copies(capture_, host, kCopies, report, sinks_.progress);
    Cursor<CannCommOp> comm_ops(capture_, host, kCommOps, report, sinks_.progress);
    Cursor<CannCommPart> comm_parts(capture_, host, kCommParts, report, sinks_.progress);
    // At level 0 the vendor knows an operator's name only, whatever the records hold.
    const bool names_only =
        vendor_compatible_ && (host.facts.prof_level == "l0" || host.facts.prof_level == "level0");
    format::Captures captures(names_, *sinks_.texts);
    ReadCaptures(capture_, host, sinks_, captures);
    ReadCommStreams(capture_, host, sinks_, comm_streams_);
    for (DeviceTasks& device : devices_) device.Join(capture_, comm_streams_, names_);
    format::Launches launches(names_, *sinks_.texts, models, captures, names_only);
    launches.SetPids(ReadThreads(capture_));
    const auto to_wall = [&](uint64_t stamp) { return context.HostCounterToWall(stamp); };
    uint64_t until_ns = 0;  // tasks that begin before it have their launches
    const format::Launches::Take take_launch = [&](Launch&& launch) {
      if (const auto model = model_names.find(launch.model); model != model_names.end())
        launch.model_name = model->second;
      const uint64_t wall_ns = to_wall(launch.stamp);
      until_ns = std::max(until_ns, wall_ns);
      const auto of_device =
          std::ranges::find(devices_, static_cast<int>(launch.device), &DeviceTasks::device);
      if (of_device != devices_.end()) of_device->Add(std::move(launch), wall_ns);
    };
    bool last = false;
    while (!last) {
      if (sinks_.progress != nullptr && sinks_.progress->cancelled) return;
      calls.Drain(UINT64_MAX, kWindowCalls, [&](const CannApiRecord& call, bool) { launches.Add(call); });
      last = calls.done();
      const uint64_t end = last ? UINT64_MAX : launches.end_stamp();
      tracks.Drain(end, kWindowTracks, [&](const CannTaskTrack& track, bool) { launches.Add(track); });
      infos.Drain(end, kWindowTracks, [&](const CannNodeInfo& info, bool ages) { launches.Add(info, ages); });
      tensors.Drain(end, kWindowTracks, [&](const CannTensorInfo& of_one, bool) { launches.Add(of_one); });
      attributes.Drain(end, kWindowTracks,
                       [&](const CannNodeAttributes& of_one, bool) { launches.Add(of_one); });
      contexts.Drain(end, kWindowTracks, [&](const CannContexts& of_one, bool) { launches.Add(of_one); });
      copies.Drain(end, kWindowTracks, [&](const CannCopy& copy, bool) { launches.Add(copy); });
      comm_ops.Drain(end, kWindowTracks, [&](const CannCommOp& op, bool) { launches.Add(op); });
      comm_parts.Drain(end, kWindowTracks, [&](const CannCommPart& part, bool) { launches.Add(part); });
      last = last && tracks.done() && infos.done() && tensors.done() && attributes.done() &&
             contexts.done() && copies.done() && comm_ops.done() && comm_parts.done();
      until_ns = 0;
      launches.EndWindow(last, host.facts.pid, to_wall, calls_, take_launch);
      if (launches.waiting_since() != UINT64_MAX)
        until_ns = std::min(until_ns, to_wall(launches.waiting_since()));
      until_ns -= std::min<uint64_t>(until_ns, 2 * format::TaskJoin::kSlackNs);
      for (DeviceTasks& device : devices_) device.Run(until_ns);
    }
    calls_.Flush();
    calls.Count(report, "api");
    tracks.Count(report, "task");
    infos.Count(report, "task");
    tensors.Count(report, "task");
    attributes.Count(report, "task");
    contexts.Count(report, "task");
    copies.Count(report, "task");
    comm_ops.Count(report, "task");
    comm_parts.Count(report, "task");
    if (launches.foreign() > 0)
      report.Skip({"host/data", 0, 0, launches.foreign(), "API records without their magic"});
    if (launches.unpaired_events() > 0) {
      report.Skip({"host/data", 0, 0, launches.unpaired_events(), "API events whose other end is not there"});
    }
    report.Note("host", launches.tracks_without_call(), "launch outside of every call",
                "launches outside of every call");
    report.Note("host", names_.unknown(), "name that the dictionaries do not hold",
                "names that the dictionaries do not hold");
  }

  const Capture& capture_;
  const Sinks& sinks_;
  const Wanted& wanted_;
  const bool vendor_compatible_;
  std::optional<KernelFeed> kernels_;
  NoSpans nowhere_;
  format::CannNames names_;
  CommStreams comm_streams_;
  const bool with_calls_;
  format::SpanWriter calls_;
  std::deque<DeviceTasks> devices_;
};

}  // namespace

std::string_view TaskStreamKind(const Side& side, std::string_view file) {
  if (const std::string_view kind = DeviceTasks::KindOf(side, file); !kind.empty()) return kind;
  if (!file.starts_with("aging.") && !file.starts_with("unaging.")) return "";
  const std::string_view rest = file.substr(file.find('.') + 1);
  const bool of_calls = std::ranges::find(kOfCalls, rest) != std::end(kOfCalls) || IsOfOperators(rest) ||
                        IsOfCaptures(rest) || rest == kCommStreams || rest == file::kStreamSpec ||
                        rest == kLogicStreams || rest == kHashNames || rest == kTypeNames;
  return of_calls ? (side.is_host() ? "api" : "task") : "";
}

bool DecodeTasks(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks) {
  if (!wanted.Kind("task") && !wanted.Kind("api") && !DeviceTasks::WantsCounters(wanted)) return false;
  TaskSource source(capture, wanted, vendor_compatible, sinks);
  source.Run();
  return source.gave_kernels();
}

}  // namespace profd::client
