#include "daemon/session/life/trace.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/clock.h"
#include "daemon/base/after.h"
#include "daemon/base/log.h"
#include "format/directory/own_folder.h"
#include "format/events/stand_in.h"

namespace profd::session {

namespace {

using base::Code;
using base::Status;

constexpr uint64_t kMs = 1'000'000;
// Sources answer well before; a source that does not must not keep the directory open.
constexpr uint64_t kEndMarkPatienceNs = 2'000 * kMs;

void AddReason(std::string& reason, const std::string& more) {
  reason += (reason.empty() ? "" : "; ") + more;
}

// A driver that goes on without a word, a process on the device that is gone: how long nothing has come of
// what should come all the time; 0: it does, as far as one can tell.
uint64_t SilentSeconds(const KindState& kind, const chunk::StreamStats& stats, uint64_t begin_ns,
                       uint64_t now_ns, bool over) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  // What never came, and will not, takes no patience.
  const bool never = over && stats.last_data_ns.load(std::memory_order_relaxed) == 0;
  const double least_seconds = never ? 1 : 5;
  constexpr double kPeriods = 20;
  if (kind.verdict != Verdict::kStarted || kind.effective_hz <= 0 || begin_ns == 0) return 0;
  const uint64_t since_ns = std::max(begin_ns, stats.last_data_ns.load(std::memory_order_relaxed));
  if (now_ns <= since_ns) return 0;
  const uint64_t seconds = (now_ns - since_ns) / kSecondNs;
  return static_cast<double>(seconds) < std::max(least_seconds, kPeriods / kind.effective_hz) ? 0 : seconds;
}

format::ClockPair ReadHostPair() {
  format::ClockPair pair;
  const uint64_t before = base::RawNs();
  pair.host_counter = base::HostCounter();
  pair.wall_ns = base::WallNs();
  const uint64_t after = base::RawNs();
  pair.host_raw_ns = before + (after - before) / 2;
  pair.error_ns = (after - before + 1) / 2;
  return pair;
}

// On a busy machine ctl may lose its turn between two clocks, for milliseconds: the tightest of a few.
format::ClockPair HostPair() {
  constexpr int kTries = 8;
  constexpr uint64_t kTightNs = 1000;
  format::ClockPair best = ReadHostPair();
  for (int i = 1; i < kTries && best.error_ns > kTightNs; ++i) {
    if (const format::ClockPair pair = ReadHostPair(); pair.error_ns < best.error_ns) best = pair;
  }
  return best;
}

// A wall clock that was set back meanwhile would have it end before it began.
format::ClockPair EndOf(format::ClockPair end, const format::ClockPair& begin) {
  if (end.wall_ns < begin.wall_ns)
    end.wall_ns = begin.wall_ns + (end.host_raw_ns - std::min(end.host_raw_ns, begin.host_raw_ns));
  return end;
}

}  // namespace

Trace::Trace(Services services, TraceSetup setup)
    : services_(services),
      setup_(std::move(setup)),
      name_(format::ProfDirName(setup_.seq, base::WallNs(), ::getpid(), base::HostCounter() ^ base::RawNs())),
      progress_(setup_.plan->kinds),
      host_facts_(services_.node.HostNow()) {
  uint32_t next_stream = 0;
  for (const ChannelStart& start : setup_.plan->channels) {
    Channel channel;
    channel.start = start;
    channel.key = {setup_.id, next_stream++};
    channel.stats = std::make_shared<chunk::StreamStats>();
    for (const DeviceFileStart& file : start.files) {
      channel.files.push_back({file, std::make_shared<chunk::StreamStats>()});
    }
    channels_.push_back(std::move(channel));
  }
  for (const HostStart& start : setup_.plan->host) {
    host_kinds_.push_back({start, std::make_shared<chunk::StreamStats>()});
  }
}

Trace::~Trace() = default;

