#include "client/show/expected.h"

#include <algorithm>
#include <map>

#include "client/show/kinds/kind_lines.h"
#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr double kMuch = 10e6;  // bytes per second of a kind, of which one is told
constexpr double kHour = 3600;
constexpr uint64_t kDayNs = 86'400'000'000'000;

bool IsCollected(const v1::KindState& kind) {
  return kind.verdict() == v1::VERDICT_STARTED || kind.verdict() == v1::VERDICT_PENDING;
}

// Its rate is not that of its records, or there is none.
bool IsUnknown(const v1::KindState& kind) { return kind.bytes_per_s() == 0 && kind.record_bytes() > 0; }

std::string PerSecond(double bytes) { return FormatBytes(bytes) + "/s"; }

}  // namespace

double ExpectedBytesPerS(const v1::SessionInfo& info) {
  double sum = 0;
  for (const v1::KindState& kind : info.kinds()) sum += IsCollected(kind) ? kind.bytes_per_s() : 0;
  return sum;
}

std::string ExpectedLine(const v1::SessionInfo& info) {
  const double rate = ExpectedBytesPerS(info);
  std::vector<std::string> unknown;
  for (const v1::KindState& kind : info.kinds()) {
    if (IsCollected(kind) && IsUnknown(kind) && std::ranges::find(unknown, kind.kind()) == unknown.end())
      unknown.push_back(kind.kind());
  }
  if (rate == 0 && unknown.empty()) return "";
  std::string text = "expected ";
  if (rate > 0) {
    text += PerSecond(rate) + ", " + FormatBytes(rate * kHour) + " an hour";
    if (info.duration_ns() > 0 && info.duration_ns() < kDayNs) {
      text += ", " + FormatBytes(rate * static_cast<double>(info.duration_ns()) / 1e9) + " in " +
              FormatDuration(info.duration_ns());
    }
    if (info.storage_limit_bytes() > 0) {
      const auto limit = static_cast<double>(info.storage_limit_bytes());
      text += "; the storage limit of " + FormatBytes(limit) + " holds the last " +
              FormatDuration(static_cast<uint64_t>(std::min(limit / rate * 1e9, 1e18)));
    }
  }
  if (!unknown.empty()) {
    text += (rate > 0 ? "; and as" : "as") + std::string(" much as the job makes of ");
    for (size_t i = 0; i < unknown.size(); ++i) text += (i > 0 ? ", " : "") + OneLine(unknown[i]);
  }
  return text + "\n";
}

std::string RenderPlan(const v1::SessionInfo& info, const Look& look) {
  Reasons skipped;
  std::vector<const v1::KindState*> shown;
  for (const v1::KindState& kind : info.kinds()) {
    if (!look.all && kind.verdict() == v1::VERDICT_SKIPPED) {
      skipped.Add(OneLine(kind.kind()), OneLine(kind.unit()), OneLine(kind.reason()));
    } else {
      shown.push_back(&kind);
    }
  }
  Table table({"KIND", "UNIT", "?>ASKED", ">EFFECTIVE", "VERDICT", ">EXPECTED", "~REASON"});
  for (const KindLine& line : KindLines(shown, !look.all)) {
    const v1::KindState& kind = line.sum;
    std::string expected;
    if (IsCollected(kind) && kind.bytes_per_s() > 0) expected = PerSecond(kind.bytes_per_s());
    if (IsCollected(kind) && IsUnknown(kind))
      expected = FormatBytes(kind.record_bytes() * 1e6) + " per million";
    table.Add({OneLine(kind.kind()), OneLine(UnitsText(line.units)), FormatHz(kind.requested_hz()),
               FormatHz(kind.effective_hz()), std::string(VerdictName(kind.verdict())), expected,
               OneLine(kind.reason())});
  }
  std::string sum = ExpectedLine(info);
  if (!sum.empty()) {
    sum.pop_back();
    sum = Wrapped(sum, look.columns) + "\n";
  }
  return sum + (shown.empty() ? "" : table.Text(look)) + skipped.Text("skipped", look, "--json") +
         "nothing was started (--dry-run)\n";
}

std::vector<std::string> CostWarnings(const v1::SessionInfo& info) {
  struct Cost {
    double expected = 0;
    double most = 0;  // of records that come faster than anybody can know
  };
  std::map<std::string, Cost> costs;
  for (const v1::KindState& kind : info.kinds()) {
    if (!IsCollected(kind)) continue;
    Cost& cost = costs[kind.kind()];
    cost.expected += kind.bytes_per_s();
    if (IsUnknown(kind)) cost.most += kind.effective_hz() * kind.record_bytes();
  }
  std::vector<std::string> lines;
  for (const auto& [kind, cost] : costs) {
    if (std::max(cost.expected, cost.most) <= kMuch) continue;
    lines.push_back(OneLine(kind) +
                    (cost.expected > kMuch ? " makes some " + PerSecond(cost.expected)
                                           : " can make " + PerSecond(cost.most) + " and more") +
                    ": ask for a lower rate, fewer devices or processes, a short --duration, or give "
                    "--storage-limit");
  }
  return lines;
}

}  // namespace profd::client
