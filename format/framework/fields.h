// The fields behind the fixed part of a row.
#pragma once

#include <string_view>

#include "format/framework/records.h"
#include "format/records/packed.h"

namespace profd::format::framework {

// Calls `visit(id, text)` for each; false: the last one is cut.
template <typename Visit>
bool EachField(Bytes fields, Visit visit) {
  while (!fields.empty()) {
    const uint64_t bytes = RowBytes(fields);
    if (bytes == 0 || bytes > fields.size()) return false;
    const Bytes value = ValueOf(fields.first(bytes));
    visit(Load<uint16_t>(fields.data()),
          std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
    fields = fields.subspan(bytes);
  }
  return true;
}

}  // namespace profd::format::framework
