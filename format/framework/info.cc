#include "format/framework/info.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace profd::format::framework {
namespace {

using base::Code;
using base::Status;
using nlohmann::json;

__extension__ using Wide = __int128;

constexpr int64_t kLatestNs = 7'258'118'400'000'000'000;  // the year 2200

const json& In(const json& object, const char* key) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

void Take(const json& value, bool& out) {
  if (value.is_boolean()) out = value.get<bool>();
}
void Take(const json& value, int64_t& out) {
  if (value.is_number_integer()) out = value.get<int64_t>();
}
void Take(const json& value, std::string& out) {
  if (value.is_string()) out = value.get<std::string>();
}

// torch_npu takes the rank as a launcher's variable has it: as a text.
void TakeRank(const json& value, int64_t& out) {
  Take(value, out);
  if (!value.is_string()) return;
  const auto& text = value.get_ref<const std::string&>();
  int64_t rank = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error == std::errc() && at == text.data() + text.size()) out = rank;
}

}  // namespace

base::Result<ProfilerInfo> ParseProfilerInfo(std::string_view text) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return Status(Code::kInvalidArgument, "is no JSON object");
  ProfilerInfo info;
  TakeRank(In(all, "rank_id"), info.rank);
  Take(In(all, "torch_npu_version"), info.torch_npu_version);
  Take(In(all, "cann_version"), info.cann_version);
  const json& asked = In(In(all, "config"), "experimental_config");
  Take(In(asked, "_profiler_level"), info.level);
  const json& of_mindspore = In(all, "profiler_parameters");
  Take(In(of_mindspore, "profiler_level"), info.level);
  const json& results = of_mindspore.is_null() ? In(asked, "_export_type") : In(of_mindspore, "export_type");
  const auto wants = [&results](const char* what) {
    if (results.is_string()) return results.get_ref<const std::string&>() == what;
    return results.is_array() &&
           std::ranges::any_of(results, [what](const json& one) { return one == what; });
  };
  info.wants_database = wants("db");
  info.wants_text = wants("text") || !info.wants_database;
  Take(In(asked, "_l2_cache"), info.l2_cache);
  Take(In(asked, "_sys_io"), info.sys_io);
  Take(In(asked, "_sys_interconnection"), info.sys_interconnection);
  const json& start = In(all, "start_info");
  Take(In(start, "syscnt_enable"), info.counts);
  Take(In(start, "start_cnt"), info.start_count);
  Take(In(start, "start_monotonic"), info.start_raw_ns);
  if (const json& mhz = In(start, "freq"); mhz.is_number()) info.counter_mhz = mhz.get<double>();
  const json& end = In(all, "end_info");
  info.has_end = end.is_object() && !end.empty();
  Take(In(end, "collectionTimeEnd"), info.end_wall_ns);
  Take(In(end, "MonotonicTimeEnd"), info.end_raw_ns);
  if (info.counts && !(info.counter_mhz > 0 && info.counter_mhz < 1e6))
    return Status(Code::kInvalidArgument, "start_info.freq is no frequency in MHz");
  return info;
}

int64_t Clock::WallNs(int64_t stamp, bool as_vendor) const {
  Wide ns = stamp;
  if (counts) {
    const Wide ticks = Wide{stamp} - start_count;
    if (as_vendor) {
      const double passed = static_cast<double>(ticks) * (1000 / counter_mhz);
      ns = static_cast<Wide>(std::clamp(passed, -1e19, 1e19));
    } else {
      ns = ticks * 1'000'000'000 / static_cast<Wide>(std::max(1LL, std::llround(counter_mhz * 1e6)));
    }
    ns += start_raw_ns;
  }
  return static_cast<int64_t>(std::clamp<Wide>(ns + wall_behind_raw_ns, 0, kLatestNs));
}

}  // namespace profd::format::framework
