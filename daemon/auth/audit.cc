#include "daemon/auth/audit.h"

#include <nlohmann/json.hpp>

#include "base/calendar.h"
#include "base/clock.h"

namespace profd::auth {

namespace {

constexpr double kLinesAtOnce = 200;
constexpr double kLinesPerSecond = 5;
constexpr size_t kMaxTextBytes = 512;

using nlohmann::ordered_json;

// ASCII, everything else escaped: no line ends, no terminal commands, no broken UTF-8.
std::string Line(const ordered_json& entry) {
  return entry.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

std::string_view Cut(std::string_view text) { return text.substr(0, kMaxTextBytes); }

const char* ResultOf(const base::Status& outcome) {
  switch (outcome.code()) {
    case base::Code::kOk:
      return "allowed";
    case base::Code::kPermissionDenied:
    case base::Code::kUnauthenticated:
      return "refused";
    default:
      return "failed";
  }
}

}  // namespace

void Audit::Note(const Caller& caller, std::string_view what, std::string_view on,
                 const base::Status& outcome) {
  if (!write_) return;
  const uint64_t now_ns = base::MonotonicNs();
  const std::lock_guard lock(mutex_);
  TellOmittedLocked(now_ns);
  if (!IsAdmin(caller)) {
    auto [share, is_new] =
        shares_.try_emplace(caller.uid, Share{.lines = base::TokenBucket(kLinesPerSecond, kLinesAtOnce)});
    if (!share->second.lines.Take(now_ns)) {
      ++share->second.omitted;
      return;
    }
  }
  ordered_json entry = {{"time", base::UtcTextWithMs(base::WallNs())}, {"what", what}};
  if (caller.uid == static_cast<uid_t>(-1)) {
    entry["uid"] = nullptr;
  } else {
    entry["uid"] = caller.uid;
    if (!caller.user.empty()) entry["user"] = caller.user;
    entry["pid"] = caller.pid;
    entry["program"] = Cut(caller.program);
  }
  if (!caller.remote.empty()) entry["from"] = Cut(caller.remote);
  if (!on.empty()) entry["on"] = Cut(on);
  entry["result"] = ResultOf(outcome);
  if (!outcome.ok()) entry["reason"] = Cut(outcome.message());
  write_(Line(entry));
}

void Audit::TellOmittedLocked(uint64_t now_ns) {
  for (auto share = shares_.begin(); share != shares_.end();) {
    auto& [uid, of_user] = *share;
    if (of_user.omitted > 0 && of_user.lines.Take(now_ns)) {
      ordered_json entry = {{"time", base::UtcTextWithMs(base::WallNs())},
                            {"what", "omitted"},
                            {"uid", uid},
                            {"lines", of_user.omitted}};
      if (uid == static_cast<uid_t>(-1)) entry["uid"] = nullptr;
      write_(Line(entry));
      of_user.omitted = 0;
    }
    const bool quiet = of_user.omitted == 0 && of_user.lines.IsFull(now_ns);
    share = quiet ? shares_.erase(share) : std::next(share);
  }
}

}  // namespace profd::auth
