#include "client/show/kinds/kind_lines.h"

#include <algorithm>

#include "client/words/alike.h"

namespace profd::client {

namespace {

bool Alike(const v1::KindState& a, const v1::KindState& b) {
  return a.kind() == b.kind() && a.verdict() == b.verdict() && a.requested_hz() == b.requested_hz() &&
         a.effective_hz() == b.effective_hz() && (a.lost() > 0) == (b.lost() > 0) &&
         Merged(a.reason(), b.reason()).has_value();
}

// 0: failed, 1: lost something, 2: is not there yet, 3: all is well.
int Trouble(const v1::KindState& kind) {
  if (kind.verdict() == v1::VERDICT_FAILED) return 0;
  if (kind.lost() > 0) return 1;
  return kind.verdict() == v1::VERDICT_PENDING ? 2 : 3;
}

}  // namespace

std::vector<KindLine> KindLines(const std::vector<const v1::KindState*>& kinds, bool folds) {
  std::vector<KindLine> lines;
  for (const v1::KindState* kind : kinds) {
    const auto alike = [kind](const KindLine& line) { return Alike(line.sum, *kind); };
    auto line = folds ? std::ranges::find_if(lines, alike) : lines.end();
    if (line == lines.end()) {
      lines.push_back({*kind, {kind->unit()}});
      continue;
    }
    v1::KindState& sum = line->sum;
    line->units.push_back(kind->unit());
    sum.set_bytes(sum.bytes() + kind->bytes());
    sum.set_records(sum.records() + kind->records());
    sum.set_lost(sum.lost() + kind->lost());
    sum.set_bytes_per_s(sum.bytes_per_s() + kind->bytes_per_s());
    sum.set_record_bytes(std::max(sum.record_bytes(), kind->record_bytes()));
    sum.set_reason(*Merged(sum.reason(), kind->reason()));
  }
  std::ranges::stable_sort(lines, {}, [](const KindLine& line) { return Trouble(line.sum); });
  return lines;
}

}  // namespace profd::client
