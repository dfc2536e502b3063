#include "format/decode/cann/markers.h"

#include <algorithm>
#include <iterator>

namespace profd::format {

namespace {

constexpr size_t kMostOpen = 1 << 12;

}  // namespace

Markers::Markers(CannNames& names, SpanWriter& spans)
    : names_(names),
      spans_(spans),
      category_key_(spans.texts().Intern("category")),
      payload_key_(spans.texts().Intern("payload")) {}

std::string_view Markers::Text(const CannMarker& record) {
  const auto* const end = std::find(std::begin(record.text), std::end(record.text), '\0');
  return {record.text, static_cast<size_t>(end - record.text)};
}

bool Markers::Wait(const CannMarker& record, uint64_t begin_ns, uint64_t end_ns) {
  // A piece that is full may have another one behind it, whether or not its text ends with a zero.
  const std::string_view text = Text(record);
  const bool is_full = text.size() + 1 >= sizeof record.text;
  auto found = open_.find(record.number);
  if (found == open_.end()) {
    if (record.piece > 0) {
      ++alone_;
      return true;
    }
    if (!is_full || open_.size() >= kMostOpen) return false;
    found = open_.emplace(record.number, Open{record, begin_ns, end_ns, {}}).first;
  }
  found->second.pieces[record.piece] = text;
  if (is_full) return true;
  std::string whole;
  for (const auto& [number, piece] : found->second.pieces) whole += piece;
  Give(found->second.first, whole, found->second.begin_ns, found->second.end_ns);
  open_.erase(found);
  return true;
}

void Markers::Finish() {
  for (const auto& [number, open] : open_) {
    std::string whole;
    for (const auto& [at, piece] : open.pieces) whole += piece;
    Give(open.first, whole, open.begin_ns, open.end_ns);
  }
  open_.clear();
}

void Markers::Give(const CannMarker& record, const std::string& text, uint64_t begin_ns, uint64_t end_ns) {
  const bool is_mstx = record.source == CannMarker::kMstx;
  const bool is_mark = record.event == CannMarker::kMark || record.event == CannMarker::kMarkOnStream;
  Span& span = spans_.Add(is_mark ? SpanKind::kMark : SpanKind::kRange);
  span.begin_ns = begin_ns;
  span.end_ns = is_mark ? begin_ns : std::max(begin_ns, end_ns);
  span.pid = record.process;
  span.tid = record.thread;
  span.name = spans_.texts().Intern(text);
  // A range of a start and an end has a number; that of AscendCL's functions is not told.
  constexpr uint64_t kSomeNumber = 1;
  if (record.event == CannMarker::kStartEnd)
    span.value = is_mstx && record.number != 0 ? record.number : kSomeNumber;
  if (is_mstx) {
    span.category = names_.Hash(record.domain);
    return;
  }
  spans_.AddArg(category_key_, std::to_string(record.category));
  spans_.AddArg(payload_key_, ArgType::kU64, record.payload);
}

}  // namespace profd::format