void Trace::Begin(std::function<void(Status)> done) {
  ReadStartClocks([self = shared_from_this(), done = std::move(done)](const Status& status) {
    if (!status.ok()) {
      done(status);
      return;
    }
    auto opened = std::make_shared<Status>();
    const auto both = base::After(2, [self, opened, done] {
      if (opened->ok()) {
        self->OnSourcesStarted(done);
      } else {
        self->StopSources([opened, done] { done(*opened); });
      }
    });
    self->OpenDirectory([opened, both](const Status& status) {
      *opened = status;
      both();
    });
    self->StartSources(both);
  });
}

void Trace::Arm(std::function<void(Status)> done) {
  ReadStartClocks([self = shared_from_this(), done = std::move(done)](const Status& status) {
    if (status.ok()) {
      self->OpenDirectory(done);
    } else {
      done(status);
    }
  });
}

void Trace::ReadStartClocks(std::function<void(Status)> done) {
  TakeWriter();
  host_start_ = HostPair();
  auto failure = std::make_shared<std::string>();
  const std::vector<uint32_t>& devices = setup_.plan->devices;
  auto next = [self = shared_from_this(), failure, done = std::move(done)] {
    if (!failure->empty() && self->device_start_.empty() && self->host_kinds_.empty()) {
      done({Code::kUnavailable, *failure});
      return;
    }
    done(Status::Ok());
  };
  AskClocks(
      devices,
      [self = shared_from_this(), failure](uint32_t device, const PairResult& pair) {
        if (pair.ok()) {
          self->device_start_[device] = *pair;
          self->setup_.manifest.clocks.push_back({static_cast<int>(device), *pair});
          return;
        }
        *failure = "device " + std::to_string(device) + ": clocks cannot be read: " + pair.status().message();
        self->Trouble(*failure);
        for (Channel& channel : self->channels_) {
          if (channel.start.device == device) channel.reason = *failure;
        }
        if (self->refused_.ok()) self->refused_ = {Code::kUnavailable, *failure};
      },
      std::move(next), false);
}

void Trace::AskClocks(const std::vector<uint32_t>& devices,
                      const std::function<void(uint32_t, const PairResult&)>& each,
                      std::function<void()> done, bool ends) {
  const auto one_done = base::After(devices.size(), std::move(done));
  for (const uint32_t device : devices) {
    auto pair = std::make_shared<PairResult>(Status{});
    services_.node.hub()->Call(
        device,
        [driver = services_.node.shared_driver(), device, pair] { *pair = driver->PairClocks(device); },
        [device, pair, each, one_done](bool in_time) {
          each(device,
               in_time ? *pair : Status{Code::kDeadlineExceeded, "the driver did not answer in time"});
          one_done();
        },
        ends);
  }
}

void Trace::TakeWriter() {
  const size_t pumps = services_.node.hub() == nullptr ? 0 : services_.node.hub()->pump_count();
  writer_ = services_.writers.For(setup_.file_system,
                                  setup_.in_spool ? Writers::Of::kSpool : Writers::Of::kOutput, pumps);
}

void Trace::OpenDirectory(std::function<void(Status)> done) {
  store::TraceSpec spec;
  // The files' alone: a trace is kept for its counts, which must not keep a user's folder open.
  spec.parent = std::move(setup_.parent);
  spec.name = name_;
  spec.folders.emplace_back("host");
  for (const auto& [device, pair] : device_start_) spec.folders.push_back("device_" + std::to_string(device));
  spec.uid = setup_.owner.uid;
  spec.gid = setup_.gid;
  spec.slice_bytes = services_.config.store.slice_bytes;
  spec.budget = setup_.budget;
  spec.recent = setup_.recent;
  setup_.manifest.clocks.push_back({-1, host_start_});
  std::vector<store::ControlFile> files = StartFiles();
  files.push_back(FileOf(WholeManifest()));
  opening_ = true;
  writer_->thread->Open(setup_.id, std::move(spec), std::move(files),
                        [where = setup_.parent_path, done = std::move(done)](const Status& status) {
                          done(status.ok() ? status : status.In("output directory " + where));
                        });
}

