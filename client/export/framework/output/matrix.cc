#include "client/export/framework/output/matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>

#include "client/export/write/number_text.h"
#include "client/words/ascii.h"

namespace profd::client::framework {
namespace {

// The word that comes first in a name; of several that begin there the first one here.
std::string TypeOf(const std::string& name) {
  static constexpr std::array<std::string_view, 10> kWords = {
      "send",    "reduce",    "invalid", "broadcast", "allreduce",
      "receive", "allgather", "scatter", "alltoall",  "batchsendrecv"};
  const std::string lower = Lower(name);
  size_t first = std::string::npos;
  std::string_view type;
  for (const std::string_view word : kWords) {
    const size_t at = lower.find(word);
    if (at < first) {
      first = at;
      type = word;
    }
  }
  return type.empty() ? name.substr(0, name.find("__")) : std::string(type);
}

}  // namespace

const Json& MemberOf(const Json& object, const char* key) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}
double NumberOf(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

void AddTo(Json& sum, const Json& value) {
  if (!value.is_number()) return;
  if (sum.is_number_integer() && value.is_number_integer() &&
      std::fabs(NumberOf(sum) + NumberOf(value)) < 1e15) {
    sum = sum.get<int64_t>() + value.get<int64_t>();
  } else {
    sum = NumberOf(sum) + NumberOf(value);
  }
}

Json Ratio(double part, double whole) {
  if (std::fabs(whole) < 1e-15) return 0;
  return Rounded(part / whole, 4);
}

Class ClassOf(const std::string& operation) {
  const std::string lower = Lower(operation);
  for (const char* const of_pair : {"hcom_send", "hcom_receive", "hcom_batchsendrecv"}) {
    if (lower.starts_with(of_pair)) return Class::kPair;
  }
  return lower.starts_with("total") ? Class::kNone : Class::kCollective;
}

Json MatrixOf(const std::vector<std::pair<std::string, const Json*>>& ops) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, size_t> known;
  std::vector<std::pair<Key, std::vector<Json>>> links;  // as they come
  for (const auto& [name, op] : ops) {
    if (!op->is_object()) continue;
    const size_t at = name.rfind('@');
    for (const auto& [link, carried] : op->items()) {
      if (!carried.is_object()) continue;
      Key key{TypeOf(name), at == std::string::npos ? name : name.substr(at + 1), link};
      const auto [place, is_new] = known.try_emplace(key, links.size());
      if (is_new) links.emplace_back(std::move(key), std::vector<Json>());
      Json copy = carried;
      copy[kOpName] = name.substr(0, name.find('@'));
      links[place->second].second.push_back(std::move(copy));
    }
  }
  Json all = Json::object();
  for (auto& [key, carried] : links) {
    const auto& [type, group, link] = key;
    std::ranges::stable_sort(carried, std::greater(),
                             [](const Json& one) { return NumberOf(MemberOf(one, kBandwidthRate)); });
    const auto put = [&, &type = type, &group = group, &link = link](const char* which, const Json& one) {
      all[type + which + "@" + group][link] = one;
    };
    Json size = 0, transit = 0;
    for (const Json& one : carried) {
      AddTo(size, MemberOf(one, kTransitSize));
      AddTo(transit, MemberOf(one, kTransitTime));
    }
    put("-top1", carried.front());
    put("-middle", carried[carried.size() / 2]);
    put("-bottom1", carried.back());
    const Json& transport = MemberOf(carried.front(), kTransportType);
    put("-total", {{kTransportType, transport.is_null() ? Json("") : transport},
                   {kTransitSize, size},
                   {kTransitTime, transit},
                   {kBandwidthRate, Ratio(NumberOf(size), NumberOf(transit))}});
    if (carried.size() >= 2) put("-bottom2", carried[carried.size() - 2]);
    if (carried.size() >= 3) put("-bottom3", carried[carried.size() - 3]);
  }
  return all;
}

}  // namespace profd::client::framework
