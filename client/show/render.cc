#include "client/show/render.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "client/show/expected.h"
#include "client/verify/perturbations.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

const char* Code(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return "";
    case Colour::kGood:
      return "\033[32m";
    case Colour::kWarn:
      return "\033[33m";
    case Colour::kBad:
      return "\033[31m";
    case Colour::kDim:
      return "\033[2m";
    case Colour::kBold:
      return "\033[1m";
  }
  return "";
}

std::string Paint(const std::string& text, Colour colour, bool coloured) {
  return coloured && colour != Colour::kNone && !text.empty() ? Code(colour) + text + "\033[0m" : text;
}

Colour ColourOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_STARTED:
      return Colour::kGood;
    case v1::VERDICT_PENDING:
      return Colour::kWarn;
    case v1::VERDICT_FAILED:
      return Colour::kBad;
    default:
      return Colour::kDim;
  }
}

Colour ColourOf(const v1::SessionInfo& info) {
  if (info.state() == v1::SESSION_STATE_FAILED) return Colour::kBad;
  if (info.lost() > 0 || info.degraded_size() > 0) return Colour::kWarn;
  return info.state() == v1::SESSION_STATE_SEALED ? Colour::kNone : Colour::kGood;
}

std::string Rate(uint64_t bytes, uint64_t elapsed_ns) {
  if (elapsed_ns == 0) return "-";
  return FormatBytes(static_cast<double>(bytes) * 1e9 / static_cast<double>(elapsed_ns)) + "/s";
}

template <typename List>
std::string Join(const List& items) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    if constexpr (std::is_convertible_v<decltype(item), std::string>) {
      text += OneLine(item);
    } else {
      text += std::to_string(item);
    }
  }
  return text;
}

std::string StateText(const v1::SessionInfo& info) {
  const bool paused = info.state() == v1::SESSION_STATE_RUNNING && !info.paused().empty();
  std::string text = paused ? "paused" : StateName(info.state());
  if (info.end_reason() != v1::END_REASON_UNSPECIFIED && info.state() != v1::SESSION_STATE_FAILED) {
    text += std::string(" (") + EndReasonName(info.end_reason()) + ")";
  }
  if (info.pinned()) text += " pinned";
  return text;
}

void AddOffers(const google::protobuf::RepeatedPtrField<v1::KindOffer>& offers,
               const google::protobuf::RepeatedPtrField<v1::KindHolder>& holders, Table* table) {
  for (const v1::KindOffer& offer : offers) {
    std::string rates;
    if (offer.max_hz() > 0) {
      rates = FormatHz(offer.min_hz()) + " … " + FormatHz(offer.max_hz()) + ", default " +
              FormatHz(offer.default_hz());
    }
    std::vector<std::string> held_by;
    for (const v1::KindHolder& holder : holders) {
      if (holder.kind() == offer.kind()) held_by.push_back(holder.holder());
    }
    table->Add({OneLine(offer.kind()),
                rates,
                Join(offer.modes()),
                {offer.available() ? "yes" : "no", offer.available() ? Colour::kGood : Colour::kDim},
                Join(held_by),
                OneLine(offer.reason())});
  }
}

Table OfferTable() { return Table({"KIND", "RATE", "MODES", "HERE", "HELD BY", "REASON"}); }

// "on disk 198.0 MB of 200.0 MB  the last 2.4 s  aged 512.0 MB"
std::string StorageLine(const v1::SessionInfo& info) {
  std::string text = "on disk " + FormatBytes(static_cast<double>(info.used_bytes()));
  if (info.storage_limit_bytes() > 0) {
    text += " of " + FormatBytes(static_cast<double>(info.storage_limit_bytes()));
  }
  if (info.window_ns() > 0) text += "  the last " + FormatDuration(info.window_ns());
  return text + "  aged " + FormatBytes(static_cast<double>(info.aged_bytes()));
}

bool SkippedAlike(const v1::KindState& a, const v1::KindState& b) {
  return b.verdict() == v1::VERDICT_SKIPPED && a.unit() == b.unit() && a.reason() == b.reason();
}

}  // namespace

