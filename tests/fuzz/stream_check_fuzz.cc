// Any bytes as a stream's file: the check takes them all, in whatever pieces; what is kept of a torn file is
// no more than the file, and found whole as far as its end goes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "format/check/stream_check.h"
#include "format/directory/own_folder.h"

namespace {

using namespace profd::format;

uint64_t Records(const FileShape& shape, std::span<const std::byte> bytes, size_t piece) {
  StreamCheck check(shape, true);
  size_t begin = 0;
  for (size_t end = 0; end < bytes.size();) {
    end = std::min(bytes.size(), end + piece);
    begin += check.Take(bytes.subspan(begin, end - begin), end == bytes.size());
    PROFD_CHECK(begin <= end);
  }
  PROFD_CHECK(begin == bytes.size() && check.findings().size() <= StreamCheck::kMaxFindings);
  return check.records().value_or(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static constexpr struct {
    std::string_view folder, file;
  } kFiles[] = {{"device_0", "hbm.data"},
                {"device_0", "aicpu.data"},
                {"device_0", "hccs.data"},
                {"device_0", "lpmInfoConv.data"},
                {"device_0", "ts_track.data"},
                {"host", "host_cpu.data"},
                {"host", "host_disk.data"},
                {profd::format::kOwnFolder, "a.lanes"},
                {profd::format::kOwnFolder, "a.names"}};
  if (size < 2) return 0;
  const auto& file = kFiles[data[0] % std::size(kFiles)];
  const FileShape shape = ShapeOf(file.folder, file.file, Chip{data[1]});
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  const uint64_t records = Records(shape, bytes, 1 << 20);
  const uint64_t again = Records(shape, bytes, 64);
  // A block may hide whole blocks in its payload, which only one who sees all of it can tell.
  PROFD_CHECK(records == again || file.folder == profd::format::kOwnFolder);
  for (const uint64_t page : {64, 4096}) {
    const uint64_t end = WholeEnd(shape, bytes, 0, page);
    PROFD_CHECK(end <= bytes.size());
    PROFD_CHECK(WholeEnd(shape, bytes.first(end), 0, page) <= end);
  }
  (void)ChipOf({reinterpret_cast<const char*>(data), size});
  (void)DoneBytes({reinterpret_cast<const char*>(data), size});
  return 0;
}
