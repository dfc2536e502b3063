#include "daemon/host/scouts/scout.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/host/scouts/scout_texts.h"

namespace profd::host {

namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;
constexpr uint64_t kReportNs = 50 * kMillisecondNs, kBeatNs = 1000 * kMillisecondNs;
constexpr size_t kMostOfReport = 1 << 20;  // of names, and of samples
static_assert(3 * kMostOfReport < TextChannel::kMostBytes);

// Whole lines, as many as a report has room for.
std::string Portion(std::string& lines) {
  const size_t end = lines.size() <= kMostOfReport ? std::string::npos : lines.rfind('\n', kMostOfReport - 1);
  if (end == std::string::npos) return std::exchange(lines, {});
  std::string portion = lines.substr(0, end + 1);
  lines.erase(0, end + 1);
  return portion;
}

}  // namespace

void ServeScout(TextChannel& channel, Scout& scout) {
  uint64_t looked_ns = 0, reported_ns = 0;
  const auto report = [&](ScoutReport what) {
    const bool last = std::exchange(what.last, false);
    what.hangs = scout.hangs();
    ScoutLines left = std::exchange(scout.lines, {});
    do {
      what.lines.Lose(std::exchange(left.lost, 0), left.lost_from_ns, left.lost_to_ns);
      what.lines.names = Portion(left.names);
      // What they say stands in the names before them.
      if (left.names.empty()) what.lines.samples = Portion(left.samples);
      what.last = last && left.empty();
      channel.Put(what.Text());
      what.lines = {};
    } while (!left.empty());
    reported_ns = base::MonotonicNs();
  };
  for (bool begun = false; !channel.gone();) {
    while (const auto text = channel.Next()) {
      const auto call = ScoutCall::Of(*text);
      if (!call) return;
      if (call->what == ScoutCall::What::kBegin) {
        const base::Status status = scout.Begin(call->order, call->members);
        ScoutReport of_begin;
        of_begin.code = status.code();
        of_begin.message = status.ok() ? scout.note() : status.message();
        report(std::move(of_begin));
        begun = status.ok();
        looked_ns = base::MonotonicNs();
      } else if (call->what == ScoutCall::What::kTakeIn) {
        scout.TakeIn(call->members);
      } else {
        if (begun) scout.End();
        ScoutReport of_end;
        of_end.last = true;
        report(std::move(of_end));
        while (!channel.idle() && !channel.gone()) {
          channel.Wait(kBeatNs);
          channel.Flush();
        }
        return;
      }
    }
    const uint64_t now_ns = base::MonotonicNs();
    if (begun && now_ns - looked_ns >= scout.PeriodNs()) {
      looked_ns = now_ns;
      scout.Look();
    }
    channel.Flush();
    // While profd takes no more, the lines wait here.
    const uint64_t since_ns = now_ns - reported_ns;
    if (begun && channel.idle() && since_ns >= (scout.lines.empty() ? kBeatNs : kReportNs)) report({});
    const uint64_t done_ns = base::MonotonicNs(), next_ns = looked_ns + scout.PeriodNs();
    channel.Wait(!begun ? kBeatNs : next_ns > done_ns ? next_ns - done_ns : 0);
  }
}

}  // namespace profd::host