std::vector<store::ControlFile> Trace::StartFiles() const {
  return StartControlFiles(Input(), host_start_, device_start_);
}

ControlInput Trace::Input() const {
  return {
      .plan = *setup_.plan,
      .host = host_facts_,
      .devices = services_.node.devices(),
      .api_version = services_.node.driver() == nullptr ? 0 : services_.node.driver()->api_version(),
      .target = setup_.target,
      .result_dir = setup_.parent_path,
      .job_id = setup_.manifest.session,
      .storage_limit_bytes = setup_.manifest.storage_limit_bytes,
      .duration_ns = setup_.manifest.duration_ns,
  };
}

format::Manifest Trace::WholeManifest() const {
  format::Manifest manifest = setup_.manifest;
  manifest.elapsed_ns = elapsed_ns();
  for (const KindState& kind : Kinds()) {
    manifest.kinds.push_back({std::string(NameOf(kind.kind)), kind.unit, kind.requested_hz, kind.effective_hz,
                              VerdictName(kind.verdict), kind.reason, kind.bytes, kind.records, kind.lost});
  }
  if (setup_.recordings) manifest.agents = setup_.recordings->Agents(setup_.id);
  manifest.perturbations = setup_.perturbations->Since(host_start_.host_raw_ns);
  return manifest;
}

store::ControlFile Trace::FileOf(const format::Manifest& manifest) {
  store::ControlFile file;
  file.path = format::ManifestPath();
  file.content = format::WriteManifest(manifest);
  file.done = false;
  return file;
}

void Trace::Restamp(std::function<void()> done) {
  setup_.manifest.clocks.push_back({-1, HostPair()});
  ReadClocks(
      [self = shared_from_this(), done = std::move(done)] {
        for (const format::ManifestClock& clock : self->setup_.manifest.clocks) {
          if (clock.device < 0) {
            self->host_start_ = clock.pair;
          } else {
            self->device_start_[static_cast<uint32_t>(clock.device)] = clock.pair;
          }
        }
        self->writer_->thread->Replace(self->setup_.id, self->StartFiles());
        done();
      },
      false);
}

void Trace::NoteTargetName(const std::string& name) {
  setup_.target.name = name;
  if (opening_ && writer_) writer_->thread->Replace(setup_.id, StartFiles());
}

void Trace::Fire(std::function<void(Status)> done) {
  StartSources([self = shared_from_this(), done = std::move(done)] { self->OnSourcesStarted(done); });
}

void Trace::OnSourcesStarted(std::function<void(Status)> done) {
  Settle();
  const std::vector<KindState>& kinds = progress_;
  const bool any = std::any_of(kinds.begin(), kinds.end(), [](const KindState& kind) {
    return kind.verdict == Verdict::kStarted || kind.verdict == Verdict::kPending;
  });
  if (any && (held_.ok() || !setup_.all_or_nothing)) {
    RefreshManifest({});
    done(Status::Ok());
    return;
  }
  const Status& first = any ? held_ : refused_;
  const Status why = first.In("nothing could be started");
  StopSources([self = shared_from_this(), done = std::move(done), why] {
    self->Discard([done, why] { done(why); });
  });
}

uint64_t Trace::elapsed_ns() const {
  return (end_raw_ns_ == 0 ? services_.timers.RawNs() : end_raw_ns_) - setup_.begin_raw_ns;
}

