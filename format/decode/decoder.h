// From the bytes of one stream to what they mean. Pure: no files, no outputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "format/clock_map.h"
#include "format/directory/side_facts.h"
#include "format/events/spans.h"
#include "format/series.h"

namespace profd::format {

// What a decoder must know besides the bytes, and where it puts what it finds. Outlives the decoder.
struct DecodeContext {
  const SideFacts* side = nullptr;
  const ClockMap* clocks = nullptr;
  RowSink* rows = nullptr;
  SpanSink* spans = nullptr;
  Texts* texts = nullptr;          // of the whole capture
  std::string_view kind = {};      // of what is decoded, as --kinds names it
  bool vendor_compatible = false;  // with the vendor's known faults (docs/export.md)

  // Wall ns of a stamp, by its domain (docs/formats.md).
  uint64_t StartUsToWall(uint64_t us) const {  // T1
    return DeviceNsToWall(side->at_start.device_raw_ns + us * 1000);
  }
  uint64_t DeviceNsToWall(uint64_t ns) const { return ToWall(Clock::kDeviceNs, ns); }              // T2
  uint64_t DeviceTicksToWall(uint64_t ticks) const { return ToWall(Clock::kDeviceTicks, ticks); }  // T3
  uint64_t HostCounterToWall(uint64_t ticks) const {                                               // T4
    return ToWall(side->host_counter_mhz > 0 ? Clock::kHostCounter : Clock::kHostRaw, ticks);
  }
  uint64_t HostRawToWall(uint64_t ns) const { return ToWall(Clock::kHostRaw, ns); }  // T5

 private:
  uint64_t ToWall(Clock clock, uint64_t stamp) const {
    return clocks->ToWall(clock, stamp, memos_[static_cast<size_t>(clock)]);
  }
  mutable std::array<ClockMemo, kClocks> memos_;  // of `clocks`, which never changes
};

// **Thread:** one.
class Decoder {
 public:
  explicit Decoder(const DecodeContext& context) : context_(context) {}
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Whole records, or lines with their ends; some of them, as they follow each other in the stream.
  virtual void Take(std::span<const std::byte> whole) = 0;
  // What comes next is the first of another slice, also of the very first.
  virtual void NextSlice() {}
  // Something is missing between what was taken and what comes, or the end: nobody knows how much.
  virtual void Lost() {}
  // Nothing comes any more: gives out what was held back.
  virtual void Finish() {}

  uint64_t records() const { return records_; }
  // By the reason, a fixed text: records that are damage, and such whose meaning nobody has written down.
  const std::map<std::string_view, uint64_t>& rejected() const { return rejected_; }
  // Where the first of the rejected ones are: bytes of what the latest Take() got. They are counted above,
  // too.
  struct Place {
    std::string_view why;
    size_t offset = 0, bytes = 0;
  };
  std::vector<Place> TakePlaces() { return std::exchange(places_, {}); }
  const std::map<std::string_view, uint64_t>& ignored() const { return ignored_; }
  // What was under way when the recording ended.
  uint64_t cut() const { return cut_; }

 protected:
  void Reject(std::string_view why, uint64_t records = 1) {
    rejected_[why] += records;
    if (here_.bytes == 0 || records != 1 || placed_ == kMostPlaces) return;
    ++placed_;
    places_.push_back({why, here_.offset, here_.bytes});
  }
  // What is decoded now, in what Take() got; no bytes: nobody knows.
  void SetHere(size_t offset, size_t bytes) { here_ = {{}, offset, bytes}; }
  void Ignore(std::string_view why, uint64_t records = 1) { ignored_[why] += records; }
  const DecodeContext& context() const { return context_; }

  uint64_t records_ = 0, cut_ = 0;

 private:
  const DecodeContext& context_;
  static constexpr size_t kMostPlaces = 100;

  std::map<std::string_view, uint64_t> rejected_, ignored_;
  Place here_;
  std::vector<Place> places_;
  size_t placed_ = 0;
};

}  // namespace profd::format
