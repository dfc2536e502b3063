#include "client/export/framework/analyzer/collective_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "client/export/write/json_text.h"
#include "client/words/ascii.h"
#include "client/words/data_types.h"
#include "format/op_names.h"

namespace profd::client::framework {
namespace {

using format::Span;
using format::SpanKind;

constexpr double kMs = 1e6, kMb = 1e6;  // of ns, of bytes
constexpr uint32_t kNobody = 0xFFFFFFFF;
constexpr std::array<const char*, 5> kTransports = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO"};
constexpr size_t kRdma = 0, kHccs = 1, kPcie = 2, kSdma = 3, kSio = 4;
// Above it a packet is a large one, in MB; of what is in no list every one is.
constexpr std::array<double, 5> kLargeMb = {0.5, 32, 32, 0, 32};

double Rounded4(double value) { return std::round(value * 1e4) / 1e4; }
Json RatioOf(double part, double rest) {
  return part + rest > 0 ? Json(Rounded4(part / (part + rest))) : Json(0);
}

// A count in Python: whole where nothing was added.
Json Sum(double value) { return value == 0 ? Json(0) : Json(value); }

// The number as Python shows it: 0.5, 33.554432.
std::string KeyOf(double value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), end.ptr);
  return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}

struct Bandwidth {
  double mb = 0, ms = 0;
  std::map<double, std::pair<uint64_t, double>> sizes;  // MB → packets, ms

  void Add(double packet_mb, double packet_ms) {
    mb += packet_mb;
    ms += packet_ms;
    auto& [count, total_ms] = sizes[packet_mb];
    ++count;
    total_ms += packet_ms;
  }
};
using Bandwidths = std::array<Bandwidth, kTransports.size()>;

Json JsonOf(const Bandwidths& all) {
  Json json = Json::object();
  for (size_t i = 0; i < all.size(); ++i) {
    const Bandwidth& one = all[i];
    uint64_t packets = 0, large = 0;
    Json sizes = Json::object();
    for (const auto& [mb, carried] : one.sizes) {
      packets += carried.first;
      if (mb > kLargeMb[i]) large += carried.first;
      sizes[KeyOf(mb)] = {carried.first, carried.second};
    }
    const bool has_ratio = packets > 0 && i != kSdma;
    json[kTransports[i]] = {
        {kTransitSize, Sum(one.mb)},
        {kTransitTime, Sum(one.ms)},
        {kBandwidthRate, one.ms > 0 ? Json(Rounded4(one.mb / one.ms)) : Json(0)},
        {"Large Packet Ratio",
         has_ratio ? Json(Rounded4(static_cast<double>(large) / static_cast<double>(packets))) : Json(0)},
        {"Size Distribution", std::move(sizes)}};
  }
  return json;
}

// As `msprof --analyze` calls it: by the number that CANN's collector knows it by.
std::string GroupOf(std::string_view group) {
  const bool is_number = group.find_first_not_of("0123456789") == group.npos;
  return is_number ? std::string(group) : std::to_string(format::CannHash(group));
}

// Tasks that close a run of payloads, with the last of these.
size_t ClosingOf(const std::string& operation) {
  const std::string lower = Lower(operation.substr(0, operation.find('@')));
  const bool is_pair = lower.find("send") != lower.npos || lower.find("receive") != lower.npos;
  return is_pair ? 3 : 5;
}

}  // namespace

void CollectiveParts::Spans(const format::SpanBatch& batch) {
  for (const Span& span : batch.spans) {
    const bool is_whole = span.kind == SpanKind::kComm && told_ == Told::kAsWholes && span.device >= 0;
    if (!is_whole && span.kind != SpanKind::kCommPart) continue;
    if (parts_ >= kMost) {
      ++left_out_;
      continue;
    }
    if (is_whole) {
      AddWhole(batch, span);
    } else {
      AddPart(batch, span);
    }
  }
}

void CollectiveParts::AddPart(const format::SpanBatch& batch, const Span& span) {
  Part part;
  part.begin = span.begin_ns;
  part.ns = span.end_ns > span.begin_ns ? span.end_ns - span.begin_ns : 0;
  part.plane = span.stream;
  part.device = span.device;
  part.from = part.to = kNobody;
  part.name = texts_.Intern(batch.texts->Get(span.name));
  std::string_view operation;
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    const std::string_view key = batch.texts->Get(arg.key);
    const std::string_view text = arg.type == format::ArgType::kText
                                      ? batch.texts->Get(static_cast<format::TextId>(arg.bits))
                                      : std::string_view();
    if (key == "src rank") part.from = static_cast<uint32_t>(arg.bits);
    if (key == "dst rank") part.to = static_cast<uint32_t>(arg.bits);
    if (key == "size(Byte)") part.bytes = arg.bits;
    if (key == "is master") part.is_master = arg.bits != 0;
    if (key == "transport type") part.transport = texts_.Intern(text);
    if (key == "link type") part.link = texts_.Intern(text);
    if (key == "rdma type") part.rdma = texts_.Intern(text);
    if (key == "collective") operation = text;
  }
  if (operation.empty()) return;
  const std::string name = ValidUtf8(operation) + "@" + GroupOf(batch.texts->Get(span.category));
  const auto [at, is_new] = known_.try_emplace(name, operations_.size());
  if (is_new) operations_.emplace_back(name, Parts());
  operations_[at->second].second.push_back(part);
  ++parts_;
}