std::vector<KindState> Trace::Kinds() const {
  std::vector<KindState> kinds = progress_;
  const uint64_t now_ns = sources_to_ns_ == 0 ? services_.timers.RawNs() : sources_to_ns_;
  std::vector<uint64_t> silent_s(kinds.size(), 0);  // of a kind in several files: the longest
  const auto add = [&, this](size_t index, const chunk::StreamStats& stats, const char* source) {
    KindState& kind = kinds[index];
    const uint64_t lost = stats.lost_records.load(std::memory_order_relaxed);
    const uint64_t unwritten = stats.write_lost_records.load(std::memory_order_relaxed);
    if (lost > 0) AddReason(kind.reason, std::to_string(lost) + " lost " + source);
    if (unwritten > 0)
      AddReason(kind.reason, std::to_string(unwritten) + " lost because they could not be written");
    kind.bytes += stats.stored_bytes.load(std::memory_order_relaxed);
    kind.records += stats.stored_records.load(std::memory_order_relaxed);
    kind.lost += lost + unwritten;
    silent_s[index] =
        std::max(silent_s[index], SilentSeconds(kind, stats, sources_from_ns_, now_ns, sources_to_ns_ != 0));
  };
  constexpr const char* kInDriver = "before they reached the disk: it or the node is too slow";
  constexpr const char* kInSampler = "because their moment had passed or there were too many";
  for (const Channel& channel : channels_) {
    add(channel.start.kind_index, *channel.stats, kInDriver);
    for (const DeviceFile& file : channel.files) add(file.start.kind_index, *file.stats, kInDriver);
  }
  for (const HostKind& kind : host_kinds_) add(kind.start.kind_index, *kind.stats, kInSampler);
  for (size_t index = 0; index < kinds.size(); ++index) {
    if (silent_s[index] > 0)
      AddReason(kinds[index].reason, "no data for " + std::to_string(silent_s[index]) + " s");
  }
  if (setup_.recordings) setup_.recordings->AddCounts(setup_.id, kinds);
  return kinds;
}

uint64_t Trace::stored_bytes() const {
  uint64_t bytes = 0;
  for (const KindState& kind : Kinds()) bytes += kind.bytes;
  return bytes;
}

void Trace::PairClocks(std::function<void()> done) {
  const auto both = base::After(2, std::move(done));
  setup_.perturbations->Look(both);
  setup_.manifest.clocks.push_back({-1, HostPair()});
  ReadClocks(both, false);
}

void Trace::ReadClocks(std::function<void()> done, bool ends) {
  std::vector<uint32_t> devices;
  for (const auto& [device, pair] : device_start_) devices.push_back(device);
  silent_ = {devices.begin(), devices.end()};
  AskClocks(
      devices,
      [self = shared_from_this()](uint32_t device, const PairResult& pair) {
        if (pair.ok()) {
          self->silent_.erase(device);
          self->setup_.manifest.clocks.push_back({static_cast<int>(device), *pair});
        } else {
          self->Trouble("device " + std::to_string(device) + ": clocks could not be read again");
        }
      },
      std::move(done), ends);
}

void Trace::Pause(bool paused, uint64_t at_ns, std::function<void()> done) {
  if (!writer_) return done();  // it has been sealed meanwhile
  writer_->thread->Pause(
      setup_.id, paused, at_ns, "asked for",
      [self = shared_from_this(), done = std::move(done)](const store::TraceRecord& record) {
        self->TakeRecord(record);
        if (self->writer_) self->writer_->thread->Replace(self->setup_.id, {FileOf(self->WholeManifest())});
        done();
      });
}

void Trace::WriteRecent(uint64_t from_ns, std::function<void()> done) {
  if (!writer_) return done();  // it has been closed meanwhile
  writer_->thread->WriteRecent(
      setup_.id, from_ns,
      [self = shared_from_this(), done = std::move(done)](const store::TraceRecord& record) {
        self->TakeRecord(record);
        if (!self->sealed_.state.empty()) {
          self->sealed_.streams = self->setup_.manifest.streams;
          self->sealed_.pauses = self->setup_.manifest.pauses;
        }
        if (self->writer_)
          self->writer_->thread->Replace(
              self->setup_.id, {FileOf(self->sealed_.state.empty() ? self->WholeManifest() : self->sealed_)});
        done();
      });
}

