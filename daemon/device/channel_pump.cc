#include "daemon/device/channel_pump.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "daemon/device/streams/tail.h"
#include "daemon/driver/host_mounts.h"

namespace profd::device {

using format::Loss;
using What = ChannelEvent::What;

namespace {

constexpr uint64_t kRingBytes = 4u << 20;  // of the driver, per channel
constexpr uint64_t kQuarterRing = kRingBytes / 4;
constexpr uint64_t kEnough = kQuarterRing / 4;  // to be read: a chunk's worth, so that all kinds age in step
constexpr uint64_t kVisitBytes = kQuarterRing;  // then the next channel has its turn
constexpr uint64_t kShortVisitBytes = kVisitBytes / 8;
constexpr size_t kScratchBytes = 256u << 10;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kShortestInterval = kMs / 5;
constexpr uint64_t kFirstInterval =
    5 * kMs;  // a new channel may be a fast one: looked at soon, then ever later
constexpr uint64_t kShortestSample = 20 * kMs;    // to measure a rate over: drivers deliver in portions
constexpr uint64_t kChunkRetry = kMs / 2;         // the writer returns chunks much faster than that
constexpr uint64_t kChunkPatience = 2 * kMs;      // without a chunk before a full ring is emptied for nobody
constexpr uint64_t kSilentPatience = 1000 * kMs;  // the same of a channel that has delivered nothing so far
constexpr uint64_t kDropShare = 20;            // and for that at most one part in so many of the pump's time
constexpr uint64_t kDiscardAfter = 950 * kMs;  // of a driver that waits for 1 s
constexpr uint64_t kStopPatience = 500 * kMs;  // the driver discards after 1 s, and does not say so
constexpr uint64_t kFailedRetry = 1000 * kMs;
constexpr uint64_t kHeirPatience = 1000 * kMs;
constexpr uint64_t kFarewell = 200 * kMs;  // how long the destructor waits for a read
constexpr uint64_t kAtOnce = 0;

}  // namespace

struct ChannelPump::Channel {
  // A subscriber that stays until its heir has a record.
  struct Leaving {
    format::StreamKey key, heir;
    uint64_t until_ns;
    std::function<void()> gone;
  };

  Channel(Source from, uint64_t now_ns)
      : source(std::move(from)),
        framer(*source.format, source.period_ms, source.counter_mhz, base::RawNs()),
        tail(source.keep_tail ? std::make_unique<Tail>(*source.format) : nullptr),
        before_ns(now_ns),
        dry_ns(now_ns) {}

  // What was read since the ring was empty was delivered since then: that fast at least the channel is. Since
  // the time before the last: a short read may have left something in the ring.
  double RateSinceDry(uint64_t until_ns) const {
    const uint64_t span_ns = std::max(until_ns, before_ns + kShortestSample) - before_ns;
    return static_cast<double>(bytes_before + bytes_since_dry) / static_cast<double>(span_ns);
  }

  // How full the driver's ring must be by now.
  uint64_t BelievedBytes(uint64_t now_ns) const {
    if (bytes_since_dry >= kRingBytes) return kRingBytes;  // it delivers at least as fast as we read
    const double fastest = std::max(rate, RateSinceDry(starved_ns));
    const auto delivered = static_cast<uint64_t>(fastest * static_cast<double>(now_ns - dry_ns));
    return std::min(kRingBytes, delivered - std::min(delivered, bytes_since_dry));
  }

  void NoteDry(uint64_t now_ns) {
    const double sample = RateSinceDry(now_ns);
    rate = std::max(sample, (3 * rate + sample) / 4);
    before_ns = std::exchange(dry_ns, now_ns);
    bytes_before = bytes_since_dry;
    bytes_since_dry = 0;
  }

