#include "daemon/host/scouts/scout.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/host/scouts/scout_texts.h"

namespace profd::host {

namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;
constexpr uint64_t kReportNs = 50 * kMillisecondNs, kBeatNs = 1000 * kMillisecondNs;

}  // namespace

void ServeScout(TextChannel& channel, Scout& scout) {
  uint64_t looked_ns = 0, reported_ns = 0;
  const auto report = [&](ScoutReport what) {
    what.lines = std::exchange(scout.lines, {});
    what.hangs = scout.hangs();
    channel.Put(what.Text());
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
