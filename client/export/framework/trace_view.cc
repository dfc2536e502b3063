#include "client/export/framework/trace_view.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "client/export/framework/input/trace_file.h"
#include "client/export/framework/join/forwards.h"
#include "client/export/framework/join/python_calls.h"
#include "client/export/write/json_text.h"
#include "client/export/write/number_text.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::Status;

constexpr uint64_t kGcSort = 1,
                   kHostDevice = 31;  // as in numbers of processes: pid << 10 | sort << 5 | device

// **Thread:** one. Appends events to a list of JSON.
class Events {
 public:
  explicit Events(OutputFile& file) : file_(file) { file_.Append("["); }

  Events& Begin() {
    text_ = is_first_ ? "{" : ", {";
    is_first_ = false;
    is_inside_ = false;
    return *this;
  }
  Events& Key(std::string_view key) {
    if (std::exchange(is_inside_, true)) text_ += ", ";
    text_ += '"';
    text_ += key;
    text_ += "\": ";
    return *this;
  }
  Events& Raw(std::string_view key, std::string_view json) {
    Key(key);
    text_ += json;
    return *this;
  }
  Events& Text(std::string_view key, std::string_view text) {
    Key(key);
    AppendJsonString(text_, text);
    return *this;
  }
  Events& Int(std::string_view key, auto number) {
    Key(key);
    return Number([number](char* at) { return WriteInteger(at, number); });
  }
  Events& Stamp(int64_t ns) {
    Key("ts");
    text_ += '"';
    Number([ns](char* at) { return WriteMicroseconds(at, static_cast<uint64_t>(ns)); });
    text_ += '"';
    return *this;
  }
  Events& Duration(int64_t ns) {
    Key("dur");
    return Number([ns](char* at) { return WriteShortest(at, static_cast<double>(ns) / 1000); });
  }
  // A process of the vendor's may have the number -1.
  Events& At(const Place& place) { return Int("pid", static_cast<int64_t>(place.pid)).Int("tid", place.tid); }
  Events& Args() {
    Key("args");
    text_ += '{';
    is_inside_ = false;
    return *this;
  }
  void EndWithArgs() {
    text_ += "}}";
    file_.Append(text_);
  }
  void End() {
    text_ += '}';
    file_.Append(text_);
  }
  // A whole event of somebody else's.
  void Copy(std::string_view event) {
    if (!std::exchange(is_first_, false)) file_.Append(", ");
    file_.Append(event);
  }
  void Close() { file_.Append("]"); }

 private:
  template <typename Write>
  Events& Number(Write write) {
    std::array<char, 2 * kNumberText> digits;
    text_.append(digits.data(), write(digits.data()));
    return *this;
  }

  OutputFile& file_;
  std::string text_;
  bool is_first_ = true, is_inside_ = false;
};

// **Thread:** one.
class Writer {
 public:
  Writer(const Folder& folder, const Calls& calls, bool as_vendor, OutputFile& file)
      : folder_(folder), calls_(calls), as_vendor_(as_vendor), events_(file) {}

  void OfFramework() {
    if (calls_.ops.empty() && calls_.enqueues.empty() && calls_.dequeues.empty()) return WriteGc();
    for (const Op& op : calls_.ops) WriteOp(op);
    for (const Jump& jump : calls_.jumps) WriteJump(jump);
    WriteQueue();
    const std::vector<PythonSpan> python = ReplayPython(calls_);
    for (const PythonSpan& span : python) AddThread(calls_.PlaceOf(span.thread).tid, false);
    WriteNames();
    WriteForwards();
    for (const PythonSpan& span : python) WritePython(span);
    WriteGc();
  }

  void OfCann(const CannFiles& cann, Report& report, Progress& progress) {
    for (const std::string& name : cann.Of("msprof", ".json")) {
      uint64_t bytes = 0;
      std::string why;  // ReadTimelines has said it
      base::UniqueFd fd = OpenFile(cann.tables.get(), name, &bytes, &why);
      if (!fd) continue;
      TraceFile file(std::move(fd), cann.shown + "/" + name, report, progress);
      TraceEvent event;
      while (file.Next(event)) {
        if (!folder_.IsLevel0() || folder_.is_mindspore || !IsOfUpperLayers(event)) events_.Copy(event.text);
      }
    }
  }