  const Source source;
  Framer framer;
  const std::unique_ptr<Tail> tail;  // nullptr: nobody wants one
  std::vector<std::shared_ptr<Subscriber>> subscribers;
  std::vector<Leaving> leaving;
  uint64_t due_ns = kAtOnce;     // CLOCK_MONOTONIC, as all times here but last_good_ns
  uint64_t wanted_ns = kAtOnce;  // to be read; it may be due before that, to see whether it is to be drained
  uint64_t last_good_ns = base::RawNs();

  uint64_t longest_ns = kFirstInterval;  // between two looks; grows up to the sweep's

  double rate = 0;     // bytes per ns that the channel delivers
  uint64_t before_ns;  // when the driver's ring was seen empty before …
  uint64_t bytes_before = 0;
  uint64_t dry_ns;        // … the last time
  uint64_t empty_ns = 0;  // when nothing at all came: a short read may have left something
  uint64_t bytes_since_dry = 0;
  uint64_t starved_ns = 0;  // since when nothing is read for want of a chunk; 0 = there is one

  uint64_t failures = 0;  // reads that failed since the last that did not
  bool damage_told = false;
  bool joined = false;  // somebody has
};

ChannelPump::ChannelPump(std::shared_ptr<driver::Driver> driver, Options options, std::string name, Post post)
    : driver_(std::move(driver)),
      options_(options),
      name_(std::move(name)),
      post_(std::move(post)),
      scratch_(std::make_shared<base::MappedRegion>(kScratchBytes)) {
  PROFD_CHECK(*scratch_);
}

// No read begins after `quit_`; one that is under way may never end.
ChannelPump::~ChannelPump() {
  quit_.store(true, std::memory_order_release);
  wake_.Ring();
  for (const auto& reading : given_up_) reading->Forget();
  if (!thread_.joinable()) return;
  const uint64_t end_ns = base::MonotonicNs() + kFarewell;
  std::optional<ReadCall> hangs;
  while (!ended_.load(std::memory_order_acquire) && !hangs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (base::MonotonicNs() > end_ns) hangs = reading_->GiveUp(end_ns);
  }
  if (hangs) {
    reading_->Keep(GiveUpMemory(*hangs), [] {});
    thread_.detach();
  } else {
    thread_.join();
  }
}

void ChannelPump::Add(Source source, std::shared_ptr<Subscriber> first) {
  PROFD_CHECK(source.format->record_bytes * 8 <= kScratchBytes);
  auto channel = std::make_shared<Channel>(std::move(source), base::MonotonicNs());
  if (first != nullptr) channel->subscribers.push_back(std::move(first));
  Command({.run = [this, channel = std::move(channel)] { channels_.push_back(channel); }});
}

void ChannelPump::Join(ChannelId id, std::shared_ptr<Subscriber> joining, std::function<void()> joined) {
  Command({.run =
               [this, id, joining = std::move(joining), joined = std::move(joined)]() mutable {
                 if (Channel* channel = Find(id)) {
                   channel->subscribers.push_back(joining);
                   if (Waits(*channel)) channel->due_ns = kAtOnce, channel->longest_ns = kFirstInterval;
                   channel->joined = true;
                 }
                 post_(std::move(joined));
               },
           .reads = id,  // what came before belongs to the others
           .most_bytes = kRingBytes});
}

void ChannelPump::Leave(ChannelId id, format::StreamKey key, std::optional<format::StreamKey> heir,
                        std::function<void()> gone) {
  Command({.run =
               [this, id, key, heir, gone = std::move(gone)]() mutable {
                 Channel* channel = Find(id);
                 if (channel == nullptr) return post_(std::move(gone));
                 const uint64_t now_ns = base::MonotonicNs();
                 const bool waits = heir && channel->failures == 0;
                 channel->leaving.push_back(
                     {key, heir.value_or(key), waits ? now_ns + kHeirPatience : 0, std::move(gone)});
                 LetGo(*channel, now_ns);
                 if (!channel->leaving.empty())
                   channel->due_ns = kAtOnce, channel->longest_ns = kFirstInterval;
               },
           .reads = id,
           .most_bytes = kRingBytes});
}

// Those of the leaving whose time has come.
void ChannelPump::LetGo(Channel& channel, uint64_t now_ns) {
  const auto find = [&channel](format::StreamKey key) {
    return std::ranges::find(channel.subscribers, key,
                             [](const auto& subscriber) { return subscriber->outlet().key(); });
  };
  std::erase_if(channel.leaving, [&](Channel::Leaving& one) {
    const auto heir = find(one.heir);
    const bool waits = heir != channel.subscribers.end() && !(*heir)->outlet().has_records();
    if (waits && now_ns < one.until_ns) return false;
    if (const auto it = find(one.key); it != channel.subscribers.end()) {
      (*it)->Finish(base::RawNs(), false);
      Push(**it);
      channel.subscribers.erase(it);
    }
    post_(std::move(one.gone));
    return true;
  });
}

void ChannelPump::Remove(ChannelId id, bool drain, std::function<void()> gone) {
  Task task{.run = [this, id, gone = std::move(gone)]() mutable {
    if (Channel* channel = Find(id)) {
      Finish(*channel);
      const auto is_it = [channel](const auto& other) { return other.get() == channel; };
      if (std::erase_if(channels_, is_it) == 0) std::erase_if(parked_, is_it);
    }
    post_(std::move(gone));
  }};
  if (drain) {
    Command({.run = [this, id] {
      if (Channel* channel = FindIn(channels_, id)) TellOfDiscard(*channel);
    }});
    task.reads = id;
    task.most_bytes = 2 * kRingBytes;
    task.may_lose = true;
  }
  Command(std::move(task));
}

bool ChannelPump::Waits(const Channel& channel) {
  return channel.source.waits && !channel.joined && channel.source.stop->began_ns == 0;
}

// The driver has waited in vain for the channel to be read empty, and has discarded the rest.
bool ChannelPump::IsDiscarded(const Channel& channel) {
  const uint64_t began_ns = channel.source.stop->began_ns, returned_ns = channel.source.stop->returned_ns;
  return returned_ns >= began_ns + kDiscardAfter && returned_ns >= channel.empty_ns + kDiscardAfter;
}

// At a stop that found us too slow.
void ChannelPump::TellOfDiscard(Channel& channel) {
  if (channel.failures != 0 || !IsDiscarded(channel)) return;
  Report(
      channel, What::kDiscarded,
      "its ring was not empty a second after the stop: the driver has discarded the rest, and does not say "
      "how much");
}

void ChannelPump::Peek(std::function<void(std::vector<ChannelTail>)> done) {
  if (!thread_.joinable()) return post_([done = std::move(done)] { done({}); });
  Command({.run = [this, done = std::move(done)]() mutable {
    std::vector<ChannelTail> tails;
    for (const auto& channel : channels_) {
      const Tail* tail = channel->tail.get();
      if (tail != nullptr) tails.push_back({channel->source.id, tail->bytes(), tail->taken_ns()});
    }
    post_([done = std::move(done), tails = std::move(tails)] { done(tails); });
  }});
}

void ChannelPump::SetStopping(uint32_t device, bool stopping) {
  Command({.run = [this, device, stopping] {
    stopping_[device] = stopping;
    if (!stopping) return;
    for (const auto& channel : channels_) {
      if (channel->source.id.device == device && channel->failures == 0) channel->due_ns = kAtOnce;
    }
  }});
}

void ChannelPump::EndTrace(uint32_t trace, chunk::Pipe* pipe) {
  Command({.run = [this, trace, pipe] { ends_.push_back({trace, pipe}); }});
}

// -- a read that does not return --

std::optional<ChannelId> ChannelPump::GiveUpRead(uint64_t before_ns, std::function<void()> returned) {
  const std::optional<ReadCall> call = reading_->GiveUp(before_ns);
  if (!call) return std::nullopt;
  reading_->Keep(GiveUpMemory(*call), std::move(returned));
  given_up_.push_back(std::exchange(reading_, std::make_shared<Reading>()));
  Park(call->id.device);
  thread_.detach();
  StartThread();
  return call->id;
}

std::shared_ptr<const base::MappedRegion> ChannelPump::GiveUpMemory(const ReadCall& call) {
  if (call.home != nullptr) return call.home->outlet().GiveUpChunk();
  return std::exchange(scratch_, std::make_shared<base::MappedRegion>(kScratchBytes));
}

void ChannelPump::Park(uint32_t device) {
  std::erase_if(channels_, [this, device](const std::shared_ptr<Channel>& channel) {
    if (channel->source.id.device != device) return false;
    LetGo(*channel, UINT64_MAX);
    parked_.push_back(channel);
    return true;
  });
}

void ChannelPump::ReadAgain(uint32_t device) {
  const auto found = std::ranges::find(
      given_up_, device, [](const std::shared_ptr<Reading>& reading) { return reading->call().id.device; });
  if (found == given_up_.end()) return;
  Command({.run = [this, reading = *found] { Unpark(*reading); }});
  given_up_.erase(found);
}

void ChannelPump::Unpark(const Reading& reading) {
  const ReadCall& call = reading.call();
  if (Channel* channel = FindIn(parked_, call.id); channel != nullptr && reading.got() > 0) {
    Deliver(*channel, nullptr, call.data, call.carried + static_cast<uint32_t>(reading.got()), false);
    for (const auto& subscriber : channel->subscribers) Push(*subscriber);
  }
  std::erase_if(parked_, [this, &call](const std::shared_ptr<Channel>& channel) {
    if (channel->source.id.device != call.id.device) return false;
    channel->due_ns = kAtOnce;
    channels_.push_back(channel);
    return true;
  });
}

// -- the thread --

void ChannelPump::Command(Task task) {
  commands_.Send(std::move(task));
  if (thread_.joinable()) {
    wake_.Ring();
  } else {
    StartThread();
  }
}

void ChannelPump::StartThread() {
  thread_ = driver::StartDriverThread(name_, [this, driver = driver_] { Body(); });
}

void ChannelPump::Body() {
  while (!quit_.load(std::memory_order_acquire)) {
    if (!RunTasks()) return;
    const std::optional<uint64_t> next = Sweep(base::MonotonicNs());
    if (!next) return;
    if (*next == kAtOnce) continue;
    wake_.Prepare();
    if (commands_.size() > 0 || quit_.load(std::memory_order_acquire)) {
      wake_.Cancel();
    } else {
      wake_.Wait(*next);
    }
  }
  ended_.store(true, std::memory_order_release);
}

bool ChannelPump::RunTasks() {
  for (;; task_.reset()) {
    if (!task_) task_ = commands_.Take();
    if (!task_) return true;
    // Of a thread that was given up: without what it was to read.
    const auto reads = std::exchange(task_->reads, std::nullopt);
    Channel* channel = reads ? FindIn(channels_, *reads) : nullptr;
    // At the end of a channel of which nothing is left: a driver that is not well may hang in that read.
    if (channel != nullptr && task_->may_lose && IsDiscarded(*channel)) channel = nullptr;
    if (channel != nullptr && ReadSome(*channel, task_->most_bytes, task_->may_lose) == Outcome::kGivenUp)
      return false;
    task_->run();
  }
}

// One round over the channels that are due; returns when the next is.
std::optional<uint64_t> ChannelPump::Sweep(uint64_t now_ns) {
  uint64_t next = UINT64_MAX;
  const size_t count = channels_.size();
  size_t at = first_ < count ? first_ : 0;
  bool starved = false;
  for (size_t i = 0; i < count; ++i) {
    Channel& channel = *channels_[at];
    if (channel.due_ns <= now_ns && !Visit(channel, now_ns)) return std::nullopt;
    next = std::min(next, channel.due_ns);
    if (channel.starved_ns != 0 && !starved) {
      starved = true;
      first_ = at;  // the first in line for the next chunk
    }
    at = at + 1 == count ? 0 : at + 1;
  }
  short_of_chunks_ = starved;
  if (!SendEnds()) next = std::min(next, now_ns + options_.sweep_ns);
  Kick();
  return next;
}

bool ChannelPump::Visit(Channel& channel, uint64_t now_ns) {
  // A channel that prof_stop waits for goes first, at the cost of all others.
  const bool draining = channel.source.stop->began_ns.load(std::memory_order_relaxed) != 0;
  const bool stopping = stopping_[channel.source.id.device];
  if (stopping && !draining && now_ns < channel.wanted_ns) {
    // Only looked whether it is its turn: to read all of them every time would take a chunk for a few
    // records.
    channel.due_ns = now_ns + options_.stop_sweep_ns;
    return true;
  }
  uint64_t most_bytes = kVisitBytes;
  if (short_of_chunks_) most_bytes = kEnough;  // else a round takes so long that kinds do not age in step
  if (stopping_.any()) most_bytes = kShortVisitBytes;
  if (draining) most_bytes = kRingBytes;
  Outcome outcome = ReadSome(channel, most_bytes, false);
  if (outcome == Outcome::kGivenUp) return false;
  LetGo(channel, channel.failures == 0 ? now_ns : UINT64_MAX);
  if (outcome == Outcome::kStarved && channel.starved_ns != 0 && MayDrop(channel, now_ns)) {
    const uint64_t begin_ns = base::MonotonicNs();
    outcome = ReadSome(channel, kRingBytes, true);
    if (outcome == Outcome::kGivenUp) return false;
    if (outcome == Outcome::kMore) outcome = Outcome::kStarved;  // a source that outruns us
    const uint64_t end_ns = base::MonotonicNs();
    next_drop_ns_ = end_ns + kDropShare * (end_ns - begin_ns);
  }
  if (outcome != Outcome::kStarved) {
    channel.starved_ns = 0;
  } else if (channel.starved_ns == 0) {
    channel.starved_ns = now_ns;
  }
  channel.wanted_ns = DueAfter(channel, outcome, now_ns);
  channel.due_ns = channel.wanted_ns;
  if (stopping && outcome == Outcome::kDry) {
    channel.due_ns = std::min(channel.due_ns, now_ns + options_.stop_sweep_ns);
  }
  return true;
}

bool ChannelPump::MayDrop(const Channel& channel, uint64_t now_ns) const {
  const uint64_t waited = now_ns - channel.starved_ns;
  if (stopping_[channel.source.id.device] && waited >= kStopPatience) return true;
  // To empty rings for nobody takes the time in which the chunks that come back are filled.
  if (waited < kChunkPatience || now_ns < next_drop_ns_) return false;
  const uint64_t believed = channel.BelievedBytes(now_ns);
  // Where nothing is expected nothing gets lost, or the channel has begun to deliver.
  if (believed == 0 && waited >= kSilentPatience) return true;
  return believed >= 3 * kQuarterRing;
}

uint64_t ChannelPump::DueAfter(Channel& channel, Outcome outcome, uint64_t now_ns) const {
  switch (outcome) {
    case Outcome::kMore:
      return kAtOnce;
    case Outcome::kStarved:
      return now_ns + kChunkRetry;
    case Outcome::kFailing:
      return now_ns + kFailedRetry;
    case Outcome::kGivenUp:
    case Outcome::kDry:
      break;
  }
  const uint64_t longest_ns = std::min(channel.longest_ns, options_.sweep_ns);
  channel.longest_ns = 2 * longest_ns;
  const double fill_ns = static_cast<double>(kEnough) / std::max(channel.rate, 1e-9);
  if (fill_ns >= static_cast<double>(longest_ns) && longest_ns < options_.sweep_ns)
    return now_ns + longest_ns;
  // One beat for all, or a half of it, or a quarter …: one wake-up for all.
  uint64_t beat_ns = options_.sweep_ns;
  while (static_cast<double>(beat_ns) > fill_ns && beat_ns > 2 * kShortestInterval) beat_ns /= 2;
  return (now_ns / beat_ns + 1) * beat_ns;
}

// Until the driver has no more or `most_bytes` are read. `may_lose`: without a chunk too, counting what is
// lost.
ChannelPump::Outcome ChannelPump::ReadSome(Channel& channel, uint64_t most_bytes, bool may_lose) {
  if (Waits(channel)) return Outcome::kDry;
  Outcome outcome = Outcome::kMore;
  for (uint64_t bytes = 0; bytes < most_bytes && outcome == Outcome::kMore;) {
    bool ready = true;
    Subscriber* home = nullptr;
    for (const auto& subscriber : channel.subscribers) {
      if (!subscriber->outlet().Ready()) {
        ready = false;
      } else if (home == nullptr && subscriber->in_place()) {
        home = subscriber.get();
      }
    }
    outcome = ready || may_lose ? Read(channel, home, bytes) : Outcome::kStarved;
    if (outcome == Outcome::kGivenUp) return outcome;
    for (const auto& subscriber : channel.subscribers) Push(*subscriber);
    // Where there is a chunk for some of them only, it is each one's turn.
    if (may_lose && !ready && home != nullptr) {
      std::rotate(channel.subscribers.begin(), channel.subscribers.begin() + 1, channel.subscribers.end());
    }
    if (outcome == Outcome::kMore) Kick();  // a full chunk is work enough for the writer to begin
  }
  return outcome;
}

// One read, into the chunk of `home` or, without one, into the scratch buffer.
ChannelPump::Outcome ChannelPump::Read(Channel& channel, Subscriber* home, uint64_t& bytes) {
  if (quit_.load(std::memory_order_acquire)) return Outcome::kDry;
  std::byte* data = home != nullptr ? home->outlet().chunk().data : scratch_->data();
  const uint32_t capacity =
      home != nullptr ? home->outlet().chunk().capacity : static_cast<uint32_t>(scratch_->size());
  const uint32_t carried = channel.framer.CarryInto(data);
  const uint32_t room = capacity - carried;
  const auto [device, id] = channel.source.id;
  const std::shared_ptr<Reading> reading = reading_;  // this thread's, whoever's the pump is afterwards
  reading->Begin({.id = channel.source.id, .data = data, .carried = carried, .home = home},
                 base::MonotonicNs());
  const int untrusted_got = driver_->Read(device, id, data + carried, room);
  if (!reading->End(untrusted_got > static_cast<int64_t>(room) ? -1 : untrusted_got))
    return Outcome::kGivenUp;
  if ((untrusted_got < 0 && untrusted_got != driver::kStoppedAlready) ||
      untrusted_got > static_cast<int64_t>(room)) {
    return OnReadError(channel, untrusted_got);
  }
  if (channel.failures != 0) OnReadAgain(channel);
  if (untrusted_got > 0) {
    const auto got = static_cast<uint32_t>(untrusted_got);
    Deliver(channel, home, data, carried + got, false);
    bytes += got;
    channel.bytes_since_dry += got;
    channel.starved_ns = 0;
    if (got == room) return Outcome::kMore;
  } else if (untrusted_got == 0 && channel.source.stop->returned_ns == 0) {  // else by the driver's own doing
    channel.empty_ns = base::MonotonicNs();
  }
  channel.NoteDry(base::MonotonicNs());
  return Outcome::kDry;
}

void ChannelPump::Deliver(Channel& channel, Subscriber* home, std::byte* data, uint32_t bytes, bool last) {
  const uint64_t now_ns = base::RawNs();
  const Framed framed = channel.framer.Frame(data, bytes, now_ns, last);
  if (channel.tail != nullptr) channel.tail->Take(data, framed.bytes, now_ns);
  for (const auto& subscriber : channel.subscribers) {
    if (!framed.lossless()) {
      subscriber->outlet().Lose(
          Loss::Where::kDriver, channel.last_good_ns, now_ns, framed.damaged_records + framed.missing_records,
          framed.damaged_bytes + framed.missing_records * channel.source.format->record_bytes);
    }
    if (subscriber.get() != home) subscriber->Deliver(data, framed.bytes, framed.records, now_ns);
  }
  if (home != nullptr) home->DeliverInPlace(framed.bytes, framed.records, now_ns);
  if (framed.bytes != 0) channel.last_good_ns = now_ns;
  if (framed.damaged_bytes != 0 && !channel.damage_told) {
    channel.damage_told = true;
    Report(channel, What::kDamaged,
           "the driver delivered " + std::to_string(framed.damaged_bytes) +
               " bytes that are no records: skipped and counted as lost, as will be all that follow");
  }
}

void ChannelPump::Finish(Channel& channel) {
  const uint32_t carried = channel.framer.CarryInto(scratch_->data());
  Deliver(channel, nullptr, scratch_->data(), carried, true);
  LetGo(channel, UINT64_MAX);
  for (const auto& subscriber : channel.subscribers) {
    subscriber->Finish(base::RawNs(), true);
    Push(*subscriber);
  }
}

ChannelPump::Outcome ChannelPump::OnReadError(Channel& channel, int code) {
  if (channel.failures++ == 0) {
    Report(
        channel, What::kFailed,
        code < 0
            ? "reading the channel failed: " + driver::DescribeCode(code) + "; tried again every second"
            : "the driver says it delivered more than it was asked for (" + std::to_string(code) + " bytes)");
  }
  return Outcome::kFailing;
}

void ChannelPump::OnReadAgain(Channel& channel) {
  Report(channel, What::kRecovered,
         "the channel can be read again after " + std::to_string(channel.failures) + " failed reads");
  channel.failures = 0;
}

void ChannelPump::Report(Channel& channel, What what, std::string reason) {
  post_([report = channel.source.report, event = ChannelEvent{what, std::move(reason)}] { report(event); });
}

void ChannelPump::Push(Subscriber& subscriber) {
  if (subscriber.Push()) Touch(&subscriber.outlet().pipe());
}

void ChannelPump::Touch(chunk::Pipe* pipe) {
  if (std::find(touched_.begin(), touched_.end(), pipe) == touched_.end()) touched_.push_back(pipe);
}

void ChannelPump::Kick() {
  for (chunk::Pipe* pipe : touched_) pipe->Kick();
  touched_.clear();
}

// False when one is still to be sent.
bool ChannelPump::SendEnds() {
  std::erase_if(ends_, [this](const End& end) {
    const bool pushed = end.pipe->Push({.what = chunk::Item::What::kEnd,
                                        .chunk = nullptr,
                                        .key = {.trace = end.trace},
                                        .loss = {},
                                        .spec = {}});
    if (pushed) Touch(end.pipe);
    return pushed;
  });
  return ends_.empty();
}

ChannelPump::Channel* ChannelPump::FindIn(const std::vector<std::shared_ptr<Channel>>& channels,
                                          ChannelId id) {
  const auto found = std::find_if(channels.begin(), channels.end(),
                                  [id](const auto& channel) { return channel->source.id == id; });
  return found == channels.end() ? nullptr : found->get();
}

ChannelPump::Channel* ChannelPump::Find(ChannelId id) const {
  Channel* channel = FindIn(channels_, id);
  return channel != nullptr ? channel : FindIn(parked_, id);
}

}  // namespace profd::device