void CollectiveParts::AddWhole(const format::SpanBatch& batch, const Span& span) {
  uint64_t count = 0, element_bytes = 0;
  std::string_view group = batch.texts->Get(span.category);
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    const std::string_view key = batch.texts->Get(arg.key);
    const bool is_text = arg.type == format::ArgType::kText;
    const std::string_view text =
        is_text ? batch.texts->Get(static_cast<format::TextId>(arg.bits)) : std::string_view();
    if (key == "count" && !is_text && arg.type != format::ArgType::kF64) count = arg.bits;
    if (key == "data_type") element_bytes = ElementBytes(text);
    if (key == "group" && group.empty()) group = text;
  }
  constexpr uint64_t kMostElements = uint64_t{1} << 48;
  wholes_.push_back({ValidUtf8(batch.texts->Get(span.name)) + "@" + GroupOf(group), span.begin_ns,
                     span.end_ns > span.begin_ns ? span.end_ns - span.begin_ns : 0,
                     count < kMostElements ? count * element_bytes : 0});
  ++parts_;
}

bool CollectiveParts::IsSdma(const Part& part) const {
  const std::string_view name = Text(part.name);
  return (name == "Memcpy" || name == "Reduce_Inline") && Text(part.transport) == "SDMA";
}

CollectiveParts::Payloads CollectiveParts::PayloadsAt(const Parts& parts, size_t at, size_t closing) const {
  Payloads payloads;
  size_t end = at;
  for (; end < parts.size() && IsPayload(parts[end]); ++end) payloads.bytes += parts[end].bytes;
  const size_t last = end + closing - 2;
  if (last >= parts.size()) {
    payloads.next = end;
    return payloads;
  }
  payloads.ns = static_cast<int64_t>(parts[last].begin + parts[last].ns - parts[at].begin);
  payloads.next = end + closing - 1;
  return payloads;
}

std::map<uint32_t, CollectiveParts::Parts> CollectiveParts::ByPlane(const Parts& parts) {
  std::map<uint32_t, Parts> planes;
  for (const Part& part : parts) planes[part.plane].push_back(part);
  return planes;
}

Json CollectiveParts::TimesOf(const Parts& all, uint32_t main_plane, size_t closing) const {
  Parts main;
  uint64_t start = UINT64_MAX;
  for (const Part& part : all) {
    if (part.plane == main_plane) main.push_back(part);
    if (part.is_master) start = std::min(start, part.begin);
  }
  double transit = 0, wait = 0, synchronization = 0;
  bool has_carried = false;
  for (size_t i = 0; i < main.size();) {
    const Part& part = main[i];
    if (IsSdma(part) && Text(part.link) != "ON_CHIP") {
      has_carried = true;
      transit += static_cast<double>(part.ns) / kMs;
    }
    if (IsPayload(part)) {
      const Payloads payloads = PayloadsAt(main, i, closing);
      i = payloads.next;
      if (payloads.ns < 0) continue;
      transit += static_cast<double>(payloads.ns) / kMs;
      has_carried = true;
      continue;
    }
    if (Text(part.name) == "Notify_Wait") {
      const double ms = static_cast<double>(part.ns) / kMs;
      if (!has_carried) synchronization += ms;
      wait += ms;
    }
    ++i;
  }
  uint64_t begin = UINT64_MAX, end = 0;
  for (const Part& part : main) {
    begin = std::min(begin, part.begin);
    end = std::max(end, part.begin + part.ns);
  }
  const double elapsed = static_cast<double>(end - begin) / kMs;
  return {{"Start Timestamp(us)", static_cast<double>(start) / 1000},
          {"Elapse Time(ms)", elapsed},
          {kTransitTime, Sum(transit)},
          {"Wait Time(ms)", Sum(wait)},
          {"Synchronization Time(ms)", Sum(synchronization)},
          {"Idle Time(ms)", elapsed - transit - wait},
          {"Wait Time Ratio", RatioOf(wait, transit)},
          {"Synchronization Time Ratio", RatioOf(synchronization, transit)}};
}