Table::Table(const std::vector<std::string>& columns) {
  std::vector<Cell> headings;
  for (const std::string& column : columns) {
    const bool right = column.starts_with('>');
    right_.push_back(right);
    headings.emplace_back(right ? column.substr(1) : column, Colour::kBold);
  }
  rows_.push_back(std::move(headings));
}

void Table::Add(std::vector<Cell> row) {
  PROFD_CHECK(row.size() == right_.size());
  rows_.push_back(std::move(row));
}

std::string Table::Text(bool coloured) const {
  std::vector<size_t> widths(right_.size(), 0);
  for (size_t row = 1; row < rows_.size(); ++row) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], Width(rows_[row][i].text));
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], Width(rows_.front()[i].text));
  }
  std::string text;
  for (const std::vector<Cell>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string padding(widths[i] - Width(row[i].text), ' ');
      if (!line.empty()) line += "  ";
      if (right_[i]) line += padding;
      line += Paint(row[i].text, row[i].colour, coloured);
      if (!right_[i]) line += padding;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

bool ColouredOutput() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

const char* StateName(v1::SessionState state) {
  switch (state) {
    case v1::SESSION_STATE_PENDING:
      return "pending";
    case v1::SESSION_STATE_ARMED:
      return "armed";
    case v1::SESSION_STATE_RUNNING:
      return "running";
    case v1::SESSION_STATE_STOPPING:
      return "stopping";
    case v1::SESSION_STATE_SEALED:
      return "sealed";
    case v1::SESSION_STATE_FAILED:
      return "failed";
    default:
      return "unknown";
  }
}

const char* EndReasonName(v1::EndReason reason) {
  switch (reason) {
    case v1::END_REASON_UNSPECIFIED:
      return "";
    case v1::END_REASON_STOPPED:
      return "stopped";
    case v1::END_REASON_DURATION:
      return "duration";
    case v1::END_REASON_TARGET_EXIT:
      return "target_exit";
    case v1::END_REASON_DAEMON_STOP:
      return "daemon_stop";
    case v1::END_REASON_FAILED:
      return "failed";
    case v1::END_REASON_INTERRUPTED:
      return "interrupted";
    case v1::END_REASON_LEASE:
      return "lease";
    case v1::END_REASON_STEPS:
      return "steps";
    case v1::END_REASON_DISK:
      return "disk";
    default:
      return "unknown";
  }
}

const char* VerdictName(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_STARTED:
      return "started";
    case v1::VERDICT_PENDING:
      return "pending";
    case v1::VERDICT_SKIPPED:
      return "skipped";
    case v1::VERDICT_FAILED:
      return "failed";
    default:
      return "unknown";
  }
}

const char* OutcomeName(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_OK:
      return "ok";
    case v1::OUTCOME_WARN:
      return "warn";
    case v1::OUTCOME_BROKEN:
      return "broken";
    default:
      return "unknown";
  }
}

std::string HealthName(const v1::Device& device) {
  switch (device.status()) {
    case 1:
      return "working";
    case 4:
      return "communication lost";
    default:
      return "status " + std::to_string(device.status());
  }
}