void Trace::WriteRecentAtSeal() {
  if (writer_) writer_->thread->WriteRecentAtSeal(setup_.id);
}

void Trace::RefreshManifest(const std::vector<std::string>& degraded) {
  setup_.manifest.degraded = degraded;
  writer_->thread->Snapshot(setup_.id, [self = shared_from_this()](const store::TraceRecord& record) {
    self->TakeRecord(record);
    if (self->writer_) self->writer_->thread->Replace(self->setup_.id, {FileOf(self->WholeManifest())});
  });
}

void Trace::TakeRecord(const store::TraceRecord& record) {
  setup_.manifest.streams.clear();
  for (const store::StreamRecord& stream : record.streams) {
    format::ManifestStream entry;
    entry.folder = stream.folder;
    entry.file = stream.file;
    entry.slices = stream.slices;
    entry.losses = stream.losses;
    entry.bytes = stream.bytes;
    entry.records = stream.records;
    entry.aged = stream.aged;
    entry.kind = stream.kind;
    entry.unit = stream.unit;
    if (stream.key.stream < channels_.size()) {
      const device::StampShift& shift = channels_[stream.key.stream].shift;
      entry.shift_us = shift.us;
      entry.shift_error_ns = shift.error_ns;
    }
    for (const format::Loss& loss : stream.losses) {
      entry.lost_records += loss.records;
      entry.lost_bytes += loss.bytes;
    }
    setup_.manifest.streams.push_back(std::move(entry));
  }
  setup_.manifest.pauses = record.pauses;
  if (!record.error.empty()) Trouble(record.error);
}

void Trace::Seal(EndReason reason, const std::vector<std::string>& degraded, std::function<void()> done) {
  setup_.manifest.degraded = degraded;
  setup_.manifest.end_reason = EndReasonName(reason);
  auto finish = [self = shared_from_this(), done = std::move(done)]() mutable {
    self->setup_.manifest.clocks.push_back({-1, HostPair()});  // nothing is later than that
    self->EndSources();
    std::set<size_t> ends;
    for (const auto& [device, pair] : self->device_start_)
      ends.insert(self->services_.node.hub()->PumpOf(device));
    const size_t marks = ends.size() + (self->host_running_ ? 1 : 0) + (self->setup_.recordings ? 1 : 0);
    self->writer_->thread->Seal(self->setup_.id, marks, base::MonotonicNs() + kEndMarkPatienceNs,
                                [self, done = std::move(done)](const store::TraceRecord& record) mutable {
                                  self->WriteEnd(record, std::move(done));
                                });
  };
  // All at once: a device that does not tell its clocks holds up no stop.
  const auto all = base::After(3, std::move(finish));
  setup_.perturbations->LookLast(all);
  ReadClocks(all, true);
  StopSources(all);
}

