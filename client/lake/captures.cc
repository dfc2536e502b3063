#include "client/lake/captures.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/fnv.h"
#include "base/join.h"
#include "client/export/read/capture.h"

namespace profd::lake {
namespace {

using format::Manifest;

// Wherever the recording was copied to: of the name of its folder, and what is below; 8 digits.
std::string InstanceOf(const std::string& source) {
  size_t from = source.rfind("PROF_");
  if (from == std::string::npos) {
    const size_t end = source.rfind("_ascend_pt");
    from = end == std::string::npos ? source.rfind('/') : source.rfind('/', end);
    from = from == std::string::npos ? 0 : from + 1;
  }
  return base::Fnv1aName(std::string_view(source).substr(from));
}

std::optional<std::string> Given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// Of the session, else of its first program that has it.
std::optional<std::string> LabelOf(const Manifest& manifest, const std::string& name) {
  if (const auto found = manifest.labels.find(name); found != manifest.labels.end()) return found->second;
  for (const format::ManifestAgent& agent : manifest.agents) {
    if (const auto found = agent.labels.find(name); found != agent.labels.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<int64_t> NumberOf(const std::optional<std::string>& text) {
  int64_t number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

int64_t LostOf(const Manifest& manifest) {
  uint64_t lost = 0;
  for (const format::ManifestStream& stream : manifest.streams) lost += stream.lost_records;
  for (const format::ManifestAgent& agent : manifest.agents) {
    lost += agent.lost_without_lane;
    for (const format::ManifestLane& lane : agent.lanes) lost += lane.lost + lane.write_lost;
  }
  return static_cast<int64_t>(lost);
}

void Take(const Manifest& manifest, CaptureFacts& facts) {
  facts.user = Given(manifest.user);
  facts.capture = Given(manifest.session);
  facts.attempt = NumberOf(LabelOf(manifest, "attempt"));
  if (auto job = LabelOf(manifest, "job")) facts.job = std::move(job);
  if (auto job = facts.job ? std::nullopt : LabelOf(manifest, "job_id")) facts.job = std::move(job);
  std::set<std::string> kinds;  // each unit has a line of its own
  for (const format::ManifestKind& kind : manifest.kinds) kinds.insert(kind.kind);
  facts.kinds = base::Joined(kinds, ",");
  facts.lost = LostOf(manifest);
  facts.verdict = manifest.state != "sealed"                             ? "running"
                  : !manifest.degraded.empty() || facts.lost.value() > 0 ? "degraded"
                                                                         : "whole";
  nlohmann::json labels(manifest.labels);
  facts.labels = labels.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

CaptureFacts FactsOf(const std::string& source) {
  CaptureFacts facts;
  facts.instance = InstanceOf(source);
  facts.object = client::CaptureName(source);
  std::error_code error;
  if (!std::filesystem::is_directory(source, error)) {
    const uintmax_t bytes = std::filesystem::file_size(source, error);
    facts.bytes = error ? 0 : bytes;
    return facts;
  }
  client::Report report;  // what is wrong with it was said when its data were read
  const auto capture = client::OpenCapture(source, false, report);
  if (!capture.ok()) return facts;
  facts.bytes = capture->bytes();
  if (const uint64_t begin = capture->begin_wall_ns()) facts.from = static_cast<int64_t>(begin);
  if (const uint64_t end = capture->end_wall_ns()) facts.to = static_cast<int64_t>(end);
  if (!capture->sides.empty()) facts.job = Given(capture->sides.front().facts.job_id);
  if (capture->manifest) Take(*capture->manifest, facts);
  return facts;
}

}  // namespace profd::lake
