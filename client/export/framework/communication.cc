#include "client/export/framework/communication.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client/export/framework/input/trace_file.h"
#include "client/export/framework/output/matrix.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::Status;
constexpr char kTimes[] = "Communication Time Info", kBandwidths[] = "Communication Bandwidth Info",
               kTotal[] = "Total Op Info", kWait[] = "Wait Time(ms)",
               kSynchronization[] = "Synchronization Time(ms)", kSizes[] = "Size Distribution";

// Of all operations of a class.
Json TotalOf(const Json& ops) {
  Json times = Json::object(), bandwidths = Json::object();
  for (const auto& [name, op] : ops.items()) {
    const Json &of_time = MemberOf(op, kTimes), &of_bandwidth = MemberOf(op, kBandwidths);
    for (const auto& [key, value] : of_time.items()) {
      if (key != "Wait Time Ratio" && key != "Synchronization Time Ratio" && key != "Start Timestamp(us)" &&
          value.is_number())
        times[key] = NumberOf(times.contains(key) ? times[key] : Json(0.0)) + NumberOf(value);
    }
    for (const auto& [transport, parts] : of_bandwidth.items()) {
      if (!parts.is_object()) continue;
      Json& sum = bandwidths[transport];
      if (sum.is_null()) sum = {{kTransitTime, 0}, {kTransitSize, 0}, {kSizes, Json::object()}};
      AddTo(sum[kTransitTime], MemberOf(parts, kTransitTime));
      AddTo(sum[kTransitSize], MemberOf(parts, kTransitSize));
      for (const auto& [size, packets] : MemberOf(parts, kSizes).items()) {
        if (!packets.is_array() || packets.size() < 2) continue;
        Json& all = sum[kSizes][size];
        if (all.is_null()) all = {0, 0};
        AddTo(all[0], packets[0]);
        AddTo(all[1], packets[1]);
      }
    }
  }
  const double wait = NumberOf(MemberOf(times, kWait)),
               synchronization = NumberOf(MemberOf(times, kSynchronization)),
               transit = NumberOf(MemberOf(times, kTransitTime));
  times["Wait Time Ratio"] = Ratio(wait, wait + transit);
  times["Synchronization Time Ratio"] = Ratio(synchronization, synchronization + transit);
  return {{kTimes, std::move(times)}, {kBandwidths, std::move(bandwidths)}};
}

// What the vendor reckons, and does not write.
void AddBandwidths(Json& total) {
  for (auto& [transport, sum] : total[kBandwidths].items())
    sum[kBandwidthRate] = Ratio(NumberOf(MemberOf(sum, kTransitSize)), NumberOf(MemberOf(sum, kTransitTime)));
}

Json Sorted(const Json& ops, bool as_vendor) {
  Json pairs = Json::object(), collectives = Json::object();
  for (const auto& [name, op] : ops.items()) {
    const Class its = ClassOf(name);
    if (its != Class::kNone) (its == Class::kPair ? pairs : collectives)[name] = op;
  }
  for (Json* of : {&pairs, &collectives}) {
    if (of->empty()) continue;
    Json total = TotalOf(*of);
    if (!as_vendor) AddBandwidths(total);
    (*of)[kTotal] = std::move(total);
  }
  return {{"p2p", std::move(pairs)}, {"collective", std::move(collectives)}};
}

std::optional<Json> Read(const CannFiles& cann, const std::string& name, Report& report) {
  if (!cann.analyze || !Names(cann.analyze.get()).contains(name)) return std::nullopt;
  const std::string shown = cann.shown.substr(0, cann.shown.find('/')) + "/analyze/" + name;
  constexpr uint64_t kMostBytes = 256u << 20;
  const auto text = ReadSmallFile(cann.analyze.get(), name, kMostBytes);
  if (!text.ok()) {
    report.Skip({shown, 0, 0, 0, text.status().message()});
    return std::nullopt;
  }
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_object()) return json;
  report.Skip({shown, 0, 0, 0, "is not a JSON object"});
  return std::nullopt;
}

std::string StepKey(const Step& step) { return "step" + std::to_string(step.number); }

Status WriteJson(const Json& json, const std::string& name, Results& results) {
  PROFD_ASSIGN_OR_RETURN(const auto file, results.Open(name));
  file->Append(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return results.Finish(*file, name);
}

// The step in which an operation began; of one step alone all are.
const Step* StepOf(const Json& op, const std::vector<Step>& steps, bool as_vendor) {
  if (steps.size() == 1) return &steps.front();
  const Json& start = MemberOf(MemberOf(op, kTimes), "Start Timestamp(us)");
  std::optional<int64_t> ns;
  if (start.is_number()) ns = static_cast<int64_t>(std::llround(start.get<double>() * 1000));
  if (start.is_string()) ns = NsOfMicroseconds(start.get_ref<const std::string&>());
  if (!ns) return nullptr;
  const int64_t slack = as_vendor ? 0 : kStampSlackNs;
  const auto holds = [ns, slack](const Step& step) {
    return step.device_begin - slack <= *ns && *ns - slack <= step.device_end;
  };
  const auto found = std::ranges::find_if(steps, holds);
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace

Status WriteCommunication(const CannFiles& cann, const std::vector<Step>& steps, Results& results,
                          Report& report) {
  const auto communication = Read(cann, "communication.json", report);
  if (!communication) return {};
  std::map<std::string, std::string> step_of;  // by operation
  Json by_step = Json::object();
  for (const Step& step : steps) by_step[StepKey(step)] = Json::object();
  uint64_t outside = 0;
  for (const auto& [name, op] : communication->items()) {
    const Step* const step = steps.empty() ? nullptr : StepOf(op, steps, results.as_vendor());
    if (step == nullptr && !steps.empty()) {
      ++outside;
      continue;
    }
    const std::string key = step == nullptr ? "step" : StepKey(*step);
    by_step[key][name] = op;
    step_of.emplace(name, key);
  }
  report.Note("communication.json", outside, "operation lies in no step", "operations lie in no step");
  for (auto& [step, ops] : by_step.items()) ops = Sorted(ops, results.as_vendor());
  PROFD_RETURN_IF_ERROR(WriteJson(by_step, "communication.json", results));

  const auto matrix = Read(cann, "communication_matrix.json", report);
  if (!matrix) return {};
  using Ops = std::vector<std::pair<std::string, const Json*>>;
  std::map<std::string, std::pair<Ops, Ops>> links;  // by step: of pairs, of collectives
  std::vector<std::string> order;
  for (const auto& [name, op] : matrix->items()) {
    const auto step = step_of.find(name);
    if (step == step_of.end() && !step_of.empty()) continue;
    const std::string key = step == step_of.end() ? "step" : step->second;
    const auto [of, is_new] = links.try_emplace(key);
    if (is_new) order.push_back(key);
    const Class its = ClassOf(name);
    if (its != Class::kNone)
      (its == Class::kPair ? of->second.first : of->second.second).emplace_back(name, &op);
  }
  Json all = Json::object();
  for (const std::string& step : order)
    all[step] = {{"p2p", MatrixOf(links[step].first)}, {"collective", MatrixOf(links[step].second)}};
  return WriteJson(all, "communication_matrix.json", results);
}

}  // namespace profd::client::framework