  void Arrows(const DeviceSide& device, const Links& links) {
    for (const Link& link : links.links) {
      const Op& op = calls_.ops[link.op];
      const Kernel& kernel = device.kernels[link.kernel];
      const DeviceSide::TracePlace& place = device.places[kernel.place];
      const char* const name = folder_.is_mindspore ? "mindspore_to_npu" : "torch_to_npu";
      Arrow("s", name).Int("id", kernel.ns).At(calls_.PlaceOf(op.thread)).Stamp(op.begin);
      events_.Text("cat", "async_npu").End();
      Arrow("f", name).Int("id", kernel.ns).Raw("pid", place.pid).Raw("tid", place.tid).Stamp(kernel.ns);
      events_.Text("cat", "async_npu").End();
    }
  }

  void Close() { events_.Close(); }

 private:
  // A level 0 job has them, and analyse() leaves them out.
  static bool IsOfUpperLayers(const TraceEvent& event) {
    static constexpr std::string_view kLayers[] = {
        "CANN", "AscendCL", "Runtime", "GE", "Node", "Model", "Hccl", "acl_to_npu", "Communication@"};
    const std::string_view named = event.Arg("name");
    return std::ranges::any_of(
        kLayers, [&](std::string_view layer) { return event.name.starts_with(layer) || named == layer; });
  }

  Events& Span(std::string_view name, const Place& place, int64_t begin, int64_t end,
               std::string_view category) {
    return events_.Begin()
        .Text("ph", "X")
        .Text("name", name)
        .At(place)
        .Stamp(begin)
        .Duration(end - begin)
        .Text("cat", category);
  }
  Events& Arrow(std::string_view phase, std::string_view name) {
    return events_.Begin().Text("ph", phase).Text("bp", "e").Text("name", name);
  }

  // In the order in which they are first seen; the first one to say decides where it stands, but for the
  // queue's.
  void AddThread(uint64_t tid, bool is_queue) {
    const auto [at, is_new] = thread_of_.try_emplace(tid, threads_.size());
    if (is_new) threads_.emplace_back(tid, is_queue);
  }
  void SetThread(uint64_t tid, bool is_queue) {
    AddThread(tid, is_queue);
    threads_[thread_of_[tid]].second = is_queue;
  }

  void WriteOp(const Op& op) {
    const Place& place = calls_.PlaceOf(op.thread);
    SetThread(place.tid, false);
    const Rest& rest = calls_.RestOf(op);
    const bool is_python = (rest.has & Rest::kPython) != 0;
    Span(calls_.NameOf(op), place, op.begin, op.end, is_python ? "python_function" : "cpu_op").Args();
    if (!folder_.is_mindspore)
      events_.Int("Sequence number", calls_.SequenceOf(op)).Int("Fwd thread id", rest.forward_tid);
    const auto text = [&](uint8_t has, const char* key, format::TextId id, bool in_lines) {
      if ((rest.has & has) == 0) return;
      events_.Text(key, in_lines ? InLines(calls_.texts.Get(id)) : std::string(calls_.texts.Get(id)));
    };
    text(Rest::kDims, "Input Dims", rest.dims, true);
    text(Rest::kTypes, "Input type", rest.types, true);
    text(Rest::kStack, "Call stack", rest.stack, true);
    text(Rest::kModules, folder_.is_mindspore ? "custom_info" : "Module Hierarchy", rest.modules, false);
    text(Rest::kFlops, "flops", rest.flops, false);
    events_.EndWithArgs();
  }

  void WriteJump(const Jump& jump) {
    const Op& op = calls_.ops[jump.op];
    for (const bool is_begin : {true, false}) {
      Arrow(is_begin ? "s" : "f", "mindspore_to_self")
          .Int("id", op.begin)
          .At(calls_.PlaceOf(is_begin ? jump.thread : op.thread))
          .Stamp(is_begin ? jump.ns : op.begin);
      events_.Text("cat", "async_mindspore").End();
    }
  }

  void WriteQueue() {
    std::unordered_map<uint64_t, format::TextId> names;
    const auto write = [this](const Queued& queued, const std::string& name, bool is_enqueue) {
      const Place& place = calls_.PlaceOf(queued.thread);
      SetThread(place.tid, !is_enqueue);
      Span(name, place, queued.begin, queued.end, is_enqueue ? "enqueue" : "dequeue").Args();
      events_.Int("correlation_id", queued.correlation).EndWithArgs();
      Arrow(is_enqueue ? "s" : "f", "enqueue_to_dequeue")
          .Int("id", queued.correlation)
          .At(place)
          .Stamp(queued.begin);
      events_.Text("cat", "async_task_queue").End();
    };
    for (const Queued& dequeue : calls_.dequeues) {
      names.insert_or_assign(dequeue.correlation, dequeue.name);
      write(dequeue, "Dequeue@" + std::string(calls_.texts.Get(dequeue.name)), false);
    }
    for (const Queued& enqueue : calls_.enqueues) {
      const auto name = names.find(enqueue.correlation);
      write(enqueue,
            name == names.end() ? "Enqueue" : "Enqueue@" + std::string(calls_.texts.Get(name->second)), true);
    }
  }

