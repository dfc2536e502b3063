#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/calendar.h"
#include "base/clock.h"
#include "client/node/connection.h"
#include "client/show/render.h"
#include "client/verbs/shown.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Status;
using Json = nlohmann::ordered_json;

struct Options {
  Shown shown;
  uint64_t pid = 0;
  std::vector<std::string> labels;
  bool values = false;
};

// What the table has a column for.
constexpr char kPower[] = "profd_device_power_watts", kAiCore[] = "profd_device_aicore_utilization_ratio",
               kMemory[] = "profd_device_hbm_bytes", kHeat[] = "profd_device_temperature_celsius",
               kEcc[] = "profd_device_ecc_errors_total", kSteps[] = "profd_process_steps_total";

base::Result<v1::JobsRequest> RequestOf(const Options& options, bool json) {
  v1::JobsRequest request;
  request.set_pid(static_cast<int32_t>(options.pid));
  for (const std::string& label : options.labels) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Status(Code::kInvalidArgument, "--label " + OneLine(label) + ": NAME=VALUE is expected");
    (*request.mutable_labels())[label.substr(0, equals)] = label.substr(equals + 1);
  }
  if (json || options.values) return request;
  for (const char* const metric : {kPower, kAiCore, kMemory, kHeat, kEcc, kSteps})
    request.add_metrics(metric);
  return request;
}

std::string LabelOf(const v1::JobValue& value, std::string_view name) {
  const auto found = std::ranges::find(value.labels(), name, &v1::LiveLabel::name);
  return found == value.labels().end() ? "" : found->value();
}

