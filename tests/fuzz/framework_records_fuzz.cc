// Records of FRAMEWORK/: any bytes as rows with heads, and as rows without. No text may lie outside of its
// row.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/framework/info.h"
#include "format/framework/mindspore.h"
#include "format/framework/records.h"

namespace profd::format::framework {

namespace {

void Inside(std::string_view text, const std::vector<std::byte>& row) {
  if (text.data() == nullptr) return;
  const auto* begin = reinterpret_cast<const char*>(row.data());
  PROFD_CHECK(text.data() >= begin && text.data() + text.size() <= begin + row.size());
}

void Parse(Bytes value) {
  const std::vector<std::byte> exact(value.begin(), value.end());
  if (const auto range = ParseOpRange(exact)) {
    for (const std::string_view text :
         {range->name, range->types, range->dims, range->stack, range->modules, range->flops})
      Inside(text, exact);
  }
  if (const auto mark = ParseOpMark(exact)) Inside(mark->name, exact);
  if (const auto name = ParsePythonName(exact)) Inside(name->text, exact);
  if (const auto use = ParseMemoryUse(exact)) PROFD_CHECK(exact.size() >= 77);
  for (const MsLayout layout : {MsLayout::kNew, MsLayout::kOld}) {
    const auto range = ParseMsRange(exact, layout);
    if (!range) continue;
    for (const std::string_view text :
         {range->name, range->full_name, range->graph_module, range->graph_event, range->custom, range->types,
          range->shapes, range->stack})
      Inside(text, exact);
    PROFD_CHECK(range->Name().size() <= 3 * exact.size() + 100);
  }
  if (const auto layout = MsLayoutOf(exact)) PROFD_CHECK(ParseMsRange(exact, *layout)->is_torn == false);
  const MsShapes shapes = ParseMsShapes(exact);
  for (const std::string_view text : {shapes.name, shapes.shapes, shapes.types}) Inside(text, exact);
}

}  // namespace

}  // namespace profd::format::framework

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::format::framework;
  const Bytes all(reinterpret_cast<const std::byte*>(data), size);
  for (Bytes rest = all; !rest.empty();) {
    const uint64_t bytes = RowBytes(rest);
    if (bytes == 0 || bytes > rest.size()) break;
    Parse(ValueOf(rest.first(bytes)));
    rest = rest.subspan(bytes);
  }
  for (Bytes rest = all; rest.size() >= GcRun::kBytes; rest = rest.subspan(GcRun::kBytes)) {
    const std::vector<std::byte> row(rest.begin(), rest.begin() + GcRun::kBytes);
    const GcRun run = ParseGcRun(row);
    for (const bool as_vendor : {false, true}) {
      const Clock clock{true, 38.4, run.start, run.end, static_cast<int64_t>(run.pid)};
      PROFD_CHECK(clock.WallNs(run.end, as_vendor) >= 0);
    }
  }
  for (Bytes rest = all; rest.size() >= PythonCall::kBytes; rest = rest.subspan(PythonCall::kBytes)) {
    const std::vector<std::byte> row(rest.begin(), rest.begin() + PythonCall::kBytes);
    if (const auto call = ParsePythonCall(row)) PROFD_CHECK(call->kind <= PythonCall::Kind::kNativeReturn);
  }
  const auto info = ParseProfilerInfo({reinterpret_cast<const char*>(data), size});
  PROFD_CHECK(info.ok() || !info.status().message().empty());
  return 0;
}
