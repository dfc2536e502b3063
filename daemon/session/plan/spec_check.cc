#include "daemon/session/plan/spec_check.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <string_view>
#include <utility>

namespace profd::session {

using base::Code;
using base::Status;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kMaxName = 128;
constexpr size_t kMaxLabels = 64;
constexpr size_t kMaxLabelBytes = 4096;  // of all: they are in every list
constexpr size_t kMaxPids = 256;

Status CheckText(const std::string& what, const std::string& text) {
  if (text.size() > kMaxName) {
    return {Code::kInvalidArgument, what + " is " + std::to_string(text.size()) + " bytes long; at most " +
                                        std::to_string(kMaxName) + " are taken"};
  }
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (!printable) return {Code::kInvalidArgument, what + " holds a control character; give printable text"};
  return Status::Ok();
}

// "%p": the first of its processes, "%h": this host; everything else stays.
Status ExpandName(SessionSpec& spec) {
  char host[HOST_NAME_MAX + 1] = "";
  ::gethostname(host, sizeof host - 1);
  std::string name;
  for (size_t at = 0; at < spec.name.size(); ++at) {
    const std::string_view two = std::string_view(spec.name).substr(at, 2);
    if (two == "%p" && spec.pids.empty())
      return {Code::kInvalidArgument,
              "name: %p stands for the first process of the session, and it has none"};
    if (two == "%p") {
      name += std::to_string(spec.pids.front());
    } else if (two == "%h") {
      name += host;
    } else {
      name += spec.name[at];
      continue;
    }
    ++at;
  }
  spec.name = std::move(name);
  return Status::Ok();
}

}  // namespace

Status CheckSpec(SessionSpec& spec, const config::Config& config) {
  PROFD_RETURN_IF_ERROR(ExpandName(spec));
  PROFD_RETURN_IF_ERROR(CheckText("name", spec.name));
  if (spec.name == kNewestSession)
    return {Code::kInvalidArgument, "name: `last` stands for the newest session; give another name"};
  if (spec.labels.size() > kMaxLabels) return {Code::kInvalidArgument, "more than 64 labels"};
  size_t bytes = 0;
  for (const auto& [key, value] : spec.labels) {
    PROFD_RETURN_IF_ERROR(CheckText("label " + key, key));
    PROFD_RETURN_IF_ERROR(CheckText("label " + key, value));
    bytes += key.size() + value.size();
  }
  if (bytes > kMaxLabelBytes) {
    return {Code::kInvalidArgument, "the labels are " + std::to_string(bytes) + " bytes long; at most " +
                                        std::to_string(kMaxLabelBytes) + " are taken"};
  }
  if (spec.pids.size() > kMaxPids) return {Code::kInvalidArgument, "more than 256 pids in one session"};
  std::sort(spec.pids.begin(), spec.pids.end());
  spec.pids.erase(std::unique(spec.pids.begin(), spec.pids.end()), spec.pids.end());
  const config::Config::Session& limits = config.session;
  // Who names no duration is not told that it is too long.
  if (spec.duration_ns == 0)
    spec.duration_ns = std::min(limits.default_duration_s, limits.max_duration_s) * kSecond;
  if (spec.duration_ns > limits.max_duration_s * kSecond) {
    return {Code::kOutOfRange, "duration " + std::to_string(spec.duration_ns / kSecond) +
                                   " s is longer than " + std::to_string(limits.max_duration_s) +
                                   " s, the longest this profd allows (session.max_duration_s)"};
  }
  if (spec.delay_ns > limits.max_duration_s * kSecond) {
    return {Code::kOutOfRange, "delay is longer than " + std::to_string(limits.max_duration_s) + " s"};
  }
  return Status::Ok();
}

}  // namespace profd::session
