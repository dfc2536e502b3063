// Reads every started channel by the clock, straight into chunks, and hands whole records on.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_region.h"
#include "base/threads/wake_up.h"
#include "daemon/base/mailbox.h"
#include "daemon/chunk/pipe.h"
#include "daemon/device/channel_hub.h"
#include "daemon/device/channel_id.h"
#include "daemon/device/reading.h"
#include "daemon/device/streams/framer.h"
#include "daemon/device/streams/subscriber.h"
#include "daemon/driver/driver.h"

namespace profd::device {

// The driver's call that stops a channel; CLOCK_MONOTONIC, 0: not yet. It waits for the channel to be read
// empty, but not for ever. **Thread:** the caller's writes, any reads.
struct StopCall {
  std::atomic<uint64_t> began_ns{0}, returned_ns{0};
};

// What the pump must know of a channel to read it.
struct Source {
  ChannelId id;
  const format::StreamFormat* format = nullptr;
  uint32_t period_ms = 0;
  double counter_mhz = 0;
  std::shared_ptr<const StopCall> stop;      // once it has begun, the channel goes first
  std::function<void(ChannelEvent)> report;  // run on ctl; may be destroyed on any thread
  bool keep_tail = false;                    // for Peek()
  bool waits = false;                        // not read before somebody joins, or it is stopped
};

// The newest whole records of a channel.
struct ChannelTail {
  ChannelId id;
  std::vector<std::byte> bytes;
  uint64_t read_ns = 0;  // raw clock
};

// **Thread:** ctl; callbacks run on ctl. Owns the thread that reads; it sleeps while there is no channel.
class ChannelPump {
 public:
  struct Options {
    uint64_t sweep_ns = 0;
    uint64_t stop_sweep_ns = 0;
  };

  ChannelPump(std::shared_ptr<driver::Driver> driver, Options options, std::string name, Post post);
  ~ChannelPump();
  ChannelPump(const ChannelPump&) = delete;
  ChannelPump& operator=(const ChannelPump&) = delete;

  // Reads from now on, started or not: data may come before the driver's start returns. `first` nullptr: for
  // its tail only.
  void Add(Source source, std::shared_ptr<Subscriber> first);
  // `joining` gets all that the driver delivers after `joined`, nothing from before the call.
  void Join(ChannelId id, std::shared_ptr<Subscriber> joining, std::function<void()> joined);
  // With `heir`, who has joined: not before that one has its first record, or a second has passed. A value of
  // a period needs the record at its other end, too.
  void Leave(ChannelId id, format::StreamKey key, std::optional<format::StreamKey> heir,
             std::function<void()> gone);
  // With `drain` what the driver still holds is read first. Nothing is pushed for the channel after `gone`.
  void Remove(ChannelId id, bool drain, std::function<void()> gone);
  // What the channels with a tail have.
  void Peek(std::function<void(std::vector<ChannelTail>)> done);
  void SetStopping(uint32_t device, bool stopping);
  void EndTrace(uint32_t trace, chunk::Pipe* pipe);
  // A read that has not returned since before `before_ns` keeps its thread; another one reads on, but nothing
  // of that device. `returned` runs on any thread when the read is back. The channel, if there was such a
  // read.
  std::optional<ChannelId> GiveUpRead(uint64_t before_ns, std::function<void()> returned);
  // After `returned`: takes what the read brought, and reads the device again.
  void ReadAgain(uint32_t device);

 private:
  enum class Outcome : uint8_t {
    kDry,      // the driver has no more
    kMore,     // it may have more
    kStarved,  // no chunk to read into
    kFailing,  // the read failed
    kGivenUp,  // the thread is not the pump's any more: it returns at once
  };
  struct Channel;
  struct Task {
    std::function<void()> run;
    std::optional<ChannelId> reads = {};  // of this channel so much is read first
    uint64_t most_bytes = 0;
    bool may_lose = false;
  };
  struct End {
    uint32_t trace;
    chunk::Pipe* pipe;
  };

  void Command(Task task);
  void StartThread();
  std::shared_ptr<const base::MappedRegion> GiveUpMemory(const ReadCall& call);
  void Park(uint32_t device);
  // -- the pump's thread; false, nothing or kGivenUp: it is so no more --
  void Body();
  bool RunTasks();
  void LetGo(Channel& channel, uint64_t now_ns);
  static bool IsDiscarded(const Channel& channel);
  void TellOfDiscard(Channel& channel);
  static bool Waits(const Channel& channel);
  std::optional<uint64_t> Sweep(uint64_t now_ns);
  bool Visit(Channel& channel, uint64_t now_ns);
  void Unpark(const Reading& reading);
  Outcome ReadSome(Channel& channel, uint64_t most_bytes, bool may_lose);
  Outcome Read(Channel& channel, Subscriber* home, uint64_t& bytes);
  void Deliver(Channel& channel, Subscriber* home, std::byte* data, uint32_t bytes, bool last);
  void Finish(Channel& channel);
  bool MayDrop(const Channel& channel, uint64_t now_ns) const;
  uint64_t DueAfter(Channel& channel, Outcome outcome, uint64_t now_ns) const;
  Outcome OnReadError(Channel& channel, int code);
  void OnReadAgain(Channel& channel);
  void Report(Channel& channel, ChannelEvent::What what, std::string reason);
  void Push(Subscriber& subscriber);
  void Touch(chunk::Pipe* pipe);
  void Kick();
  bool SendEnds();
  static Channel* FindIn(const std::vector<std::shared_ptr<Channel>>& channels, ChannelId id);
  Channel* Find(ChannelId id) const;

  const std::shared_ptr<driver::Driver> driver_;  // the thread has it, too: a read may never return
  const Options options_;
  const std::string name_;
  const Post post_;

  base::WakeUp wake_;
  base::Mailbox<Task> commands_;
  std::atomic<bool> quit_{false};
  std::atomic<bool> ended_{false};                                  // the thread, because of quit_
  std::thread thread_;                                              // from the first command on
  std::shared_ptr<Reading> reading_ = std::make_shared<Reading>();  // of thread_
  std::vector<std::shared_ptr<Reading>> given_up_;                  // ctl's: not back yet

  // The pump thread's, or ctl's between two of them:
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<std::shared_ptr<Channel>> parked_;  // of devices that hang in a read
  std::optional<Task> task_;                      // under way
  std::vector<End> ends_;                         // did not fit their queue yet
  std::vector<chunk::Pipe*> touched_;
  std::bitset<driver::kMaxDevices> stopping_;
  std::shared_ptr<base::MappedRegion> scratch_;
  size_t first_ = 0;  // channel the next sweep begins with
  bool short_of_chunks_ = false;
  uint64_t next_drop_ns_ = 0;  // no ring is emptied for nobody before
};

}  // namespace profd::device