std::string RenderSession(const v1::SessionInfo& info, bool with_data, bool coloured) {
  std::string text = "session " + Paint(OneLine(info.session()), Colour::kBold, coloured) + "  " +
                     Paint(StateText(info), ColourOf(info), coloured);
  if (!info.name().empty()) text += "  \"" + OneLine(info.name()) + "\"";
  if (with_data) {
    text += "  " + FormatDuration(info.elapsed_ns()) + " of " + FormatDuration(info.duration_ns()) + "  " +
            FormatBytes(static_cast<double>(info.bytes())) + "  lost " + std::to_string(info.lost());
  }
  text += "\n";
  if (with_data && (info.storage_limit_bytes() > 0 || info.aged_bytes() > 0))
    text += StorageLine(info) + "\n";
  if (with_data && info.held_bytes() > 0) {
    text += "in memory " + FormatBytes(static_cast<double>(info.held_bytes())) + ", the last " +
            FormatDuration(info.held_ns()) + "\n";
  }
  if (!info.error().empty()) text += Paint("failed: " + OneLine(info.error()), Colour::kBad, coloured) + "\n";
  if (!info.paused().empty()) {
    text += Paint("paused: " + OneLine(info.paused()), Colour::kBad, coloured) + "\n";
  }
  for (const std::string& warning : info.warnings()) {
    text += Paint("warning: " + OneLine(warning), Colour::kWarn, coloured) + "\n";
  }
  for (const std::string& reason : info.degraded()) {
    text += Paint("degraded: " + OneLine(reason), Colour::kWarn, coloured) + "\n";
  }
  if (with_data) text += RenderPauses(info.pauses());
  text += RenderPerturbations(info.perturbations());
  std::vector<std::string> columns{"KIND", "UNIT", ">ASKED", ">EFFECTIVE", "VERDICT"};
  if (with_data) columns.insert(columns.end(), {">BYTES", ">RATE", ">RECORDS", ">LOST"});
  columns.emplace_back("REASON");
  Table table(columns);
  std::vector<bool> shown(static_cast<size_t>(info.kinds_size()));
  for (int i = 0; i < info.kinds_size(); ++i) {
    if (shown[static_cast<size_t>(i)]) continue;
    const v1::KindState& kind = info.kinds(i);
    // Those of one unit that are skipped for one reason share a line.
    int others = 0;
    for (int k = i + 1; k < info.kinds_size() && kind.verdict() == v1::VERDICT_SKIPPED; ++k) {
      if (!SkippedAlike(kind, info.kinds(k))) continue;
      ++others;
      shown[static_cast<size_t>(k)] = true;
    }
    std::vector<Table::Cell> row{
        OneLine(kind.kind()) + (others > 0 ? " and " + std::to_string(others) + " more" : ""),
        OneLine(kind.unit()),
        FormatHz(kind.requested_hz()),
        FormatHz(kind.effective_hz()),
        {VerdictName(kind.verdict()), ColourOf(kind.verdict())}};
    if (with_data) {
      row.emplace_back(FormatBytes(static_cast<double>(kind.bytes())));
      row.emplace_back(Rate(kind.bytes(), info.elapsed_ns()));
      row.emplace_back(std::to_string(kind.records()));
      row.emplace_back(std::to_string(kind.lost()), kind.lost() > 0 ? Colour::kBad : Colour::kNone);
    }
    row.emplace_back(OneLine(kind.reason()));
    table.Add(std::move(row));
  }
  if (info.kinds_size() > 0) text += table.Text(coloured);
  if (!with_data) text += ExpectedLine(info);
  if (!info.directory().empty()) text += "directory " + OneLine(info.directory()) + "\n";
  return text;
}

std::string RenderProgress(const v1::SessionInfo& info) {
  return OneLine(info.session()) + "  " + StateText(info) + "  " + FormatDuration(info.elapsed_ns()) +
         " of " + FormatDuration(info.duration_ns()) + "  " + FormatBytes(static_cast<double>(info.bytes())) +
         "  " + Rate(info.bytes(), info.elapsed_ns()) + "  lost " + std::to_string(info.lost());
}

std::string RenderList(const std::vector<v1::SessionInfo>& sessions, bool coloured) {
  if (sessions.empty()) return "no sessions\n";
  Table table({"SESSION", "STATE", "USER", "STARTED", ">ELAPSED", ">SIZE", ">LOST", "NAME", "DIRECTORY"});
  for (const v1::SessionInfo& info : sessions) {
    table.Add({OneLine(info.session()),
               {StateText(info), ColourOf(info)},
               OneLine(info.user()),
               FormatWallTime(info.start_wall_ns()),
               FormatDuration(info.elapsed_ns()),
               FormatBytes(static_cast<double>(info.used_bytes())),
               {std::to_string(info.lost()), info.lost() > 0 ? Colour::kBad : Colour::kNone},
               OneLine(info.name()),
               OneLine(info.directory())});
  }
  return table.Text(coloured);
}

