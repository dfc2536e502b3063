#include "client/hardware/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include "base/join.h"
#include "client/show/screen/table.h"
#include "client/words/ascii.h"
#include "client/words/text.h"
#include "format/check/stream_check.h"
#include "format/records/packed.h"

namespace profd::client {

namespace {

using format::Chip;
using format::StampDomain;

constexpr char kStart[] = "prof_drv_start", kStop[] = "prof_stop", kRead[] = "prof_channel_read",
               kInfo[] = "halGetDeviceInfo";
// Source: ascend_hal_base.h of the vendor's driver, MODULE_TYPE and INFO_TYPE.
constexpr int32_t kSystem = 0, kVersion = 1, kSysCount = 13, kMonotonicRaw = 14, kDeviceOscillator = 25;
constexpr size_t kHexBytes = 32;
constexpr int kNoComputeProcess = 115;

uint64_t Took(const v1::DriverCall& call) { return call.ended_ns() - call.began_ns(); }
uint64_t Middle(const v1::DriverCall& call) { return call.began_ns() + Took(call) / 2; }

// The value of one 64-bit fact, if that is what the call asked for.
std::optional<int64_t> InfoOf(const v1::DriverCall& call, int32_t info) {
  if (call.call() != kInfo || call.code() != 0 || call.given().size() != 2 * sizeof(int32_t) ||
      call.answered().size() != sizeof(int64_t))
    return std::nullopt;
  const auto* given = reinterpret_cast<const std::byte*>(call.given().data());
  if (format::Load<int32_t>(given) != kSystem || format::Load<int32_t>(given + sizeof(int32_t)) != info)
    return std::nullopt;
  return format::Load<int64_t>(reinterpret_cast<const std::byte*>(call.answered().data()));
}

std::string HexOf(std::string_view bytes, size_t at) {
  return Hex(bytes.substr(std::min(at, bytes.size()), kHexBytes));
}

// What a channel brought from one start on.
struct Run {
  ChannelReport report;
  std::string bytes;
};

std::map<uint32_t, Run> RunsOf(const HardwareRound& round) {
  std::map<uint32_t, Run> runs;
  for (const v1::DriverCall& call : round.calls) {
    if (call.channel() == 0) continue;
    Run& run = runs[call.channel()];
    run.report.channel = call.channel();
    if (call.call() == kStart) {
      run.report.code = call.code();
      run.report.start_ns = std::max(run.report.start_ns, Took(call));
      run.report.started = run.report.started || call.code() == 0;
    } else if (call.call() == kStop) {
      run.report.stop = call.code();
      run.report.stop_ns = std::max(run.report.stop_ns, Took(call));
      run.report.stopped = true;
    } else if (call.call() == kRead && call.code() > 0) {
      run.bytes += call.answered();
    }
  }
  return runs;
}

std::optional<uint64_t> TextNs(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 12) return std::nullopt;
  uint64_t ns = 0;
  for (const char c : line.substr(0, colon)) {
    if (c < '0' || c > '9') return std::nullopt;
    ns = ns * 10 + static_cast<uint64_t>(c - '0');
  }
  for (size_t i = 1; i <= 9; ++i) {
    const char c = colon + i < line.size() ? line[colon + i] : ' ';
    if (c < '0' || c > '9') return std::nullopt;
    ns = ns * 10 + static_cast<uint64_t>(c - '0');
  }
  return ns;
}

// How often the stamp changed, by the stamps themselves.
double SeenHz(const format::StreamFormat& format, std::string_view bytes, double counter_mhz) {
  std::set<uint64_t> stamps;
  double per_second = 0;
  if (format.framing == format::Framing::kLines) {
    per_second = 1e9;
    for (size_t begin = 0, end; (end = bytes.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
      if (const auto ns = TextNs(bytes.substr(begin, end - begin))) stamps.insert(*ns);
    }
  } else if (format.framing == format::Framing::kFixed) {
    switch (format.stamp) {
      case StampDomain::kStartUs64:
      case StampDomain::kStartUs32:
        per_second = 1e6;
        break;
      case StampDomain::kDeviceNs:
        per_second = 1e9;
        break;
      case StampDomain::kDeviceTicks:
        per_second = counter_mhz * 1e6;
        break;
      default:
        return 0;
    }
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    for (size_t at = 0; at + format.record_bytes <= bytes.size(); at += format.record_bytes) {
      const bool can_be =
          format.plausible == nullptr || format.plausible(data + at, 1, format.record_bytes) == 1;
      if (!can_be) continue;
      stamps.insert(format.stamp == StampDomain::kStartUs32
                        ? format::Load<uint32_t>(data + at + format.stamp_offset)
                        : format::Load<uint64_t>(data + at + format.stamp_offset));
    }
  }
  if (stamps.size() < 2 || per_second <= 0) return 0;
  return static_cast<double>(stamps.size() - 1) * per_second /
         static_cast<double>(*stamps.rbegin() - *stamps.begin());
}

// `whole`: nothing that it brought was left out, so that it ends with a record.
void CheckBytes(const std::string& file, Chip chip, bool by_task, double counter_mhz, bool whole, Run* run) {
  ChannelReport& report = run->report;
  report.file = file;
  report.bytes = run->bytes.size();
  // What the device's folder is called does not matter.
  const format::FileShape shape = format::ShapeOf("device_0", file, chip, by_task);
  format::StreamCheck check(shape, true);
  check.Take(std::as_bytes(std::span(run->bytes)), whole);
  report.records = check.records();
  for (const format::Finding& finding : check.findings())
    report.odd.push_back({finding.offset, finding.what, HexOf(run->bytes, finding.offset)});
  report.more_odd = check.more_findings();
  if (shape.format == nullptr) return;
  if (shape.format->framing == format::Framing::kFixed) report.record_bytes = shape.format->record_bytes;
  report.seen_hz = SeenHz(*shape.format, run->bytes, counter_mhz);
}

HardwareVerdict VerdictOf(const KindReport& kind, v1::Verdict verdict) {
  bool is_odd = false, waits = verdict == v1::VERDICT_PENDING, refused = verdict == v1::VERDICT_FAILED;
  uint64_t bytes = kind.stored_records;
  for (const ChannelReport& channel : kind.channels) {
    is_odd = is_odd || !channel.odd.empty();
    if (!channel.started && channel.code == kNoComputeProcess) waits = true;
    if (!channel.started && channel.code != 0 && channel.code != kNoComputeProcess) refused = true;
    bytes += channel.bytes;
  }
  if (is_odd) return HardwareVerdict::kOdd;
  if (refused) return HardwareVerdict::kRefused;
  if (waits) return HardwareVerdict::kWaits;
  if (kind.lost > 0) return HardwareVerdict::kLost;
  return bytes == 0 ? HardwareVerdict::kSilent : HardwareVerdict::kOk;
}

void JudgeRound(const HardwareRound& round, const DeviceEvidence& evidence, size_t number, double counter_mhz,
                DeviceJudgement* judged) {
  std::map<uint32_t, Run> runs = RunsOf(round);
  for (const v1::KindState& state : round.session.kinds()) {
    if (state.verdict() == v1::VERDICT_SKIPPED) continue;
    const auto offer = std::ranges::find_if(
        evidence.device.kinds(), [&](const v1::KindOffer& one) { return one.kind() == state.kind(); });
    if (offer == evidence.device.kinds().end()) continue;
    KindReport kind{.kind = state.kind(),
                    .reason = state.reason(),
                    .asked_hz = state.requested_hz(),
                    .effective_hz = state.effective_hz(),
                    .stored_records = state.records(),
                    .lost = state.lost()};
    if (offer->modes_size() > 0) {
      const bool is_second = number > 0 && offer->modes_size() > 1 &&
                             std::ranges::any_of(judged->kinds, [&](const KindReport& earlier) {
                               return earlier.kind == kind.kind;
                             });
      kind.mode = offer->modes(is_second ? 1 : 0);
    }
    for (const v1::ChannelUse& use : offer->channels()) {
      const auto run = runs.find(use.channel());
      if (run == runs.end()) continue;
      if (run->second.report.file.empty())
        CheckBytes(use.file(), judged->chip, offer->by_task(), counter_mhz, evidence.left_out_calls == 0,
                   &run->second);
      kind.channels.push_back(run->second.report);
    }
    kind.verdict = VerdictOf(kind, state.verdict());
    judged->kinds.push_back(std::move(kind));
  }
}

// The tightest question of each burst.
ClockReport ClocksOf(const std::vector<const v1::DriverCall*>& calls) {
  constexpr uint64_t kBurstNs = 50'000'000;
  struct Pair {
    uint64_t host_ns, took_ns;
    int64_t raw;
    std::optional<int64_t> count;
  };
  std::vector<Pair> bursts;
  ClockReport clocks;
  uint64_t last_ns = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (const auto khz = InfoOf(*calls[i], kDeviceOscillator); khz && *khz > 0 && *khz < 100'000'000)
      clocks.told_mhz = static_cast<double>(*khz) / 1000;
    const auto raw = InfoOf(*calls[i], kMonotonicRaw);
    if (!raw || *raw <= 0) continue;
    Pair pair{Middle(*calls[i]), Took(*calls[i]), *raw, std::nullopt};
    // Other threads' calls may lie between the two questions.
    for (size_t j = i + 1; j < std::min(calls.size(), i + 6) && !pair.count; ++j)
      pair.count = InfoOf(*calls[j], kSysCount);
    if (bursts.empty() || calls[i]->began_ns() > last_ns + kBurstNs) {
      bursts.push_back(pair);
    } else if (pair.took_ns < bursts.back().took_ns) {
      bursts.back() = pair;
    }
    last_ns = calls[i]->ended_ns();
  }
  clocks.pairs = bursts.size();
  for (const Pair& pair : bursts) {
    if (clocks.fastest_ns == 0 || pair.took_ns < clocks.fastest_ns) clocks.fastest_ns = pair.took_ns;
  }
  if (bursts.size() < 2) return clocks;
  const Pair &first = bursts.front(), &last = bursts.back();
  const auto host_ns = static_cast<double>(last.host_ns - first.host_ns);
  const auto device_ns = static_cast<double>(last.raw - first.raw);
  if (host_ns <= 0 || device_ns <= 0) return clocks;
  clocks.drift_ppm = (device_ns / host_ns - 1) * 1e6;
  clocks.drift_error_ppm = static_cast<double>(first.took_ns + last.took_ns) / 2 / host_ns * 1e6;
  if (first.count && last.count)
    clocks.counter_mhz = static_cast<double>(*last.count - *first.count) / device_ns * 1e3;
  return clocks;
}

std::string MhzText(double mhz) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g MHz", mhz);
  return text;
}