void Trace::WriteEnd(const store::TraceRecord& record, std::function<void()> done) {
  TakeRecord(record);
  end_raw_ns_ = services_.timers.RawNs();
  setup_.manifest.state = "sealed";
  for (const std::string& trouble : troubles()) {
    auto& degraded = setup_.manifest.degraded;
    if (std::find(degraded.begin(), degraded.end(), trouble) == degraded.end()) degraded.push_back(trouble);
  }
  std::map<uint32_t, format::ClockPair> device_end;
  format::ClockPair host_end = host_start_;
  for (const format::ManifestClock& clock : setup_.manifest.clocks) {
    if (clock.device < 0) {
      host_end = EndOf(clock.pair, host_start_);
    } else {
      const auto device = static_cast<uint32_t>(clock.device);
      const auto begin = device_start_.find(device);
      device_end[device] = EndOf(clock.pair, begin == device_start_.end() ? host_start_ : begin->second);
    }
  }
  for (const uint32_t device : silent_) device_end.erase(device);
  std::vector<uint32_t> opened = setup_.plan->devices;
  std::erase_if(opened, [this](uint32_t device) { return !device_start_.contains(device); });
  std::vector<store::ControlFile> files = EndControlFiles(opened, host_end, device_end);
  sealed_ = WholeManifest();
  const bool reported = std::ranges::any_of(sealed_.streams, [](const format::ManifestStream& stream) {
    return stream.folder == "host" && format::IsStandIn(stream.file, false);
  });
  if (TakesReports(*setup_.plan) && !reported) {
    for (store::ControlFile& file : StandInFiles(Input(), host_start_)) files.push_back(std::move(file));
  }
  files.push_back(FileOf(sealed_));
  writer_->thread->Replace(setup_.id, std::move(files));
  if (sealed_.end_reason.empty() && (setup_.budget->limited() || setup_.recent != nullptr)) {
    done();
  } else {
    Close(std::move(done));
  }
}

void Trace::RefreshAged(std::function<void(bool more)> done) {
  writer_->thread->Snapshot(
      setup_.id, [self = shared_from_this(), done = std::move(done)](const store::TraceRecord& record) {
        self->TakeAged(record);
        done(record.may_change);
      });
}

void Trace::TakeAged(const store::TraceRecord& record) {
  bool changed = false;
  for (size_t i = 0; i < std::min(record.streams.size(), sealed_.streams.size()); ++i) {
    changed |= record.streams[i].aged.slices != sealed_.streams[i].aged.slices;
    sealed_.streams[i].aged = record.streams[i].aged;
  }
  if (changed && writer_) writer_->thread->Replace(setup_.id, {FileOf(sealed_)});
}

void Trace::Close(std::function<void()> done) {
  writer_->thread->Settle(setup_.id, [self = shared_from_this(),
                                      done = std::move(done)](const store::TraceRecord& record) mutable {
    self->TakeAged(record);
    self->CloseFiles(std::move(done));
  });
}

void Trace::CloseFiles(std::function<void()> done) {
  writer_->thread->Close(setup_.id,
                         [self = shared_from_this(), done = std::move(done)](const Status& status) {
                           if (!status.ok()) self->Trouble(status.message());
                           self->setup_.recent.reset();
                           // On a later turn: the writer may end with this trace, and it is its thread's
                           // closure that runs now.
                           self->services_.ctl.Post([self] { self->writer_.reset(); });
                           done();
                         });
}

void Trace::Discard(std::function<void()> done) {
  if (!writer_) {
    done();
    return;
  }
  if (setup_.recordings && setup_.recordings->trace() == setup_.id) {
    auto recordings = std::exchange(setup_.recordings, nullptr);
    recordings->Stop([self = shared_from_this(), done = std::move(done)] { self->Discard(done); });
    return;
  }
  writer_->thread->Discard(setup_.id, [self = shared_from_this(), done = std::move(done)] {
    self->services_.ctl.Post([self] { self->writer_.reset(); });
    done();
  });
}

std::vector<std::string> Trace::troubles() const {
  std::vector<std::string> all = troubles_.Texts();
  if (setup_.recordings) std::ranges::copy(setup_.recordings->troubles(), std::back_inserter(all));
  return all;
}

void Trace::Trouble(const std::string& what) {
  if (troubles_.Add(what)) base::LogWarn(setup_.holder + ": " + what);
}

void Trace::TroubleOf(const Channel& channel, const std::string& what) {
  const std::string kind(NameOf(progress_[channel.start.kind_index].kind));
  if (const auto place = troubles_.Add(channel.start.device, kind, what)) {
    services_.ctl.Post([self = shared_from_this(), place = *place] {  // when all kinds have heard it
      base::LogWarn(self->setup_.holder + ": " + self->troubles_.Text(place));
    });
  }
}

}  // namespace profd::session
