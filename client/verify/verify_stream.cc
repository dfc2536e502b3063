#include "client/verify/verify_stream.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "client/files/holes.h"
#include "client/files/prof_files.h"
#include "client/words/text.h"
#include "format/decode/framing.h"
#include "format/directory/prof_dir.h"

namespace profd::client {

namespace {

using base::Status;
using base::UniqueFd;
using format::FileShape;

constexpr size_t kPiece = 256u << 10;  // stays in the cache between being read and checked
constexpr size_t kMaxPiece = 16u << 20;

std::string KindOf(const std::string& side, const std::string& file) {
  const auto device = format::DeviceOfFolder(side);
  const std::string tag = device ? "." + std::to_string(*device) : "";
  return !tag.empty() && file.ends_with(tag) ? file.substr(0, file.size() - tag.size()) : file;
}

}  // namespace

StreamVerifier::StreamVerifier(Where where, const std::string& file, std::set<uint64_t> slices,
                               const Records& records, bool by_profd)
    : where_(std::move(where)),
      file_(file),
      numbers_(std::move(slices)),
      by_profd_(by_profd),
      kind_(KindOf(where_.side, file)),
      needs_chip_(format::DiffersByChip(kind_, records.cores_by_task)),
      shape_(format::ShapeOf(where_.side, kind_, records.chip, records.cores_by_task)),
      check_(shape_, *numbers_.begin() == 0) {}

void StreamVerifier::Complain(const std::string& file, const std::string& what,
                              std::optional<uint64_t> offset) {
  complaints_.push_back({file, offset, what});
}

void StreamVerifier::Run() {
  std::vector<std::pair<uint64_t, std::string>> begins;  // which slice an offset of the stream is in
  size_t reported = 0;
  Buffer buffer{.bytes = std::vector<std::byte>(kPiece)};
  uint64_t previous = *numbers_.begin();
  for (const uint64_t number : numbers_) {
    const std::string name = format::SliceName(file_, -1, number);
    const std::string path = where_.folder + name;
    if (number > previous + 1) {
      Complain(path, "slices " + std::to_string(previous + 1) + " to " + std::to_string(number - 1) +
                         " before it are missing");
    }
    previous = number;
    begins.emplace_back(bytes_, path);
    // The vendor's collector cuts slices anywhere; only the end of the stream is a record's.
    bytes_ += Slice(name, buffer, by_profd_ || number == *numbers_.rbegin());
    for (; reported < check_.findings().size(); ++reported) {
      const format::Finding& finding = check_.findings()[reported];
      const auto in =
          std::prev(std::upper_bound(begins.begin(), begins.end(), finding.offset,
                                     [](uint64_t at, const auto& begin) { return at < begin.first; }));
      Complain(in->second, finding.what, finding.offset - in->first);
    }
  }
  if (check_.more_findings() > 0) {
    Complain(where_.folder + file_,
             "and " + std::to_string(check_.more_findings()) + " more places of this stream");
  }
}

FoundStream StreamVerifier::found() const {
  std::optional<uint64_t> bytes = bytes_ - check_.header_bytes();
  if (!is_known() && needs_chip_) bytes = std::nullopt;
  return {.bytes = bytes,
          .records = check_.records(),
          .first_slice = *numbers_.begin(),
          .next_slice = *numbers_.rbegin() + 1,
          .lane_records = check_.lane_records()};
}

void StreamVerifier::Take(Buffer& buffer, bool last) {
  const size_t taken = check_.Take(std::span(buffer.bytes).first(buffer.held), last);
  std::copy(buffer.bytes.begin() + static_cast<ptrdiff_t>(taken),
            buffer.bytes.begin() + static_cast<ptrdiff_t>(buffer.held), buffer.bytes.begin());
  buffer.held -= taken;
}

// How many bytes the slice has.
uint64_t StreamVerifier::Slice(const std::string& name, Buffer& buffer, bool ends_whole) {
  const std::string path = where_.folder + name;
  uint64_t size = 0;
  std::string why;
  const UniqueFd fd = OpenFile(where_.data, name, &size, &why);
  if (!fd) {
    Complain(path, why);
    return 0;
  }
  if (size == 0) Complain(path, "is empty");
  const uint32_t unit = shape_.what == FileShape::What::kFixed ? shape_.format->record_bytes : 8;
  Holes holes;
  uint64_t read = 0;
  while (read < size) {
    const Holes::Ahead ahead = holes.Look(fd.get(), read, size, unit);
    if (ahead.is_hole) {
      Complain(
          path,
          "a hole of " + FormatBytes(static_cast<double>(ahead.bytes)) + ": nothing was ever written there",
          read);
      check_.Skip(ahead.bytes);
      ::lseek(fd.get(), static_cast<off_t>(ahead.bytes), SEEK_CUR);
      read += ahead.bytes;
      Take(buffer, ends_whole && read == size);
      continue;
    }
    if (buffer.held == buffer.bytes.size()) {
      if (buffer.held >= kMaxPiece) {  // no line or block is that long
        Complain(path, "no end of a record in " + FormatBytes(static_cast<double>(buffer.held)),
                 check_.offset());
        check_.Skip(buffer.held);
        buffer.held = 0;
      } else {
        buffer.bytes.resize(buffer.bytes.size() * 2);
      }
    }
    const size_t room =
        static_cast<size_t>(std::min<uint64_t>(buffer.bytes.size() - buffer.held, ahead.bytes));
    const ssize_t got = ReadSome(fd.get(), buffer.bytes.data() + buffer.held, room);
    if (got <= 0) {
      Complain(path, got < 0 ? Status::FromErrno("cannot be read").message() : "became shorter meanwhile",
               read);
      break;
    }
    read += static_cast<uint64_t>(got);
    buffer.held += static_cast<size_t>(got);
    Take(buffer, ends_whole && read == size);
  }
  if (ends_whole && buffer.held > 0) {  // after an error
    check_.Skip(buffer.held);
    buffer.held = 0;
  }
  return read;
}

}  // namespace profd::client