void Doubt(DeviceJudgement* judged, const DeviceEvidence& evidence) {
  auto& doubts = judged->doubts;
  if (!judged->known_chip) {
    doubts.push_back("chip: profd's tables do not have " + format::ChipName(judged->chip) + " (" +
                     OneLine(judged->product) + "): layouts are those most chips share");
  }
  if (!judged->nobodys.empty()) {
    doubts.push_back("channels that profd starts for no kind: " + RangesText(judged->nobodys));
  }
  const ClockReport& clocks = judged->clocks;
  constexpr double kOff = 0.01;
  const auto differ = [](double a, double b) { return std::fabs(a - b) > kOff * b; };
  if (clocks.believed_mhz > 0 && clocks.told_mhz > 0 && differ(clocks.told_mhz, clocks.believed_mhz))
    doubts.push_back("counter: the driver says " + MhzText(clocks.told_mhz) + ", the tables " +
                     MhzText(clocks.believed_mhz));
  const double used = evidence.device.counter_mhz();
  // As near as the questions were to each other.
  if (clocks.counter_mhz && used > 0 && differ(*clocks.counter_mhz, used))
    doubts.push_back("counter: it ran at " + MhzText(*clocks.counter_mhz) + ", profd takes it for " +
                     MhzText(used));
  constexpr double kMuchPpm = 200;
  if (clocks.drift_ppm && std::fabs(*clocks.drift_ppm) > kMuchPpm + clocks.drift_error_ppm)
    doubts.push_back("clock: the device's runs " + std::to_string(std::lround(*clocks.drift_ppm)) +
                     " ppm off the host's");
  for (const KindReport& kind : judged->kinds) {
    for (const ChannelReport& channel : kind.channels) {
      constexpr double kRateOff = 0.1;
      const double asked = kind.effective_hz;
      if (asked > 0 && channel.seen_hz > 0 && std::fabs(channel.seen_hz - asked) > kRateOff * asked)
        doubts.push_back(kind.kind + ": channel " + std::to_string(channel.channel) + " came " +
                         FormatHz(channel.seen_hz) + ", not " + FormatHz(asked));
    }
  }
}

}  // namespace

