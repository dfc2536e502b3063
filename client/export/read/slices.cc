#include "client/export/read/slices.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/files/prof_files.h"
#include "format/check/stream_check.h"

namespace profd::client {

namespace {

using base::Status;

constexpr size_t kPiece = 1u << 17;  // several at once fit a core's cache
constexpr size_t kMostPiece = 16u << 20;
constexpr size_t kConvincing = 3;      // records in a row
constexpr size_t kLookedThrough = 16;  // records, for where whole ones begin again

}  // namespace

StreamReader::StreamReader(const Capture& capture, const Stream& stream, const Framed& framed, Report& report,
                           Progress* progress)
    : stream_(stream), framed_(framed), report_(report), progress_(progress), buffer_(kPiece) {
  folder_ = OpenDir(capture.dir.get(), stream.folder.substr(0, stream.folder.find('/')));
  if (folder_ && stream.folder.find('/') != std::string::npos) {
    folder_ = OpenDir(folder_.get(), stream.folder.substr(stream.folder.find('/') + 1));
  }
  if (framed.last_slice_only && !stream.slices.empty()) next_ = stream.slices.size() - 1;
  run_.end = next_;
  if (framed.stamps != nullptr)
    spikes_.emplace(*framed.stamps, framed.stamps_per_second, framed.stamp_tolerance);
}

void StreamReader::Skip(size_t bytes, uint64_t records, std::string why) {
  auto [slice, offset] = At(read_ - unread());
  report_.Skip({std::move(slice), offset, bytes, records, std::move(why)});
  begin_ += bytes;
  lost_ = true;
}

StreamReader::Place StreamReader::At(uint64_t position) const {
  const auto behind = std::ranges::upper_bound(extents_, position, {}, &Extent::position);
  if (behind == extents_.begin()) return {stream_.path(), 0};
  const Extent& extent = behind[-1];
  return {stream_.folder + "/" + stream_.slices[extent.slice].name,
          extent.offset + position - extent.position};
}

// The next slice that can be read, of the same run or of a new one. False: there is none.
bool StreamReader::Open() {
  while (next_ < stream_.slices.size()) {
    const std::vector<Slice>& slices = stream_.slices;
    if (next_ == run_.end && (next_ > 0 || slices[0].number > 0)) lost_ = true;
    if (next_ == run_.end) {
      run_ = {next_ + 1, slices[next_].bytes};
      for (; run_.end < slices.size() && slices[run_.end].number == slices[run_.end - 1].number + 1;
           ++run_.end) {
        run_.bytes += slices[run_.end].bytes;
      }
      aligned_ = false;
      run_begin_ = next_;
      if (next_ == 0 && slices[0].number > 0) {
        report_.Note(stream_.path(), slices[0].number,
                     "slice at its begin is not there: the storage limit has removed it",
                     "slices at its begin are not there: the storage limit has removed them");
      }
      if (next_ > 0 && !framed_.last_slice_only) {
        report_.Skip({stream_.path(), 0, 0, 0,
                      "slices " + std::to_string(slices[next_ - 1].number + 1) + " to " +
                          std::to_string(slices[next_].number - 1) + " are missing"});
      }
    }
    const Slice& slice = slices[next_++];
    uint64_t bytes = 0;
    std::string why;
    fd_ = OpenFile(folder_.get(), slice.name, &bytes, &why);
    slice_left_ = slice.bytes;
    opened_ = unread() == 0;
    if (fd_) {
      extents_.push_back({.position = read_, .slice = next_ - 1});
      holes_ = {};
      return true;
    }
    report_.Skip({stream_.folder + "/" + slice.name, 0, slice.bytes, 0, why});
    lost_ = true;
  }
  return false;
}

Holes::Ahead StreamReader::LookAhead() {
  const uint64_t size = stream_.slices[next_ - 1].bytes;
  // Records lie as they lay.
  const uint32_t unit = framed_.by == Framed::By::kRecord ? framed_.record_bytes : 1;
  return holes_.Look(fd_.get(), size - slice_left_, size, unit);
}

void StreamReader::SkipHole(uint64_t bytes) {
  const Slice& slice = stream_.slices[next_ - 1];
  report_.Skip({stream_.folder + "/" + slice.name, slice.bytes - slice_left_, bytes, 0,
                "is a hole: nothing was ever written there"});
  slice_left_ -= bytes;
  ::lseek(fd_.get(), static_cast<off_t>(bytes), SEEK_CUR);
  extents_.push_back({.position = read_, .slice = next_ - 1, .offset = slice.bytes - slice_left_});
  if (progress_ != nullptr) progress_->bytes += bytes;
  lost_ = true;
}

// Reads on in the slice that is open, as far as there is room.
void StreamReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, unread());
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size() && buffer_.size() < kMostPiece) buffer_.resize(buffer_.size() * 2);
  const size_t held = unread();
  while (fd_ && end_ < buffer_.size() && slice_left_ > 0) {
    const Holes::Ahead ahead = LookAhead();
    if (ahead.is_hole && unread() > held) break;  // the next piece begins behind it
    if (ahead.is_hole) {
      SkipHole(ahead.bytes);
      continue;
    }
    const size_t room = static_cast<size_t>(std::min<uint64_t>(buffer_.size() - end_, ahead.bytes));
    const ssize_t got = ReadSome(fd_.get(), buffer_.data() + end_, room);
    if (got <= 0) {
      report_.Skip({stream_.folder + "/" + stream_.slices[next_ - 1].name,
                    stream_.slices[next_ - 1].bytes - slice_left_, slice_left_, 0,
                    got < 0 ? Status::FromErrno("cannot be read").message() : "became shorter meanwhile"});
      slice_left_ = 0;
      lost_ = true;
      break;
    }
    end_ += static_cast<size_t>(got);
    slice_left_ -= static_cast<uint64_t>(got);
    read_ += static_cast<uint64_t>(got);
    if (progress_ != nullptr) progress_->bytes += static_cast<uint64_t>(got);
  }
  if (slice_left_ == 0) fd_.Reset();
}

