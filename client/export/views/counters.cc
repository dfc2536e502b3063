#include "client/export/views/counters.h"

#include <algorithm>

namespace profd::client {

void Labels::Set(const format::Series& series, int device, size_t key, int64_t value, std::string_view text) {
  if (texts_.size() < kMost) texts_[{series.name, device, key, value}] = text;
}

std::string_view Labels::Get(const format::Series& series, int device, size_t key, int64_t value) const {
  const auto found = texts_.find({series.name, device, key, value});
  return found == texts_.end() ? std::string_view() : found->second;
}

namespace {

int IndexOf(const format::Series& series, std::string_view column) {
  for (size_t i = 0; i < series.columns.size(); ++i)
    if (series.columns[i].name == column) return static_cast<int>(i);
  return -1;
}

int KeyOf(const format::Series& series, std::string_view key) {
  const auto found = std::ranges::find(series.keys, key);
  return found == series.keys.end() ? -1 : static_cast<int>(found - series.keys.begin());
}

bool Bind(const CounterArg& arg, const format::Series& series, BoundArg& bound) {
  bound.scale = arg.scale;
  bound.form = arg.form;
  if (arg.source.starts_with('@')) {
    bound.key = KeyOf(series, arg.source.substr(1));
    return bound.key >= 0;
  }
  const size_t plus = std::min(arg.source.find('+'), arg.source.size());
  bound.column = IndexOf(series, arg.source.substr(0, plus));
  if (plus == arg.source.size()) return bound.column >= 0;
  bound.second = IndexOf(series, arg.source.substr(plus + 1));
  return bound.column >= 0 && bound.second >= 0;
}

bool Applies(std::string_view when, const format::Series& series, std::span<const int64_t> keys) {
  if (when.empty()) return true;
  const size_t equals = when.find('=');
  const bool other = equals > 0 && when[equals - 1] == '!';
  const int key = KeyOf(series, when.substr(0, other ? equals - 1 : equals));
  return key >= 0 && (std::to_string(keys[static_cast<size_t>(key)]) == when.substr(equals + 1)) != other;
}

}  // namespace

std::vector<BoundEvent> BindEvents(const CounterTable& table, const format::Series& series, int device,
                                   std::span<const int64_t> keys, const Labels& labels, Flavour flavour) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < keys.size(); ++i) names.push_back(labels.Get(series, device, i, keys[i]));
  std::vector<BoundEvent> events;
  for (const CounterEvent& event : table.events) {
    if (!Applies(event.when, series, keys)) continue;
    BoundEvent bound{&event, FillName(event.name, series, keys, names), {}};
    for (const CounterArg& arg : event.args) {
      const bool renamed = flavour.older && !arg.older_name.empty();
      const bool vendors = flavour.vendor_compatible && !arg.vendor_name.empty();
      BoundArg one{FillName(vendors   ? arg.vendor_name
                            : renamed ? arg.older_name
                                      : arg.name,
                            series, keys, names)};
      if (!Bind(arg, series, one)) continue;
      if (flavour.vendor_compatible && arg.vendor_scale != 0) one.scale = arg.vendor_scale;
      bound.args.push_back(std::move(one));
    }
    if (!bound.args.empty()) events.push_back(std::move(bound));
  }
  return events;
}

std::optional<uint32_t> KeySets::Find(const int64_t* keys, bool& fresh) {
  fresh = false;
  if (!sets_.empty()) {
    const uint32_t guess = follows_[last_];
    if (std::equal(keys, keys + count_, sets_[guess].begin())) return last_ = guess;
  }
  Keys wanted{};
  std::copy(keys, keys + count_, wanted.begin());
  return Search(wanted, fresh);
}

std::optional<uint32_t> KeySets::Search(const Keys& keys, bool& fresh) {
  auto found = index_.find(keys);
  if (found == index_.end()) {
    if (sets_.size() == kMost) return std::nullopt;
    fresh = true;
    found = index_.emplace(keys, static_cast<uint32_t>(sets_.size())).first;
    sets_.push_back(keys);
    follows_.push_back(found->second);
  }
  if (sets_.size() > 1) follows_[last_] = found->second;
  return last_ = found->second;
}

}  // namespace profd::client
