// What jobs took, as `profctl jobs` prints it.
#include <algorithm>
#include <cmath>

#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr char kPower[] = "profd_device_power_watts", kAiCore[] = "profd_device_aicore_utilization_ratio",
               kMemory[] = "profd_device_hbm_bytes", kHeat[] = "profd_device_temperature_celsius",
               kEcc[] = "profd_device_ecc_errors_total", kSteps[] = "profd_process_steps_total";

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

// A cell that is empty where nothing is known.
template <typename Text>
Table::Cell Cell(const std::vector<double>& of, double value, Text text) {
  return of.empty() ? Table::Cell(std::string()) : Table::Cell(text(value), value);
}

}  // namespace

std::vector<std::string_view> JobTableMetrics() { return {kPower, kAiCore, kMemory, kHeat, kEcc, kSteps}; }

uint64_t LastedNs(const v1::Job& job, uint64_t now_wall_ns) {
  const uint64_t end_ns = job.end_wall_ns() != 0 ? job.end_wall_ns() : now_wall_ns;
  return end_ns - std::min(end_ns, job.begin_wall_ns());
}

Table JobTable(const v1::JobsReply& reply, uint64_t now_wall_ns) {
  Table table({">PID", "USER", "NAME", "?LABELS", "DEVICES", "?BEGAN", ">LASTED", "STATE", ">ENERGY",
               ">POWER", "?>MOST POWER", ">AI CORE", ">MEMORY", "?>HOTTEST", "?>ECC", ">STEPS"});
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
         LabelsText(job.labels()),
         RangesText({job.devices().begin(), job.devices().end()}),
         FormatWallTime(job.begin_wall_ns()),
         {FormatDuration(LastedNs(job, now_wall_ns)), static_cast<double>(LastedNs(job, now_wall_ns))},
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

std::string RenderJobValues(const v1::Job& job, const Look& look) {
  Table table({"KIND", "NAME", "~LABELS", ">MEAN", ">LEAST", ">MOST", ">SUM"});
  for (const v1::JobValue& value : job.values()) {
    const bool is_ratio = value.metric().ends_with("_ratio");
    const auto text = [&](double number) { return FormatValue(number, value.unit(), is_ratio); };
    // A sum over time has a meaning for what flows.
    const std::string sum = value.counter()          ? text(value.sum())
                            : value.unit() == "W"    ? EnergyText(value.sum())
                            : value.unit() == "By/s" ? FormatBytes(value.sum())
                                                     : "";
    table.Add({value.kind(), value.metric(), LabelsText(value.labels()),
               value.counter() ? "" : text(value.mean()), value.counter() ? "" : text(value.least()),
               value.counter() ? "" : text(value.most()), sum});
  }
  return table.Text(look);
}

}  // namespace profd::client