const char* NameOf(HardwareVerdict verdict) {
  switch (verdict) {
    case HardwareVerdict::kOk:
      return "ok";
    case HardwareVerdict::kSilent:
      return "silent";
    case HardwareVerdict::kWaits:
      return "waits for a job";
    case HardwareVerdict::kLost:
      return "lost";
    case HardwareVerdict::kOdd:
      return "odd bytes";
    case HardwareVerdict::kRefused:
      return "refused";
  }
  return "";
}

DeviceJudgement Judge(const DeviceEvidence& evidence) {
  const v1::Device& device = evidence.device;
  DeviceJudgement judged;
  judged.device = device.device();
  judged.product = device.chip();
  judged.chip = format::ChipOfName(device.chip());
  std::vector<const v1::DriverCall*> all;
  for (const v1::DriverCall& call : evidence.facts) all.push_back(&call);
  for (const HardwareRound& round : evidence.rounds) {
    for (const v1::DriverCall& call : round.calls) all.push_back(&call);
  }
  for (const v1::DriverCall* call : all) {
    if (const auto version = InfoOf(*call, kVersion))
      judged.chip = static_cast<Chip>(static_cast<uint32_t>(*version >> 8) & 0xff);
    if (call->code() != 0 && call->call() != kRead)
      ++judged.failed_calls[call->call() + " " + std::to_string(call->code())];
  }
  const format::ChipTraits& traits = format::TraitsOf(judged.chip);
  judged.known_chip = !traits.name.empty();
  judged.clocks = ClocksOf(all);
  judged.clocks.believed_mhz = traits.counter_mhz;

  std::set<uint32_t> served;
  for (const v1::KindOffer& offer : device.kinds()) {
    for (const v1::ChannelUse& use : offer.channels()) served.insert(use.channel());
    if (!offer.available()) judged.missing[offer.kind()] = offer.reason();
  }
  judged.listed.assign(device.channels().begin(), device.channels().end());
  std::ranges::set_difference(judged.listed, served, std::back_inserter(judged.nobodys));
  for (size_t i = 0; i < evidence.rounds.size(); ++i)
    JudgeRound(evidence.rounds[i], evidence, i, device.counter_mhz(), &judged);
  judged.left_out_calls = evidence.left_out_calls;
  judged.left_out_bytes = evidence.left_out_bytes;
  Doubt(&judged, evidence);
  const auto is_wrong = [](const KindReport& kind) {
    return kind.verdict == HardwareVerdict::kOdd || kind.verdict == HardwareVerdict::kRefused ||
           kind.verdict == HardwareVerdict::kLost;
  };
  judged.has_failed =
      device.status() != 1 || !device.error().empty() || evidence.rounds.empty() ||
      std::ranges::any_of(judged.kinds, is_wrong) ||
      std::ranges::any_of(evidence.rounds, [](const HardwareRound& round) { return !round.refused.empty(); });
  return judged;
}

}  // namespace profd::client
