#include "client/hardware/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using Json = nlohmann::ordered_json;

std::string Versions(const v1::DevicesReply& node) {
  char api[32];
  std::snprintf(api, sizeof api, "API 0x%06x", node.driver_api_version());
  std::string text = OneLine(node.driver_path()) + ", " + api;
  for (const char* what : {"driver", "firmware", "cann"}) {
    const auto found = node.versions().find(what);
    if (found != node.versions().end()) text += std::string(", ") + what + " " + OneLine(found->second);
  }
  if (node.versions().empty()) text += ", no version.info of the vendor's packages";
  return text;
}

std::string Number(double value, const char* form) {
  char text[48];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

Colour ColourOf(HardwareVerdict verdict) {
  switch (verdict) {
    case HardwareVerdict::kOk:
      return Colour::kGood;
    case HardwareVerdict::kSilent:
    case HardwareVerdict::kWaits:
      return Colour::kWarn;
    default:
      return Colour::kBad;
  }
}

// Of all of a kind's channels.
struct Sums {
  uint64_t bytes = 0, records = 0, odd = 0, start_ns = 0, stop_ns = 0;
  bool counted = true;
  double seen_hz = 0;
  std::vector<uint32_t> channels;
};

Sums SumsOf(const KindReport& kind) {
  Sums sums;
  for (const ChannelReport& channel : kind.channels) {
    sums.bytes += channel.bytes;
    sums.records += channel.records.value_or(0);
    sums.counted = sums.counted && channel.records.has_value();
    sums.odd += channel.odd.size() + channel.more_odd;
    sums.start_ns = std::max(sums.start_ns, channel.start_ns);
    sums.stop_ns = std::max(sums.stop_ns, channel.stop_ns);
    sums.seen_hz = std::max(sums.seen_hz, channel.seen_hz);
    sums.channels.push_back(channel.channel);
  }
  return sums;
}

std::string KindsTable(const DeviceJudgement& device, const Look& look) {
  Table table({"KIND", "~CHANNELS", "VERDICT", ">BYTES", ">RECORDS", ">ODD", ">LOST", ">ASKED", ">SEEN",
               "?>START", "?>STOP", "~WHY"});
  for (const KindReport& kind : device.kinds) {
    const Sums sums = SumsOf(kind);
    table.Add({OneLine(kind.kind + (kind.mode.empty() ? "" : ":" + kind.mode)),
               RangesText(sums.channels),
               {NameOf(kind.verdict), ColourOf(kind.verdict)},
               FormatBytes(static_cast<double>(sums.bytes)),
               sums.counted && !kind.channels.empty() ? std::to_string(sums.records) : "-",
               {sums.odd == 0 ? "-" : std::to_string(sums.odd), Colour::kBad},
               {kind.lost == 0 ? "-" : std::to_string(kind.lost), Colour::kBad},
               FormatHz(kind.effective_hz),
               sums.seen_hz > 0 ? FormatHz(sums.seen_hz) : "-",
               sums.start_ns == 0 ? "-" : FormatDuration(sums.start_ns),
               sums.stop_ns == 0 ? "-" : FormatDuration(sums.stop_ns),
               OneLine(kind.reason)});
  }
  return table.Text(look);
}

std::string ClocksText(const ClockReport& clocks) {
  std::string text = "clocks: " + std::to_string(clocks.pairs) + " pairs, a question takes " +
                     Number(static_cast<double>(clocks.fastest_ns) / 1e3, "%.1f µs");
  if (clocks.drift_ppm)
    text += ", drift " + Number(*clocks.drift_ppm, "%.1f ppm") + Number(clocks.drift_error_ppm, " ± %.1f");
  text += "; counter";
  if (clocks.counter_mhz) text += " measured " + Number(*clocks.counter_mhz, "%.6g MHz") + ",";
  text += clocks.told_mhz > 0 ? " told " + Number(clocks.told_mhz, "%.6g MHz") + "," : " not told,";
  return text + (clocks.believed_mhz > 0 ? " in the tables " + Number(clocks.believed_mhz, "%.6g MHz")
                                         : " not in the tables");
}

// The places that are no records, with their first bytes.
std::string OddText(const DeviceJudgement& device, const Look& look) {
  constexpr size_t kShown = 3;  // of a channel
  std::string text;
  for (const KindReport& kind : device.kinds) {
    for (const ChannelReport& channel : kind.channels) {
      const size_t shown = look.all ? channel.odd.size() : std::min(kShown, channel.odd.size());
      for (size_t i = 0; i < shown; ++i) {
        const OddBytes& odd = channel.odd[i];
        text += "  " + OneLine(kind.kind) + ", channel " + std::to_string(channel.channel) + " at " +
                std::to_string(odd.offset) + ": " + OneLine(odd.what) + "\n    " + odd.hex + "\n";
      }
      const uint64_t more = channel.odd.size() - shown + channel.more_odd;
      if (more > 0) text += "    and " + std::to_string(more) + " more\n";
    }
  }
  return text.empty() ? "" : "\nno records of their kind:\n" + text;
}

std::string DeviceText(const DeviceJudgement& device, const Look& look) {
  std::string text =
      "\n" + Paint("device " + std::to_string(device.device), Colour::kBold, look) + "  " +
      OneLine(device.product) + " (" + format::ChipName(device.chip) + ", number " +
      std::to_string(format::NumberOf(device.chip)) + ")  " +
      (device.has_failed ? Paint("something is wrong", Colour::kBad, look)
                         : Paint("works", Colour::kGood, look)) +
      "\n" +
      Wrapped("channels: " + std::to_string(device.listed.size()) + ": " + RangesText(device.listed),
              look.columns) +
      "\n" + Wrapped(ClocksText(device.clocks), look.columns) + "\n" + KindsTable(device, look) +
      OddText(device, look);
  for (const auto& [call, count] : device.failed_calls)
    text += Wrapped("call " + OneLine(call) + ": " + std::to_string(count) + " times", look.columns) + "\n";
  if (device.left_out_calls > 0) {
    text += Wrapped("not looked at: " + std::to_string(device.left_out_calls) + " calls with " +
                        FormatBytes(static_cast<double>(device.left_out_bytes)) +
                        ", because there was no room for them",
                    look.columns) +
            "\n";
  }
  for (const std::string& doubt : device.doubts)
    text += Paint(Wrapped("unexpected: " + doubt, look.columns), Colour::kWarn, look) + "\n";
  return text;
}

Json ChannelJson(const ChannelReport& channel) {
  Json odd = Json::array();
  for (const OddBytes& one : channel.odd)
    odd.push_back({{"offset", one.offset}, {"what", one.what}, {"hex", one.hex}});
  return {{"channel", channel.channel},
          {"file", channel.file},
          {"start_code", channel.code},
          {"stop_code", channel.stopped ? Json(channel.stop) : Json()},
          {"start_s", static_cast<double>(channel.start_ns) / 1e9},
          {"stop_s", static_cast<double>(channel.stop_ns) / 1e9},
          {"bytes", channel.bytes},
          {"records", channel.records ? Json(*channel.records) : Json()},
          {"record_bytes", channel.record_bytes == 0 ? Json() : Json(channel.record_bytes)},
          {"seen_hz", channel.seen_hz == 0 ? Json() : Json(channel.seen_hz)},
          {"odd", std::move(odd)},
          {"more_odd", channel.more_odd}};
}

Json DeviceJson(const DeviceJudgement& device) {
  Json kinds = Json::array();
  for (const KindReport& kind : device.kinds) {
    Json channels = Json::array();
    for (const ChannelReport& channel : kind.channels) channels.push_back(ChannelJson(channel));
    kinds.push_back({{"kind", kind.kind},
                     {"mode", kind.mode},
                     {"verdict", NameOf(kind.verdict)},
                     {"reason", kind.reason},
                     {"asked_hz", kind.asked_hz},
                     {"effective_hz", kind.effective_hz},
                     {"stored_records", kind.stored_records},
                     {"lost", kind.lost},
                     {"channels", std::move(channels)}});
  }
  const ClockReport& clocks = device.clocks;
  const auto maybe = [](double value) { return value == 0 ? Json() : Json(value); };
  return {{"device", device.device},
          {"ok", !device.has_failed},
          {"product", device.product},
          {"chip", format::NumberOf(device.chip)},
          {"chip_known", device.known_chip},
          {"channels", device.listed},
          {"channels_of_no_kind", device.nobodys},
          {"kinds_missing", device.missing},
          {"clocks",
           {{"pairs", clocks.pairs},
            {"question_s", static_cast<double>(clocks.fastest_ns) / 1e9},
            {"drift_ppm", clocks.drift_ppm ? Json(*clocks.drift_ppm) : Json()},
            {"drift_error_ppm", clocks.drift_ppm ? Json(clocks.drift_error_ppm) : Json()},
            {"counter_mhz", clocks.counter_mhz ? Json(*clocks.counter_mhz) : Json()},
            {"counter_mhz_told", maybe(clocks.told_mhz)},
            {"counter_mhz_in_tables", maybe(clocks.believed_mhz)}}},
          {"kinds", std::move(kinds)},
          {"failed_calls", device.failed_calls},
          {"left_out", {{"calls", device.left_out_calls}, {"bytes", device.left_out_bytes}}},
          {"doubts", device.doubts}};
}

}  // namespace

