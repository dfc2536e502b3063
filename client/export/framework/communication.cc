#include "client/export/framework/communication.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "client/export/framework/input/trace_file.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::Status;
using Json = nlohmann::ordered_json;

constexpr char kTimes[] = "Communication Time Info", kBandwidths[] = "Communication Bandwidth Info",
               kTotal[] = "Total Op Info", kTransit[] = "Transit Time(ms)", kSize[] = "Transit Size(MB)",
               kWait[] = "Wait Time(ms)", kSynchronization[] = "Synchronization Time(ms)",
               kBandwidth[] = "Bandwidth(GB/s)", kTransport[] = "Transport Type",
               kSizes[] = "Size Distribution";

const Json& In(const Json& object, const char* key) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}
double NumberOf(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

// Sums of whole numbers stay whole.
void AddTo(Json& sum, const Json& value) {
  if (!value.is_number()) return;
  if (sum.is_number_integer() && value.is_number_integer() &&
      std::fabs(NumberOf(sum) + NumberOf(value)) < 1e15) {
    sum = sum.get<int64_t>() + value.get<int64_t>();
  } else {
    sum = NumberOf(sum) + NumberOf(value);
  }
}

// Rounded to four digits; of nothing 0.
Json Ratio(double part, double whole) {
  if (std::fabs(whole) < 1e-15) return 0;
  return Rounded(part / whole, 4);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return lower;
}

enum class Class : uint8_t { kPair, kCollective, kNone };
Class ClassOf(const std::string& name) {
  const std::string lower = Lower(name);
  for (const char* const of_pair : {"hcom_send", "hcom_receive", "hcom_batchsendrecv"}) {
    if (lower.starts_with(of_pair)) return Class::kPair;
  }
  return lower.starts_with("total") ? Class::kNone : Class::kCollective;
}

// The word that comes first in a name; of several that begin there the first one here.
std::string TypeOf(const std::string& name) {
  static constexpr std::array<std::string_view, 10> kWords = {
      "send",    "reduce",    "invalid", "broadcast", "allreduce",
      "receive", "allgather", "scatter", "alltoall",  "batchsendrecv"};
  const std::string lower = Lower(name);
  size_t first = std::string::npos;
  std::string_view type;
  for (const std::string_view word : kWords) {
    const size_t at = lower.find(word);
    if (at < first) {
      first = at;
      type = word;
    }
  }
  return type.empty() ? name.substr(0, name.find("__")) : std::string(type);
}

// Of all operations of a class.
Json TotalOf(const Json& ops) {
  Json times = Json::object(), bandwidths = Json::object();
  for (const auto& [name, op] : ops.items()) {
    const Json &of_time = In(op, kTimes), &of_bandwidth = In(op, kBandwidths);
    for (const auto& [key, value] : of_time.items()) {
      if (key != "Wait Time Ratio" && key != "Synchronization Time Ratio" && key != "Start Timestamp(us)" &&
          value.is_number())
        times[key] = NumberOf(times.contains(key) ? times[key] : Json(0.0)) + NumberOf(value);
    }
    for (const auto& [transport, parts] : of_bandwidth.items()) {
      if (!parts.is_object()) continue;
      Json& sum = bandwidths[transport];
      if (sum.is_null()) sum = {{kTransit, 0}, {kSize, 0}, {kSizes, Json::object()}};
      AddTo(sum[kTransit], In(parts, kTransit));
      AddTo(sum[kSize], In(parts, kSize));
      for (const auto& [size, packets] : In(parts, kSizes).items()) {
        if (!packets.is_array() || packets.size() < 2) continue;
        Json& all = sum[kSizes][size];
        if (all.is_null()) all = {0, 0};
        AddTo(all[0], packets[0]);
        AddTo(all[1], packets[1]);
      }
    }
  }
  const double wait = NumberOf(In(times, kWait)), synchronization = NumberOf(In(times, kSynchronization)),
               transit = NumberOf(In(times, kTransit));
  times["Wait Time Ratio"] = Ratio(wait, wait + transit);
  times["Synchronization Time Ratio"] = Ratio(synchronization, synchronization + transit);
  return {{kTimes, std::move(times)}, {kBandwidths, std::move(bandwidths)}};
}

// What the vendor reckons, and does not write.
void AddBandwidths(Json& total) {
  for (auto& [transport, sum] : total[kBandwidths].items())
    sum[kBandwidth] = Ratio(NumberOf(In(sum, kSize)), NumberOf(In(sum, kTransit)));
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

// By type, group and link: the fastest operations, those in the middle, the slowest, and all of them.
Json MatrixOf(const std::vector<std::pair<std::string, const Json*>>& ops) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, size_t> known;
  std::vector<std::pair<Key, std::vector<Json>>> links;  // as they come
  for (const auto& [name, op] : ops) {
    if (!op->is_object()) continue;
    const size_t at = name.rfind('@');
    for (const auto& [link, carried] : op->items()) {
      if (!carried.is_object()) continue;
      Key key{TypeOf(name), at == std::string::npos ? name : name.substr(at + 1), link};
      const auto [place, is_new] = known.try_emplace(key, links.size());
      if (is_new) links.emplace_back(std::move(key), std::vector<Json>());
      Json copy = carried;
      copy["Op Name"] = name.substr(0, name.find('@'));
      links[place->second].second.push_back(std::move(copy));
    }
  }
  Json all = Json::object();
  for (auto& [key, carried] : links) {
    const auto& [type, group, link] = key;
    std::ranges::stable_sort(carried, std::greater(),
                             [](const Json& one) { return NumberOf(In(one, kBandwidth)); });
    const auto put = [&, &type = type, &group = group, &link = link](const char* which, const Json& one) {
      all[type + which + "@" + group][link] = one;
    };
    Json size = 0, transit = 0;
    for (const Json& one : carried) {
      AddTo(size, In(one, kSize));
      AddTo(transit, In(one, kTransit));
    }
    put("-top1", carried.front());
    put("-middle", carried[carried.size() / 2]);
    put("-bottom1", carried.back());
    const Json& transport = In(carried.front(), kTransport);
    put("-total", {{kTransport, transport.is_null() ? Json("") : transport},
                   {kSize, size},
                   {kTransit, transit},
                   {kBandwidth, Ratio(NumberOf(size), NumberOf(transit))}});
    if (carried.size() >= 2) put("-bottom2", carried[carried.size() - 2]);
    if (carried.size() >= 3) put("-bottom3", carried[carried.size() - 3]);
  }
  return all;
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
const Step* StepOf(const Json& op, const std::vector<Step>& steps) {
  if (steps.size() == 1) return &steps.front();
  const Json& start = In(In(op, kTimes), "Start Timestamp(us)");
  std::optional<int64_t> ns;
  if (start.is_number()) ns = static_cast<int64_t>(std::llround(start.get<double>() * 1000));
  if (start.is_string()) ns = NsOfMicroseconds(start.get_ref<const std::string&>());
  if (!ns) return nullptr;
  const auto holds = [ns](const Step& step) { return step.device_begin <= *ns && *ns <= step.device_end; };
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
    const Step* const step = steps.empty() ? nullptr : StepOf(op, steps);
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
