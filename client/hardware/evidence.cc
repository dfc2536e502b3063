#include "client/hardware/evidence.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/join.h"
#include "client/words/text.h"
#include "format/kind.h"

namespace profd::client {

using base::Result;
using base::Status;

namespace {

using Calls = std::vector<v1::DriverCall>;

constexpr size_t kMostRounds = 4;
constexpr uint64_t kLookEveryNs = 100'000'000;
constexpr char kLlc[] = "llc", kLlcWrite[] = "write";

bool NamesProcesses(const std::string& kind) {
  const auto known = format::FindKind(kind);
  return known == format::Kind::kDevPidCpu || known == format::Kind::kDevPidMem ||
         known == format::Kind::kCtrlCpu;
}

// What has been heard, whether more comes or not.
Asking<Status> TakeAll(ControlClient& control, v1::TapeOrder order, Calls* calls, DeviceEvidence* evidence) {
  for (;;) {
    v1::TapeRequest request;
    request.set_order(order);
    const Result<v1::TapeReply> reply =
        co_await control.Ask<v1::TapeReply>(request, ControlClient::Patience::kQuick);
    if (!reply.ok()) co_return reply.status();
    evidence->left_out_calls = reply->left_out_calls();
    evidence->left_out_bytes = reply->left_out_bytes();
    if (reply->calls().empty()) co_return Status::Ok();
    if (calls != nullptr) calls->insert(calls->end(), reply->calls().begin(), reply->calls().end());
  }
}

bool HasEnded(const v1::SessionInfo& session) {
  return session.state() == v1::SESSION_STATE_SEALED || session.state() == v1::SESSION_STATE_FAILED;
}

Asking<Status> RunRound(ControlClient& control, const std::vector<v1::KindRequest>& kinds,
                        const HearOptions& options, DeviceEvidence* evidence) {
  HardwareRound& round = evidence->rounds.emplace_back();
  v1::SessionSpec spec;
  for (const v1::KindRequest& kind : kinds) *spec.add_kinds() = kind;
  spec.add_devices(evidence->device.device());
  spec.set_duration_ns(options.for_ns);
  spec.set_name("check of the hardware");
  Result<v1::SessionInfo> session = co_await control.Start(spec);
  if (!session.ok()) {
    round.refused = session.status().message();
    co_return co_await TakeAll(control, v1::TAPE_ORDER_TAKE, &round.calls, evidence);
  }
  while (!HasEnded(*session)) {
    control.Pause(kLookEveryNs);
    session = co_await control.Get(session->session());
    if (!session.ok()) co_return session.status();
  }
  round.session = *session;
  const Status taken = co_await TakeAll(control, v1::TAPE_ORDER_TAKE, &round.calls, evidence);
  if (!taken.ok()) co_return taken;
  if (!options.keeps_sessions) {
    const Result<v1::SessionInfo> removed = co_await control.Remove(session->session());
    if (!removed.ok()) co_return removed.status();
  }
  co_return Status::Ok();
}

// What stands in a round's way takes the next.
std::vector<v1::KindRequest> LeftBy(const HardwareRound& round, const std::vector<v1::KindRequest>& asked) {
  std::set<std::string> skipped;
  for (const v1::KindState& kind : round.session.kinds()) {
    if (kind.verdict() == v1::VERDICT_SKIPPED) skipped.insert(kind.kind());
  }
  std::vector<v1::KindRequest> left;
  for (const v1::KindRequest& kind : asked) {
    if (skipped.contains(kind.kind())) left.push_back(kind);
  }
  return left;
}

Asking<Status> HearRounds(ControlClient& control, const HearOptions& options, DeviceEvidence* evidence) {
  std::vector<v1::KindRequest> kinds, later;
  for (const v1::KindOffer& offer : evidence->device.kinds()) {
    if (!offer.available() || (!options.with_processes && NamesProcesses(offer.kind()))) continue;
    v1::KindRequest request;
    request.set_kind(offer.kind());
    kinds.push_back(request);
    // It counts either reads or writes.
    if (offer.kind() == kLlc && std::ranges::count(offer.modes(), kLlcWrite) > 0) {
      request.set_mode(kLlcWrite);
      later.push_back(request);
    }
  }
  for (size_t i = 0; i < kMostRounds && !kinds.empty(); ++i) {
    if (options.says) {
      options.says("device " + std::to_string(evidence->device.device()) + ": " +
                   std::to_string(kinds.size()) + (kinds.size() == 1 ? " kind, " : " kinds, ") +
                   FormatDuration(options.for_ns));
    }
    const Status heard = co_await RunRound(control, kinds, options, evidence);
    if (!heard.ok()) co_return heard;
    std::vector<v1::KindRequest> left = LeftBy(evidence->rounds.back(), kinds);
    // Nothing of it can be had.
    if (left.size() == kinds.size()) left.clear();
    left.insert(left.end(), later.begin(), later.end());
    later.clear();
    kinds = std::move(left);
  }
  co_return Status::Ok();
}

Asking<Status> HearDevice(ControlClient& control, uint32_t number, const HearOptions& options,
                          NodeEvidence* node) {
  DeviceEvidence& evidence = node->devices.emplace_back();
  v1::TapeRequest begin;
  begin.set_order(v1::TAPE_ORDER_BEGIN);
  begin.add_devices(number);
  begin.set_most_bytes(options.most_bytes);
  const Result<v1::TapeReply> begun =
      co_await control.Ask<v1::TapeReply>(begin, ControlClient::Patience::kQuick);
  if (!begun.ok()) co_return begun.status();
  Status heard;
  const Result<v1::DevicesReply> reply = co_await control.Devices();
  if (reply.ok()) {
    node->node = *reply;
    for (const v1::Device& device : reply->devices()) {
      if (device.device() == number) evidence.device = device;
    }
    heard = co_await TakeAll(control, v1::TAPE_ORDER_TAKE, &evidence.facts, &evidence);
  } else {
    heard = reply.status();
  }
  if (heard.ok()) heard = co_await HearRounds(control, options, &evidence);
  Calls* const last = evidence.rounds.empty() ? &evidence.facts : &evidence.rounds.back().calls;
  const Status ended = co_await TakeAll(control, v1::TAPE_ORDER_END, last, &evidence);
  co_return heard.ok() ? ended : heard;
}

}  // namespace

Asking<Result<std::vector<std::string>>> InTheWay(ControlClient& control, const v1::DevicesReply& node,
                                                  std::vector<uint32_t> devices) {
  std::vector<std::string> lines;
  const auto is_one = [&devices](uint32_t device) { return std::ranges::count(devices, device) > 0; };
  for (const v1::Device& device : node.devices()) {
    std::set<std::string> holders;
    for (const v1::KindHolder& holder : device.holders()) {
      // What else holds a channel gives it away.
      if (holder.holder().starts_with("session ")) holders.insert(holder.holder());
    }
    if (holders.empty() || !is_one(device.device())) continue;
    lines.push_back("device " + std::to_string(device.device()) + " is collected by " +
                    OneLine(base::Joined(holders, ", ")));
  }
  const Result<v1::TargetsReply> targets = co_await control.Targets();
  if (!targets.ok()) co_return targets.status();
  for (const v1::Target& target : targets->targets()) {
    std::vector<uint32_t> open(target.devices().begin(), target.devices().end());
    std::erase_if(open, [&](uint32_t device) { return !is_one(device); });
    if (open.empty()) continue;
    lines.push_back("process " + std::to_string(target.pid()) + " of " + OneLine(target.user()) +
                    " has device " + base::Joined(open, ", ") + " open");
  }
  co_return lines;
}

Asking<Result<NodeEvidence>> Hear(ControlClient& control, std::vector<uint32_t> devices,
                                  HearOptions options) {
  NodeEvidence node;
  for (const uint32_t device : devices) {
    const Status heard = co_await HearDevice(control, device, options, &node);
    if (!heard.ok()) co_return heard.In("device " + std::to_string(device));
  }
  co_return node;
}

}  // namespace profd::client