std::string RenderHardware(const v1::DevicesReply& node, const std::vector<DeviceJudgement>& devices,
                           const Look& look) {
  std::string text = Wrapped("driver: " + Versions(node), look.columns) + "\n";
  if (node.missing_symbols_size() > 0)
    text += Wrapped("missing symbols: " + OneLine(base::Joined(node.missing_symbols())), look.columns) + "\n";
  if (!node.versions_note().empty())
    text += Paint(Wrapped(OneLine(node.versions_note()), look.columns), Colour::kWarn, look) + "\n";
  for (const DeviceJudgement& device : devices) text += DeviceText(device, look);
  return text;
}

std::string HardwareJson(const v1::DevicesReply& node, const std::vector<DeviceJudgement>& devices) {
  Json array = Json::array();
  for (const DeviceJudgement& device : devices) array.push_back(DeviceJson(device));
  Json versions = Json::object();
  for (const auto& [what, version] : node.versions()) versions[what] = version;
  Json missing = Json::array();
  for (const std::string& symbol : node.missing_symbols()) missing.push_back(symbol);
  const Json json = {{"ok", std::ranges::none_of(devices, &DeviceJudgement::has_failed)},
                     {"driver",
                      {{"path", node.driver_path()},
                       {"api_version", node.driver_api_version()},
                       {"missing_symbols", std::move(missing)},
                       {"versions", std::move(versions)},
                       {"note", node.versions_note()}}},
                     {"devices", std::move(array)}};
  // Foreign text may be broken UTF-8: replaced, never thrown at.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
