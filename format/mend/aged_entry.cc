#include "format/mend/aged_entry.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/fnv.h"

namespace profd::mend {

namespace {

constexpr size_t kSumBytes = 11;  // " " and ten digits

std::string Digits(uint32_t value) {
  std::string text = std::to_string(value);
  return std::string(10 - text.size(), '0') + text;
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

std::optional<std::string> WriteAgedEntry(const AgedEntry& entry) {
  const format::ManifestAged& aged = entry.aged;
  std::string text = std::to_string(entry.part) + ' ' + std::to_string(aged.slices) + ' ' +
                     std::to_string(aged.bytes) + ' ' + std::to_string(aged.records) + ' ' +
                     std::to_string(aged.from_ns) + ' ' + std::to_string(aged.to_ns) + ' ' + entry.path;
  constexpr size_t kTextBytes = kAgedEntryBytes - kSumBytes - 1;
  if (text.size() > kTextBytes || entry.path.empty() || entry.path.ends_with(' ')) return std::nullopt;
  text.resize(kTextBytes, ' ');
  return text + ' ' + Digits(base::Fnv1a(text)) + '\n';
}

std::optional<AgedEntry> ParseAgedEntry(std::string_view text) {
  if (text.size() != kAgedEntryBytes || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  const std::string_view sum = text.substr(text.size() - kSumBytes);
  text.remove_suffix(kSumBytes);
  if (sum != " " + Digits(base::Fnv1a(text))) return std::nullopt;
  AgedEntry entry;
  format::ManifestAged& aged = entry.aged;
  if (!TakeNumber(text, entry.part) || !TakeNumber(text, aged.slices) || !TakeNumber(text, aged.bytes) ||
      !TakeNumber(text, aged.records) || !TakeNumber(text, aged.from_ns) || !TakeNumber(text, aged.to_ns)) {
    return std::nullopt;
  }
  const size_t last = text.find_last_not_of(' ');
  if (last == std::string_view::npos) return std::nullopt;
  entry.path = text.substr(0, last + 1);
  return entry;
}

std::vector<AgedEntry> ParseAgedLog(std::string_view text) {
  std::vector<AgedEntry> entries;
  for (; text.size() >= kAgedEntryBytes; text.remove_prefix(kAgedEntryBytes)) {
    if (auto entry = ParseAgedEntry(text.substr(0, kAgedEntryBytes))) entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace profd::mend
