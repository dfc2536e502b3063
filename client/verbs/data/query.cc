#include "client/verbs/data/query.h"

#include <algorithm>
#include <cmath>

#include "base/join.h"
#include "client/export/inventory.h"
#include "client/export/read/missing.h"
#include "client/export/views/db_tables.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/verify/perturbations.h"
#include "client/verify/repair.h"
#include "client/words/text.h"
#include "format/directory/simulated.h"

namespace profd::client {

namespace {

using base::Result;

std::string Joined(const std::set<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string Slowest(const InventorySteps& steps) {
  std::string text;
  for (const Iteration& iteration : steps.slowest) {
    base::AddTo(text, std::to_string(iteration.number) + " (" + FormatDuration(iteration.duration_ns) +
                          (iteration.edge.empty() ? "" : ", " + iteration.edge) + ")");
  }
  return text;
}

std::string Unit(int device) { return device < 0 ? "host" : std::to_string(device); }

// "P95 is of 56 steps, without 0 (first), 57 (unfinished)"
std::string LeftOut(const Inventory& inventory) {
  constexpr size_t kMost = 5;
  const auto steps = inventory.steps.find(-1);
  if (steps == inventory.steps.end() || steps->second.counted == 0 || steps->second.left_out.empty())
    return "";
  const auto& left_out = steps->second.left_out;
  std::string text = "P95 is of " + std::to_string(steps->second.counted) + " steps, without ";
  for (size_t i = 0; i < std::min(left_out.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(left_out[i].first) + " (" + left_out[i].second + ")";
  }
  if (left_out.size() > kMost) text += " and " + std::to_string(left_out.size() - kMost) + " more";
  return text + "\n";
}

std::string Devices(const Inventory& inventory, const Look& look) {
  Table table({"DEVICE", "CHIP", ">RANK", "MODELS", ">ITERATIONS", ">P95", "~SLOWEST"});
  std::set<int> units;
  for (const Side& side : inventory.capture.sides) {
    if (!side.is_host()) units.insert(side.facts.device);
  }
  if (inventory.steps.contains(-1)) units.insert(-1);
  for (const int unit : units) {
    const auto side = std::ranges::find_if(inventory.capture.sides,
                                           [unit](const Side& other) { return other.facts.device == unit; });
    const bool known = unit >= 0 && side != inventory.capture.sides.end();
    const auto steps = inventory.steps.find(unit);
    const auto models = inventory.models.find(unit);
    table.Add({Unit(unit), known ? std::string(format::DbChipName(side->facts.chip)) : "",
               known && side->facts.rank_id >= 0 ? std::to_string(side->facts.rank_id) : "",
               models == inventory.models.end() ? "" : Joined(models->second),
               steps == inventory.steps.end() ? "" : std::to_string(steps->second.count),
               steps == inventory.steps.end() || steps->second.counted == 0
                   ? ""
                   : FormatDuration(steps->second.p95_ns),
               steps == inventory.steps.end() ? "" : Slowest(steps->second)});
  }
  return units.empty() ? "" : table.Text(look) + Fitted(LeftOut(inventory), look.columns);
}

// "hbm"; "soc-profile (sio)" where a kind has more than one series.
std::string What(const Inventory& inventory, const InventoryItem& item) {
  const bool only = std::ranges::all_of(inventory.items, [&item](const InventoryItem& other) {
    return other.kind != item.kind || other.what == item.what;
  });
  return only ? item.kind : item.kind + " (" + item.what + ")";
}

std::string Kinds(const Inventory& inventory, const Look& look) {
  Table table({"KIND", "DEVICE", ">ROWS", ">FROM", ">SPAN", ">RATE", "?>GAPS", "?>LONGEST"});
  const uint64_t begin = inventory.capture.begin_wall_ns();
  for (const InventoryItem& item : inventory.items) {
    const Moments& moments = item.moments;
    const uint64_t from = moments.first_ns() - std::min(begin, moments.first_ns());
    const bool gaps = item.sampled && moments.gaps() > 0;
    table.Add({What(inventory, item),
               Unit(item.device),
               std::to_string(item.rows),
               "+" + FormatDuration(from),
               FormatDuration(moments.last_ns() - moments.first_ns()),
               item.sampled ? FormatHz(std::round(moments.rate_hz() * 10) / 10) : "-",
               {gaps ? std::to_string(moments.gaps()) : "", gaps ? Colour::kWarn : Colour::kNone},
               gaps ? FormatDuration(moments.longest_gap_ns()) : ""});
  }
  return inventory.items.empty() ? "" : table.Text(look);
}

// What is to be said of many places is said once.
void PrintUnreadable(const Context& context, const Report& report) {
  std::vector<std::pair<std::string, size_t>> lines;
  for (const Skipped& skipped : report.skipped()) {
    const std::string line = OneLine(
        skipped.stream.empty() ? skipped.why : "not readable: " + skipped.stream + ": " + skipped.why);
    const auto said = std::ranges::find(lines, line, &std::pair<std::string, size_t>::first);
    if (said == lines.end()) {
      lines.emplace_back(line, 1);
    } else {
      ++said->second;
    }
  }
  for (const auto& [line, places] : lines)
    context.Print(line + (places > 1 ? " (" + std::to_string(places) + " places)" : "") + "\n");
  if (report.more_skipped() > 0)
    context.Print("not readable: " + std::to_string(report.more_skipped()) + " more places\n");
}

// "driver 24.1.rc3, firmware 7.5.0.1.129, CANN 8.5.0"
std::string Versions(const format::Manifest& manifest) {
  std::string text;
  for (const auto& [key, name] : {std::pair{"version_driver", "driver "},
                                  {"version_firmware", "firmware "},
                                  {"version_cann", "CANN "}}) {
    const auto found = manifest.settings.find(key);
    if (found != manifest.settings.end()) base::AddTo(text, name + found->second);
  }
  if (!text.empty()) text = OneLine(text) + "\n";
  if (const auto why = manifest.settings.find(format::kSimulatedDevices); why != manifest.settings.end())
    text += OneLine("the devices are simulated (" + why->second + ")") + "\n";
  if (const auto note = manifest.settings.find("versions_note"); note != manifest.settings.end())
    text += OneLine("warning: " + note->second) + "\n";
  for (const std::string& reason : manifest.degraded) text += OneLine("degraded: " + reason) + "\n";
  for (const std::string& line : SilentKinds(manifest)) text += OneLine(line) + "\n";
  return text;
}

void PrintInventory(const Context& context, const Inventory& inventory) {
  const Capture& capture = inventory.capture;
  const format::SideFacts& facts = capture.sides.front().facts;
  std::string line = capture.name + ": ";
  if (capture.manifest) line += "session " + capture.manifest->session + ", ";
  if (!facts.job_id.empty()) line += "job " + facts.job_id + ", ";
  line += "host " + (facts.hostname.empty() ? "-" : facts.hostname) + ", ";
  if (facts.pid > 0) line += "process " + std::to_string(facts.pid) + " " + facts.pid_name + ", ";
  if (capture.manifest && capture.manifest->pids.size() > 1) {
    line += "and " + std::to_string(capture.manifest->pids.size() - 1) + " more, ";
  }
  line += "from " + FormatWallTime(capture.begin_wall_ns());
  if (capture.end_wall_ns() > capture.begin_wall_ns()) {
    line += " for " + FormatDuration(capture.end_wall_ns() - capture.begin_wall_ns());
  } else {
    line += ", no end known";
  }
  const Look look = OwnLook();
  line = OneLine(line + ", " + FormatBytes(static_cast<double>(capture.bytes())));
  context.Print(Wrapped(line, look.columns) + "\n");
  if (capture.manifest) context.Print(Versions(*capture.manifest));
  if (capture.manifest && capture.manifest->state != "sealed")
    context.Print("not sealed: " + WhyUnsealed(capture.path) + "\n");
  for (const std::string& table : {Devices(inventory, look), Kinds(inventory, look)}) {
    if (!table.empty()) context.Print("\n" + table);
  }
  if (capture.manifest) {
    context.Print(Fitted(
        RenderPauses(PausesOf(*capture.manifest)) + RenderPerturbations(PerturbationsOf(*capture.manifest)),
        look.columns));
  }
  PrintUnreadable(context, inventory.report);
}

Action Define(cli::Arguments arguments) {
  const auto directories = std::make_shared<std::vector<std::string>>();
  arguments.List("DIR", directories.get(), "PROF directories, folders that hold some, or sessions")
      .Required();
  return {.run = [directories](const Context& context) { return RunQuery(context, *directories); }};
}

}  // namespace

ExitCode RunQuery(const Context& context, const std::vector<std::string>& directories) {
  auto worst = ExitCode::kOk;
  std::vector<Inventory> inventories;
  Progress progress;
  for (const std::string& directory : directories) {
    const auto found = FindSides(context, directory);
    if (!found.ok()) {
      worst = context.Fail(found.status());
      continue;
    }
    for (const Found& part : *found) {
      Result<Inventory> inventory = TakeInventory(part.directory, part.side, progress);
      if (!inventory.ok()) {
        worst = context.Fail(inventory.status());
        continue;
      }
      if (!inventory->report.complete() && worst == ExitCode::kOk) worst = ExitCode::kPartialLoss;
      if (!context.json) PrintInventory(context, *inventory);
      inventories.push_back(std::move(inventory).value());
    }
  }
  if (context.json) context.Print(InventoryJson(inventories));
  return worst;
}

namespace verbs {
Verb Query() {
  return {"query", "what is in PROF directories: job, devices, models, kinds, gaps", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
