#include "client/export/read/sources/tasks/comm_tasks.h"

#include <algorithm>
#include <bit>

namespace profd::client {

using format::ArgType;
using format::Collective;
using format::CommLaunch;
using format::CommPart;
using format::Span;
using format::SpanKind;

namespace {

constexpr size_t kMostRuns = 4096;  // some of which never get complete
constexpr size_t kMostNumbers = 1 << 16;

uint64_t TaskKey(const format::DeviceTask& task, uint32_t batch) {
  return static_cast<uint64_t>(task.stream) << 48 ^ static_cast<uint64_t>(batch) << 32 ^
         static_cast<uint64_t>(task.task) << 16 ^ (task.context & 0xFFFF);
}

}  // namespace

format::TextId CommTasks::Key(std::string_view text) {
  format::TextId& key = keys_[text];
  return key != 0 ? key : key = spans_.texts().Intern(text);
}

// Named as the vendor's analyser does: group, number of the collective in it, number of the run
// (hccl_calculator.cpp, UpdateHcclOpNameByGroupName).
std::string CommTasks::NameOf(const Collective& of, uint32_t run) {
  const auto [number, first] = numbers_.try_emplace(of.connection, 0);
  if (first) number->second = counts_[{of.of_ai_cpu, of.group}]++;
  std::string name = std::string(spans_.texts().Get(of.name)) + "_" + of.group_digits + "_" +
                     std::to_string(number->second) + "_" + std::to_string(run);
  if (numbers_.size() > kMostNumbers) numbers_.erase(numbers_.begin());
  return name;
}

CommTasks::Run& CommTasks::RunOf(const RunKey& key, const std::shared_ptr<Collective>& of) {
  const auto [found, fresh] = runs_.try_emplace(key);
  Run& run = found->second;
  if (!fresh) return run;
  run.of = of;
  run.name = NameOf(*of, key.second);
  return run;
}

void CommTasks::Add(const format::DeviceTask& task, const format::Launch& launched, uint64_t begin_ns,
                    uint64_t end_ns) {
  const CommLaunch& launch = *launched.comm();
  const CommPart* part = launch.Find(task.context);
  if (part == nullptr && !launch.parts.empty()) return;  // what holds sub tasks
  uint32_t* ran = ran_.FindOrAdd(TaskKey(task, launched.batch));
  const RunKey key{launch.of->connection, ran == nullptr ? 1 : ++*ran};
  Run& run = RunOf(key, launch.of);
  run.model = launched.model;
  run.model_name = launched.model_name;
  run.begin_ns = std::min(run.begin_ns, begin_ns);
  run.end_ns = std::max(run.end_ns, end_ns);
  if (launch.is_master) {
    run.main_begin_ns = std::min(run.main_begin_ns, begin_ns);
    run.main_end_ns = std::max(run.main_end_ns, end_ns);
  }
  ++run.parts;
  if (part != nullptr) {
    const Of of{run.of->connection, run.model, spans_.texts().Intern(run.name)};
    AddPart(task, *part, launch.is_master, of, begin_ns, end_ns);
  }
  if (run.parts < launch.of->parts && runs_.size() <= kMostRuns) return;
  const auto done = run.parts < launch.of->parts ? runs_.begin() : runs_.find(key);
  Give(done->second);
  runs_.erase(done);
}

void CommTasks::AddPart(const format::DeviceTask& task, const CommPart& part, bool is_master, const Of& of,
                        uint64_t begin_ns, uint64_t end_ns) {
  const auto number = [this](std::string_view key, uint64_t value) {
    spans_.AddArg(Key(key), ArgType::kU64, value);
  };
  const auto real = [this](std::string_view key, double value) {
    spans_.AddArg(Key(key), ArgType::kF64, std::bit_cast<uint64_t>(value));
  };
  const auto text = [this](std::string_view key, format::TextId value) {
    spans_.AddArg(Key(key), ArgType::kText, value);
  };
  format::Texts& texts = spans_.texts();
  Span& span = spans_.Add(SpanKind::kCommPart);
  span.begin_ns = begin_ns;
  span.end_ns = end_ns;
  span.device = device_;
  span.name = part.name;
  span.category = part.group;
  span.stream = part.plane;
  span.connection = of.connection;
  span.value = task.task;
  text("notify_id", texts.Intern(std::to_string(part.notify)));
  real("duration estimated(us)", part.estimated_us);
  number("stream id", task.stream);
  number("task id", task.task);
  number("context id", task.context);
  text("task type", part.name);
  number("src rank", part.local_rank);
  number("dst rank", part.remote_rank);
  text("transport type", part.transport);
  number("size(Byte)", part.bytes);
  text("data type", part.data_type);
  text("link type", part.link);
  // Bytes a ns.
  real("bandwidth(GB/s)",
       end_ns > begin_ns ? static_cast<double>(part.bytes) / static_cast<double>(end_ns - begin_ns) : 0);
  number("model id", of.model);
  text("rdma type", part.rdma);
  number("is master", is_master ? 1 : 0);
  text("collective", of.name);
}

void CommTasks::Give(const Run& run) {
  const bool has_main = run.main_begin_ns != UINT64_MAX;
  const Of of{run.of->connection, run.model, spans_.texts().Intern(run.name)};
  Add(*run.of, of, run.model_name, has_main ? run.main_begin_ns : run.begin_ns,
      has_main ? run.main_end_ns : run.end_ns);
}

void CommTasks::Add(const Collective& collective, const Of& of, format::TextId model_name, uint64_t begin_ns,
                    uint64_t end_ns) {
  Span& span = spans_.Add(SpanKind::kComm);
  span.begin_ns = begin_ns;
  span.end_ns = end_ns;
  span.device = device_;
  span.name = of.name;
  span.category = collective.group;
  span.connection = of.connection;
  span.flow = format::Flow::kEnds;
  if (of.model != format::kNoId) {
    format::TaskDetail& detail = spans_.AddDetail();
    detail.model = of.model;
    detail.model_name = model_name;
    detail.op_name = span.name;
  }
  spans_.AddArg(Key("rank_size"), ArgType::kU64, collective.rank_size);
  spans_.AddArg(Key("model id"), ArgType::kU64, of.model);
  spans_.AddArg(Key("data_type"), ArgType::kText,
                collective.data_type != 0 ? collective.data_type : Key("N/A"));
  spans_.AddArg(Key("alg_type"), ArgType::kText,
                collective.algorithm != 0 ? collective.algorithm : Key("N/A"));
  spans_.AddArg(Key("count"), ArgType::kU64, collective.count);
  spans_.AddArg(Key("relay"), collective.relay ? "yes" : "no");
  spans_.AddArg(Key("retry"), collective.retry ? "yes" : "no");
}

void CommTasks::Finish() {
  for (const auto& [key, run] : runs_) Give(run);
  runs_.clear();
}

}  // namespace profd::client