  void Name(uint64_t pid, uint64_t tid, std::string_view what, std::string_view key, std::string_view text) {
    events_.Begin().Text("ph", "M").Text("name", what).At({pid, tid}).Args().Text(key, text).EndWithArgs();
  }
  void Sort(uint64_t pid, uint64_t tid, std::string_view what, uint64_t index) {
    events_.Begin()
        .Text("ph", "M")
        .Text("name", what)
        .At({pid, tid})
        .Args()
        .Int("sort_index", index)
        .EndWithArgs();
  }
  void NameProcess(uint64_t pid, std::string_view name, uint64_t sort) {
    Name(pid, 0, "process_name", "name", name);
    Name(pid, 0, "process_labels", "labels", "CPU");
    Sort(pid, 0, "process_sort_index", sort);
  }

  void WriteNames() {
    const Ref first = !calls_.ops.empty()        ? calls_.ops.front().thread
                      : !calls_.enqueues.empty() ? calls_.enqueues.front().thread
                                                 : calls_.dequeues.front().thread;
    const uint64_t pid = calls_.PlaceOf(first).pid;
    NameProcess(pid, folder_.is_mindspore ? "MindSpore" : "Python", 0);
    uint64_t last = 0;
    for (const auto& [tid, is_queue] : threads_) last = std::max(last, tid);
    for (const auto& [tid, is_queue] : threads_) {
      Name(pid, tid, "thread_name", "name", "Thread " + std::to_string(tid));
      Sort(pid, tid, "thread_sort_index", is_queue ? last + 1 : tid);
    }
  }

  void WriteForwards() {
    for (const ForwardPair& pair : PairForwards(calls_, Latest::kByBegin)) {
      const Place &from = calls_.PlaceOf(calls_.ops[pair.forward].thread),
                  &to = calls_.PlaceOf(calls_.ops[pair.backward].thread);
      if (from.tid == to.tid) continue;
      for (const bool is_begin : {true, false}) {
        Arrow(is_begin ? "s" : "f", "fwdbwd").Int("id", pair.sequence).At(is_begin ? from : to);
        events_.Stamp(calls_.ops[is_begin ? pair.forward : pair.backward].begin).Text("cat", "fwdbwd").End();
      }
    }
  }

  void WritePython(const PythonSpan& span) {
    Span(span.name, calls_.PlaceOf(span.thread), span.begin, span.end, "python_function").Args();
    events_.Int("Python id", span.id).Int("Python parent id", span.parent);
    if (span.module) events_.Int("Python module id", *span.module);
    events_.EndWithArgs();
  }

  void WriteGc() {
    if (calls_.gc.empty()) return;
    const uint64_t nobody = as_vendor_ ? UINT64_MAX : kHostDevice;
    const uint64_t device = folder_.devices.empty() ? nobody : static_cast<uint64_t>(folder_.devices.front());
    const auto shown = [device](uint64_t pid) { return pid << 10 | kGcSort << 5 | device; };
    for (const GcSpan& run : calls_.gc)
      Span("GC", {shown(run.pid), run.pid}, run.begin, run.end, "GC").Args().EndWithArgs();
    const uint64_t tid = calls_.gc.front().pid, pid = shown(tid);
    NameProcess(pid, "Python GC", kGcSort);
    Name(pid, tid, "thread_name", "name", "Python GC");
    Sort(pid, tid, "thread_sort_index", tid);
  }

  const Folder& folder_;
  const Calls& calls_;
  const bool as_vendor_;
  Events events_;
  std::vector<std::pair<uint64_t, bool>> threads_;  // and whether it is that of the queue
  std::unordered_map<uint64_t, size_t> thread_of_;
};

}  // namespace

Status WriteTraceView(const Folder& folder, const Calls& calls, const CannFiles& cann,
                      const DeviceSide& device, const Links& links, bool as_vendor, OutputFile& file,
                      Report& report, Progress& progress) {
  Writer writer(folder, calls, as_vendor, file);
  writer.OfFramework();
  writer.OfCann(cann, report, progress);
  writer.Arrows(device, links);
  writer.Close();
  return file.status();
}

}  // namespace profd::client::framework