namespace {

// How each device reaches the others, and where it is in the host.
std::string RenderLinks(const v1::DevicesReply& reply, bool coloured) {
  std::vector<std::string> heads{"LINKS"};
  bool any = false;
  for (const v1::Device& device : reply.devices()) {
    heads.push_back(std::to_string(device.device()));
    any = any || device.links_size() > 0 || !device.pci_address().empty();
  }
  if (!any) return "";
  for (const char* head : {"PCI", ">NUMA", "CPUS"}) heads.emplace_back(head);
  Table table(heads);
  for (const v1::Device& device : reply.devices()) {
    std::vector<Table::Cell> row{"device " + std::to_string(device.device())};
    for (const v1::Device& other : reply.devices()) {
      std::string kind = device.device() == other.device() ? "X" : "-";
      for (const v1::DeviceLink& link : device.links()) {
        if (link.device() == other.device()) kind = OneLine(link.kind());
      }
      row.emplace_back(kind);
    }
    row.emplace_back(OneLine(device.pci_address()));
    row.emplace_back(device.has_numa_node() ? std::to_string(device.numa_node()) : "");
    row.emplace_back(OneLine(device.cpus()));
    table.Add(std::move(row));
  }
  return "\n" + table.Text(coloured);
}

}  // namespace

std::string RenderDevices(const v1::DevicesReply& reply, bool coloured) {
  std::string text;
  if (reply.driver_path().empty()) {
    text += Paint("no driver library: " + OneLine(reply.driver_error()), Colour::kWarn, coloured) + "\n";
  } else {
    char version[16];
    std::snprintf(version, sizeof(version), "0x%06x", reply.driver_api_version());
    text += "driver " + OneLine(reply.driver_path()) + ", API version " + version + "\n";
    if (!reply.driver_error().empty()) {
      text += Paint("driver: " + OneLine(reply.driver_error()), Colour::kWarn, coloured) + "\n";
    }
  }
  for (const v1::Device& device : reply.devices()) {
    const std::string health = HealthName(device);
    text += "\n" + Paint("device " + std::to_string(device.device()), Colour::kBold, coloured) + "  " +
            OneLine(device.chip()) + "  " +
            Paint(health, device.status() == 1 ? Colour::kGood : Colour::kBad, coloured) + "  " +
            std::to_string(device.ai_cores()) + " AI cores" + (device.virtual_npu() ? "  virtual NPU" : "") +
            "\n";
    if (!device.error().empty()) text += Paint(OneLine(device.error()), Colour::kWarn, coloured) + "\n";
    Table table = OfferTable();
    AddOffers(device.kinds(), device.holders(), &table);
    if (device.kinds_size() > 0) text += table.Text(coloured);
  }
  if (reply.devices_size() == 0) text += "no devices\n";
  text += RenderLinks(reply, coloured);
  text += "\n" + Paint("host", Colour::kBold, coloured) + "\n";
  Table table = OfferTable();
  AddOffers(reply.host_kinds(), {}, &table);
  return text + table.Text(coloured);
}

std::string RenderLeases(const std::vector<v1::Lease>& leases, bool coloured) {
  if (leases.empty()) return "no leases\n";
  Table table({"LEASE", "USER", "DEVICES", "SINCE", "UNTIL", "GIVEN BY"});
  for (const v1::Lease& lease : leases) {
    table.Add({OneLine(lease.lease()), OneLine(lease.user()), Join(lease.devices()),
               FormatWallTime(lease.since_wall_ns()), FormatWallTime(lease.until_wall_ns()),
               OneLine(lease.given_by())});
  }
  return table.Text(coloured);
}

std::string RenderChecks(const std::vector<v1::Check>& checks, bool coloured) {
  size_t width = 0;
  for (const v1::Check& check : checks) width = std::max(width, Width(OneLine(check.name())));
  std::string text;
  for (const v1::Check& check : checks) {
    const std::string name = OneLine(check.name());
    const Colour colour = check.outcome() == v1::OUTCOME_OK     ? Colour::kGood
                          : check.outcome() == v1::OUTCOME_WARN ? Colour::kWarn
                                                                : Colour::kBad;
    std::string outcome = OutcomeName(check.outcome());
    outcome.resize(std::max<size_t>(outcome.size(), 6), ' ');
    text += Paint(outcome, colour, coloured) + "  " + name + std::string(width - Width(name), ' ') + "  " +
            OneLine(check.detail()) + "\n";
    if (!check.remedy().empty())
      text += std::string(8 + width + 2, ' ') + "→ " + OneLine(check.remedy()) + "\n";
  }
  return text;
}

}  // namespace profd::client