// Of the values of one metric, by device where it has several: those of `part` where one is named.
template <typename Number>
std::vector<double> Of(const v1::Job& job, std::string_view metric, Number number,
                       std::string_view part = "") {
  std::vector<double> numbers;
  for (const v1::JobValue& value : job.values()) {
    if (value.metric() == metric && (part.empty() || LabelOf(value, "part") == part))
      numbers.push_back(number(value));
  }
  return numbers;
}
double Sum(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

std::string EnergyText(double joules) {
  constexpr double kWattHour = 3600;
  if (joules < kWattHour) return FormatValue(joules, "J", false);
  if (joules < 1000 * kWattHour) return FormatValue(joules / kWattHour, "Wh", false);
  return FormatValue(joules / (1000 * kWattHour), "kWh", false);
}

uint64_t LastedNs(const v1::Job& job, uint64_t now_ns) {
  const uint64_t end_ns = job.end_wall_ns() != 0 ? job.end_wall_ns() : now_ns;
  return end_ns - std::min(end_ns, job.begin_wall_ns());
}

std::string LabelsText(const v1::Job& job) {
  std::string text;
  for (const auto& [name, value] :
       std::map<std::string, std::string>(job.labels().begin(), job.labels().end()))
    text += (text.empty() ? "" : " ") + OneLine(name + "=" + value);
  return text;
}

// A cell that is empty where nothing is known.
template <typename Text>
Table::Cell Cell(const std::vector<double>& of, double value, Text text) {
  return of.empty() ? Table::Cell(std::string()) : Table::Cell(text(value), value);
}

Table JobTable(const v1::JobsReply& reply) {
  Table table({">PID", "USER", "NAME", "?LABELS", "DEVICES", "?BEGAN", ">LASTED", "STATE", ">ENERGY",
               ">POWER", "?>MOST POWER", ">AI CORE", ">MEMORY", "?>HOTTEST", "?>ECC", ">STEPS"});
  const uint64_t now_ns = base::WallNs();
  const auto mean = [](const v1::JobValue& value) { return value.mean(); };
  const auto most = [](const v1::JobValue& value) { return value.most(); };
  const auto sum = [](const v1::JobValue& value) { return value.sum(); };
  const auto as = [](const char* unit, bool is_ratio = false) {
    return [=](double value) { return FormatValue(value, unit, is_ratio); };
  };
  const auto whole = [](double value) { return FormatValue(std::round(value), "W", false); };
  for (const v1::Job& job : reply.jobs()) {
    const std::vector<double> energy = Of(job, kPower, sum), power = Of(job, kPower, mean),
                              most_power = Of(job, kPower, most), busy = Of(job, kAiCore, mean),
                              memory = Of(job, kMemory, most, "used"), heat = Of(job, kHeat, most),
                              ecc = Of(job, kEcc, sum), steps = Of(job, kSteps, sum);
    table.Add(
        {{std::to_string(job.pid()), -static_cast<double>(job.pid())},
         OneLine(job.user()),
         OneLine(job.name()),
         LabelsText(job),
         RangesText({job.devices().begin(), job.devices().end()}),
         FormatWallTime(job.begin_wall_ns()),
         {FormatDuration(LastedNs(job, now_ns)), static_cast<double>(LastedNs(job, now_ns))},
         job.end_wall_ns() == 0 ? Table::Cell("runs", Colour::kGood) : Table::Cell("ended", Colour::kDim),
         Cell(energy, Sum(energy), EnergyText),
         Cell(power, Sum(power), whole),
         Cell(most_power, Sum(most_power), whole),
         Cell(busy, busy.empty() ? 0 : Sum(busy) / static_cast<double>(busy.size()), as("1", true)),
         Cell(memory, Sum(memory), as("By")),
         Cell(heat, heat.empty() ? 0 : *std::ranges::max_element(heat), as("Cel")),
         Cell(ecc, Sum(ecc), as("1")),
         Cell(steps, Sum(steps), as("1"))});
  }
  return table;
}

std::string ValuesText(const v1::Job& job, const Look& look) {
  Table table({"KIND", "NAME", "~LABELS", ">MEAN", ">LEAST", ">MOST", ">SUM"});
  for (const v1::JobValue& value : job.values()) {
    std::string labels;
    for (const v1::LiveLabel& label : value.labels())
      labels += (labels.empty() ? "" : " ") + OneLine(label.name()) + "=" + OneLine(label.value());
    const bool is_ratio = value.metric().ends_with("_ratio");
    const auto text = [&](double number) { return FormatValue(number, value.unit(), is_ratio); };
    // A sum over time has a meaning for what flows.
    const std::string sum = value.counter()          ? text(value.sum())
                            : value.unit() == "W"    ? EnergyText(value.sum())
                            : value.unit() == "By/s" ? FormatBytes(value.sum())
                                                     : "";
    table.Add({value.kind(), value.metric(), labels, value.counter() ? "" : text(value.mean()),
               value.counter() ? "" : text(value.least()), value.counter() ? "" : text(value.most()), sum});
  }
  return table.Text(look);
}

Json JobJson(const v1::Job& job, uint64_t now_ns) {
  Json values = Json::array();
  for (const v1::JobValue& value : job.values()) {
    Json labels = Json::object();
    for (const v1::LiveLabel& label : value.labels()) labels[label.name()] = label.value();
    values.push_back({{"metric", value.metric()},
                      {"kind", value.kind()},
                      {"unit", value.unit()},
                      {"labels", std::move(labels)},
                      {"mean", value.counter() ? Json() : Json(value.mean())},
                      {"least", value.least()},
                      {"most", value.most()},
                      {"last", value.last()},
                      {"sum", value.sum()},
                      {"known_s", static_cast<double>(value.known_ns()) / 1e9}});
  }
  Json labels = Json::object();
  for (const auto& [name, value] :
       std::map<std::string, std::string>(job.labels().begin(), job.labels().end()))
    labels[name] = value;
  Json devices = Json::array();
  for (const uint32_t device : job.devices()) devices.push_back(device);
  const auto time = [](uint64_t wall_ns) {
    return wall_ns == 0 ? Json() : Json(base::UtcTextWithMs(wall_ns));
  };
  return {{"pid", job.pid()},
          {"user", job.user()},
          {"uid", job.uid()},
          {"name", job.name()},
          {"labels", std::move(labels)},
          {"devices", std::move(devices)},
          {"began_at", time(job.begin_wall_ns())},
          {"ended_at", time(job.end_wall_ns())},
          {"lasted_s", static_cast<double>(LastedNs(job, now_ns)) / 1e9},
          {"values", std::move(values)},
          {"samples_left_out", job.samples_left_out()}};
}

std::string JobsJson(const v1::JobsReply& reply) {
  Json jobs = Json::array();
  for (const v1::Job& job : reply.jobs()) jobs.push_back(JobJson(job, base::WallNs()));
  // Foreign text may be broken UTF-8: replaced, never thrown at.
  return Json{{"jobs", std::move(jobs)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Asking<ExitCode> Ask(const Context& context, const Options& options) {
  const base::Result<Look> look = LookFor(options.shown);
  if (!look.ok()) co_return context.Fail(look.status());
  const base::Result<v1::JobsRequest> request = RequestOf(options, context.json);
  if (!request.ok()) co_return context.Fail(request.status());
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  base::Result<v1::JobsReply> reply =
      co_await connection->control->Ask<v1::JobsReply>(*request, ControlClient::Patience::kQuick);
  if (!reply.ok()) co_return context.Fail(reply.status());
  if (options.pid != 0 && reply->jobs().empty()) {
    co_return context.Fail(
        {Code::kNotFound, "no account of pid " + std::to_string(options.pid) +
                              ": it has no agent, or ended too long ago, or is another user's"});
  }
  Table table = JobTable(*reply);
  const std::vector<v1::Job> all(reply->jobs().begin(), reply->jobs().end());
  const base::Result<std::vector<v1::Job>> jobs = Choose(options.shown, table, all);
  if (!jobs.ok()) co_return context.Fail(jobs.status());
  reply->mutable_jobs()->Assign(jobs->begin(), jobs->end());
  if (context.json) {
    context.Print(JobsJson(*reply));
  } else if (reply->jobs().empty()) {
    context.Print(
        "no jobs: a process with an agent (`profctl run -- COMMAND`) has an account from then on\n");
  } else {
    context.Print(table.Text(*look));
    for (const v1::Job& job : reply->jobs()) {
      if (options.values)
        context.Print("\n" + std::to_string(job.pid()) + " " + OneLine(job.name()) + "\n" +
                      ValuesText(job, *look));
    }
  }
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Number("--pid", &options->pid, "Only of this process");
  arguments.List("--label", &options->labels, "NAME=VALUE: only of processes with this label; all of several")
      .Joined();
  arguments.Flag("--values", &options->values, "Each value: mean, least, most, sum");
  DefineShown(arguments, &options->shown);
  DefineChoice(arguments, &options->shown);
  return {.ask = [options](const Context& context) { return Ask(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Jobs() {
  return {"jobs", "what jobs took of the node: energy, power, memory, heat", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