Json CollectiveParts::BandwidthsOf(const Parts& all, size_t closing) const {
  Bandwidths carried;
  for (const auto& [plane, parts] : ByPlane(all)) {
    for (size_t i = 0; i < parts.size();) {
      const Part& part = parts[i];
      const std::string_view link = Text(part.link);
      if (IsSdma(part) && link != "ON_CHIP") {
        const size_t of = link == "HCCS" || link == "HCCS_SW" ? kHccs
                          : link == "PCIE"                    ? kPcie
                          : link == "SIO"                     ? kSio
                                                              : kSdma;
        carried[of].Add(static_cast<double>(part.bytes) / kMb, static_cast<double>(part.ns) / kMs);
      }
      if (IsPayload(part)) {
        const Payloads payloads = PayloadsAt(parts, i, closing);
        if (payloads.ns >= 0)
          carried[kRdma].Add(static_cast<double>(payloads.bytes) / kMb,
                             static_cast<double>(payloads.ns) / kMs);
        i = payloads.next;
        continue;
      }
      ++i;
    }
  }
  for (const size_t of : {kHccs, kPcie, kSio}) {
    carried[kSdma].mb += carried[of].mb;
    carried[kSdma].ms += carried[of].ms;
  }
  return JsonOf(carried);
}

CollectiveParts::Links CollectiveParts::LinksOf(const Parts& all, size_t closing) const {
  Links links;
  const auto of = [&links](const Part& part) -> Link& {
    const uint32_t to = part.to == kNobody ? part.from : part.to;
    const std::string key = std::to_string(part.from) + "-" + std::to_string(to);
    return links[key];
  };
  for (const auto& [plane, parts] : ByPlane(all)) {
    for (size_t i = 0; i < parts.size();) {
      const Part& part = parts[i];
      if (part.from == kNobody) {
        ++i;
        continue;
      }
      if (IsSdma(part)) {
        Link& link = of(part);
        const std::string_view by = Text(part.link);
        link.transport = by == "ON_CHIP" ? "LOCAL" : by == "HCCS_SW" ? "HCCS" : by;
        link.mb += static_cast<double>(part.bytes) / kMb;
        link.ms += static_cast<double>(part.ns) / kMs;
      }
      if (IsPayload(part)) {
        const Payloads payloads = PayloadsAt(parts, i, closing);
        if (payloads.ns >= 0) {
          Link& link = of(part);
          link.transport = Text(part.transport);
          link.mb += static_cast<double>(payloads.bytes) / kMb;
          link.ms += static_cast<double>(payloads.ns) / kMs;
        }
        i = payloads.next;
        continue;
      }
      ++i;
    }
  }
  return links;
}

CollectiveParts::Analysis CollectiveParts::Analyze() const {
  Analysis analysis;
  static const std::set<std::string_view> kKnown = {"HCCS", "PCIE", "RDMA", "LOCAL", "SIO"};
  for (const auto& [operation, given] : operations_) {
    Parts parts;
    const int32_t device = std::ranges::min_element(given, {}, &Part::device)->device;
    std::ranges::copy_if(given, std::back_inserter(parts),
                         [device](const Part& part) { return part.device == device; });
    std::ranges::stable_sort(parts, {}, &Part::begin);
    const size_t closing = ClosingOf(operation);
    const auto main = std::ranges::find_if(parts, &Part::is_master);
    if (main == parts.end()) {
      ++analysis.without_main;
    } else {
      analysis.times[operation] = {{"Communication Time Info", TimesOf(parts, main->plane, closing)},
                                   {"Communication Bandwidth Info", BandwidthsOf(parts, closing)}};
    }
    Json& links = analysis.matrix[operation] = Json::object();
    for (const auto& [key, link] : LinksOf(parts, closing)) {
      links[key] = {{kTransportType, kKnown.contains(link.transport) ? Json(link.transport) : Json()},
                    {kTransitSize, Sum(link.mb)},
                    {kTransitTime, Sum(link.ms)},
                    {kBandwidthRate, link.ms > 0 ? Json(Rounded4(link.mb / link.ms)) : Json(0)}};
    }
  }
  for (const Whole& whole : wholes_) {
    if (known_.contains(whole.operation)) continue;
    const double ms = static_cast<double>(whole.ns) / kMs;
    Bandwidths carried;
    if (whole.bytes > 0) carried[kHccs].Add(static_cast<double>(whole.bytes) / kMb, ms);
    analysis.times[whole.operation] = {{"Communication Time Info",
                                        {{"Start Timestamp(us)", static_cast<double>(whole.begin) / 1000},
                                         {"Elapse Time(ms)", ms},
                                         {kTransitTime, Sum(ms)},
                                         {"Wait Time(ms)", 0},
                                         {"Synchronization Time(ms)", 0},
                                         {"Idle Time(ms)", 0},
                                         {"Wait Time Ratio", 0},
                                         {"Synchronization Time Ratio", 0}}},
                                       {"Communication Bandwidth Info", JsonOf(carried)}};
    analysis.matrix[whole.operation] = Json::object();
  }
  return analysis;
}

}  // namespace profd::client::framework
