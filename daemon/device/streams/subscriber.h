// One session's share of a channel: the records as they are, rebased to the session's start, or combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/device/streams/combiner.h"
#include "daemon/device/streams/outlet.h"
#include "daemon/device/streams/records.h"
#include "daemon/device/streams/unpacker.h"
#include "format/decode/framing.h"

namespace profd::device {

// How the records of a channel become those of a session.
struct Join {
  uint64_t channel_start_ns = 0;  // device raw ns: what T1 stamps count from
  uint64_t session_start_ns = 0;  // what they must count from
  uint32_t periods = 1;           // of the channel in one of the session

  // What T1 stamps become less by.
  int64_t LessUs() const {
    const auto ns = static_cast<int64_t>(session_start_ns - channel_start_ns);
    return (ns + (ns < 0 ? -500 : 500)) / 1000;
  }
};

// **Thread:** the pump's.
class Subscriber {
 public:
  // `join` nullptr: the channel was started for this session, its bytes stay as they are, since they do not
  // count from its start. `files`: what it brings are pieces of these, else null.
  Subscriber(const format::StreamFormat& format, format::StreamKey key, chunk::StreamStatsPtr stats,
             chunk::Pipe& pipe, const Join* join, std::shared_ptr<const FileSinks> files = nullptr);

  Outlet& outlet() { return outlet_; }
  // True when its chunk may be what the driver's bytes are read into.
  bool in_place() const { return combiner_ == nullptr && unpacker_ == nullptr; }

  // Copies what is this session's out of whole records.
  void Deliver(const std::byte* data, uint32_t bytes, uint32_t records, uint64_t now_ns);
  // The same for records that lie at the front of the outlet's empty chunk.
  void DeliverInPlace(uint32_t bytes, uint32_t records, uint64_t now_ns);
  // The end of this session's part; of the channel, too, where it has `ended`.
  void Finish(uint64_t now_ns, bool ended);
  // Hands on what is there. True when the pipe has news.
  bool Push();

 private:
  enum class Rebase : uint8_t { kNone, kShift, kDropOnly };

  // Records from before the session's start come in the first moments only: later a stamp that seems so is
  // one that does not go forward, and no reason to drop what carries it.
  void NoteTime(uint64_t now_ns);
  // Rewrites the stamp; false for a record from before the session's start.
  bool Keep(std::byte* record, uint32_t bytes);
  bool Touches() const { return rebase_ == Rebase::kShift || (rebase_ == Rebase::kDropOnly && !begun_); }

  const format::StreamFormat* format_;
  const StampField stamp_;
  Outlet outlet_;
  std::unique_ptr<Combiner> combiner_;
  std::unique_ptr<Unpacker> unpacker_;
  Rebase rebase_ = Rebase::kNone;
  uint64_t origin_ = 0;    // the session's start in units of the stamp
  uint64_t first_ns_ = 0;  // when the first data came
  bool begun_ = false;     // a record after the start was seen: all that follow are too
};

}  // namespace profd::device