std::span<const std::byte> StreamReader::Piece(size_t bytes) {
  begins_slice_ = std::exchange(opened_, false);
  piece_position_ = read_ - unread();
  const auto piece = std::span(buffer_).subspan(begin_, bytes);
  begin_ += bytes;
  return piece;
}

std::span<const std::byte> StreamReader::Next() {
  begins_slice_ = lost_ = false;
  while (progress_ == nullptr || !progress_->cancelled) {
    const size_t held = unread();
    size_t whole = 0;
    if (framed_.by == Framed::By::kRecord) whole = Records();
    if (framed_.by == Framed::By::kLine) whole = Lines();
    if (whole > 0) return Piece(whole);
    if (unread() < held) continue;  // some of it was no good
    if (!fd_ && next_ == run_.end && held > 0 && framed_.by != Framed::By::kCaller) {
      // What no neighbour completes.
      const bool last_line = framed_.by == Framed::By::kLine && next_ == stream_.slices.size();
      if (last_line) return Piece(held);
      Skip(held, 0, "the end of a record whose rest is missing");
      continue;
    }
    if (!fd_ && !Open()) break;
    Fill();
    if (framed_.by == Framed::By::kCaller && (fd_ || unread() > held)) return Piece(unread());
    if (unread() == held && fd_) Skip(held, 0, "no end of a record in 16 MiB");
  }
  return {};
}

size_t StreamReader::Lines() {
  const auto* first = reinterpret_cast<const char*>(buffer_.data() + begin_);
  const size_t end = std::string_view(first, unread()).rfind('\n');
  return end == std::string_view::npos ? 0 : end + 1;
}

size_t StreamReader::GoodRecords(size_t at) const {
  const size_t count = (end_ - std::min(at, end_)) / framed_.record_bytes;
  if (framed_.check == nullptr) return count;
  return format::LeadingRecords(*framed_.check, buffer_.data() + at, static_cast<uint32_t>(count), any_good_);
}

bool StreamReader::Good(size_t at) const {
  if (at > end_) return false;
  const size_t count = std::min((end_ - at) / framed_.record_bytes, kConvincing);
  if (count == 0 || framed_.check == nullptr) return count > 0;
  if (spikes_ && !spikes_->Follows(buffer_.data() + at)) return false;
  return format::LeadingRecords(*framed_.check, buffer_.data() + at, static_cast<uint32_t>(count), true) ==
         count;
}

// At the begin of a run: where in it the first whole record lies.
void StreamReader::Align() {
  aligned_ = true;
  const size_t size = framed_.record_bytes;
  const size_t rest = static_cast<size_t>(run_.bytes % size);
  size_t phase = rest;
  if (framed_.check == nullptr) {
    const bool from_start = run_begin_ == 0 && stream_.slices[0].number == 0;
    if (rest > 0 && run_.end < stream_.slices.size()) {
      // Its end is cut. Where its records lie is known from the stream's begin only.
      phase = from_start ? 0 : unread();
    }
  } else if (!Good(begin_ + rest)) {
    for (phase = 0; phase < size && !Good(begin_ + phase);) ++phase;
    if (phase == size) phase = rest;
  }
  phase = std::min(phase, unread());
  // What the storage limit has left of a record is no loss of ours; Open has said that slices are gone.
  const bool aged = run_begin_ == 0 && stream_.slices[0].number > 0 && phase == rest;
  if (aged) {
    begin_ += phase;
  } else if (phase > 0) {
    Skip(phase, 0, "bytes in front of the first whole record");
  }
}

// How many bytes at the begin are no records.
size_t StreamReader::BadBytes() const {
  const size_t size = framed_.record_bytes;
  const size_t records = std::min(unread() / size, kLookedThrough);
  for (size_t i = 1; i < records; ++i) {
    if (Good(begin_ + i * size)) return i * size;
  }
  for (size_t at = 1; at < records * size; ++at) {
    if (Good(begin_ + at)) return at;
  }
  return records * size;
}

size_t StreamReader::Records() {
  const size_t size = framed_.record_bytes;
  if (unread() < size) return 0;
  if (!aligned_) Align();
  if (unread() < size) return 0;
  const size_t good = GoodRecords(begin_);
  if (good > 0) {
    any_good_ = true;
    const size_t in_time = spikes_ ? spikes_->Good(std::span(buffer_).subspan(begin_, good * size)) : good;
    if (in_time == 0) Skip(size, 1, "its time is far from that of the records around it");
    return in_time * size;
  }
  const size_t bad = BadBytes();
  Skip(bad, bad / size, "not what a record of this kind can be");
  return 0;
}

}  // namespace profd::client
