// The sources of a trace: started, followed, stopped, and what their fate means for the kinds that were asked
// for.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "daemon/base/after.h"
#include "daemon/session/life/trace.h"
#include "format/decode/host/cpu_profile.h"
#include "format/events/os_call_line.h"
#include "format/kind.h"

namespace profd::session {

namespace {

using base::Code;
using base::Status;

chunk::StreamSpec::Records RecordsOf(const format::StreamFormat& format) {
  switch (format.framing) {
    case format::Framing::kFixed:
      return chunk::StreamSpec::Records::kFixed;
    case format::Framing::kLines:
      return chunk::StreamSpec::Records::kText;
    case format::Framing::kOpaque:
      break;
  }
  return chunk::StreamSpec::Records::kAnyhow;
}

// Of the streams that a flight recorder keeps in memory, in which of its buffers.
using Buffers = std::map<const chunk::StreamStats*, uint32_t>;

void Keep(const Buffers& buffers, chunk::StreamSpec& spec) {
  const auto buffer = buffers.find(spec.stats.get());
  spec.direct = buffer == buffers.end();
  if (!spec.direct) spec.buffer = buffer->second;
}

}  // namespace

void Trace::StartSources(std::function<void()> done) {
  sources_from_ns_ = services_.timers.RawNs();
  const size_t parts = channels_.size() + (host_kinds_.empty() ? 0 : 1) + (setup_.recordings ? 1 : 0);
  const auto one_done = base::After(parts, std::move(done));
  // The agents first: they answer soonest, and what they need themselves is then not opened.
  const auto waits = [this](const Channel& channel) {
    return setup_.recordings != nullptr && !channel.start.gives_way.empty();
  };
  if (setup_.recordings) {
    StartAgents([self = shared_from_this(), waits, one_done] {
      for (Channel& channel : self->channels_) {
        if (waits(channel)) self->StartChannel(channel, one_done);
      }
      one_done();
    });
  }
  if (!host_kinds_.empty()) StartHost(one_done);
  // The log of tasks before what is counted of them, and after it at the end: a task with counters has a
  // place in time.
  for (const bool log : {true, false}) {
    for (Channel& channel : channels_) {
      if (IsLog(channel) == log && !waits(channel)) StartChannel(channel, one_done);
    }
  }
}

bool Trace::IsLog(const Channel& channel) const {
  return progress_[channel.start.kind_index].kind == format::Kind::kTask;
}

void Trace::StartHost(std::function<void()> done) {
  host::SampleRequest request;
  request.trace = setup_.id;
  request.first_stream = static_cast<uint32_t>(channels_.size());
  request.pids = setup_.pids;
  request.thread = services_.sampler.ThreadOf(setup_.owner.uid);
  request.pipe = &services_.writers.SamplerPipe(*writer_, request.thread);
  std::vector<std::shared_ptr<host::ProbeOutcome>> outcomes;
  for (const HostKind& kind : host_kinds_) {
    outcomes.push_back(std::make_shared<host::ProbeOutcome>());
    auto trouble = [&ctl = services_.ctl, weak = weak_from_this(),
                    index = kind.start.kind_index](const std::string& what) {
      ctl.Post([weak, index, what] {
        if (const auto self = weak.lock()) self->OnHostTrouble(index, what);
      });
    };
    request.probes.push_back({std::string(NameOf(kind.start.kind)), kind.start.hz, kind.stats,
                              outcomes.back(), std::move(trouble)});
  }
  Buffers buffers;
  for (const HostKind& kind : host_kinds_) {
    const KindState& state = setup_.plan->kinds[kind.start.kind_index];
    if (state.in_memory) buffers[kind.stats.get()] = state.buffer;
  }
  request.make_spec = [begin_raw_ns = host_start_.host_raw_ns, buffers = std::move(buffers)](
                          const std::string& folder, const std::string& file, chunk::StreamStatsPtr stats) {
    auto spec = std::make_shared<chunk::StreamSpec>();
    spec->folder = folder;
    spec->file = file;
    spec->unit = "host";
    // The vendor's reader counts the lines of a slice from its start_time, so there must be one slice; and
    // without its names the rest of a profile means nothing.
    spec->one_slice = file == format::file::kHostDisk || file == format::kCpuProfileNamesFile ||
                      file == format::kOffCpuNamesFile;
    spec->whole = spec->one_slice;
    spec->every_slice_header = format::OsCallBeginLine(file, begin_raw_ns);
    spec->records = chunk::StreamSpec::Records::kText;
    spec->stats = std::move(stats);
    Keep(buffers, *spec);
    return spec;
  };
  services_.sampler.Start(std::move(request), [self = shared_from_this(), outcomes = std::move(outcomes),
                                               done = std::move(done)](const Status& status) {
    self->host_running_ = status.ok();
    for (size_t i = 0; i < outcomes.size(); ++i) {
      const Status& of_kind = status.ok() ? outcomes[i]->status : status;
      KindState& state = self->progress_[self->host_kinds_[i].start.kind_index];
      state.verdict = of_kind.ok() ? Verdict::kStarted : Verdict::kFailed;
      state.reason = of_kind.ok() ? outcomes[i]->note : of_kind.message();
      if (!of_kind.ok() && self->refused_.ok()) self->refused_ = of_kind;
    }
    done();
  });
}

// Of some of its processes, maybe: what others have recorded goes on, or stays.
void Trace::OnHostTrouble(size_t kind_index, const std::string& what) {
  progress_[kind_index].reason = what;
  Trouble(what);
}

void Trace::StartChannel(Channel& channel, std::function<void()> done) {
  const uint32_t device = channel.start.device;
  const auto pair = device_start_.find(device);
  if (pair == device_start_.end()) {  // reason was set when its clocks could not be read
    done();
    return;
  }
  if (HasGivenWay(channel)) {
    channel.verdict = Verdict::kSkipped;
    channel.reason = "an agent records agent-kernel, which needs the same channels";
    done();
    return;
  }
  chunk::StreamSpec spec;
  spec.folder = "device_" + std::to_string(device);
  spec.file = channel.start.file + "." + std::to_string(device);
  spec.kind = NameOf(setup_.plan->kinds[channel.start.kind_index].kind);
  spec.unit = setup_.plan->kinds[channel.start.kind_index].unit;
  spec.one_slice = channel.start.one_slice && !setup_.budget->limited();
  spec.stats = channel.stats;
  spec.direct = !setup_.plan->kinds[channel.start.kind_index].in_memory;
  spec.buffer = setup_.plan->kinds[channel.start.kind_index].buffer;
  if (channel.start.format != nullptr) {
    spec.every_slice_header = channel.start.format->every_slice_header;
    spec.first_slice_header = channel.start.format->first_slice_header;
    spec.records = RecordsOf(*channel.start.format);
    spec.record_bytes = channel.start.format->record_bytes;
  }
  if (!std::exchange(channel.has_stream, true)) writer_->thread->AddStream(channel.key, std::move(spec));

  device::ChannelRequest request;
  request.device = device;
  request.channel = channel.start.channel;
  request.para = channel.start.para;
  request.format = channel.start.format;
  request.late = channel.start.late;
  request.needs_job = channel.start.needs_job;
  request.process = channel.start.process;
  request.twin = channel.start.twin;
  if (!channel.files.empty()) request.files = SinksOf(channel);
  request.kind = NameOf(progress_[channel.start.kind_index].kind);
  request.holder = setup_.holder;
  request.device_start_ns = pair->second.device_raw_ns;
  request.host_start_ns = pair->second.host_raw_ns;
  for (const driver::DeviceFacts& facts : services_.node.devices()) {
    if (facts.id == device) request.counter_mhz = facts.counter_mhz;
  }
  request.key = channel.key;
  request.stats = channel.stats;
  request.pipe = writer_->pumps[services_.node.hub()->PumpOf(device)];
  channel.starting = true;
  const size_t index = channel.key.stream;
  std::weak_ptr<Trace> weak = weak_from_this();
  request.on_event = [weak, index](const device::ChannelEvent& event) {
    if (const auto self = weak.lock()) self->OnChannelEvent(index, event);
  };
  services_.node.hub()->Start(std::move(request), [self = shared_from_this(), index, done = std::move(done)](
                                                      base::Result<device::Started> result) {
    Channel& channel = self->channels_[index];
    channel.starting = false;
    if (result.ok()) {
      channel.subscribed = true;
      channel.verdict = result->pending ? Verdict::kPending : Verdict::kStarted;
      channel.effective_hz = self->EffectiveHz(channel, result->period_ms);
      channel.shift = result->shift;
      channel.reason = result->pending ? "the device does not offer it yet" : result->shared ? "shared" : "";
    } else {
      channel.verdict = Verdict::kFailed;
      channel.reason = result.status().message();
      if (self->refused_.ok()) self->refused_ = result.status();
      if (self->held_.ok() && IsHeld(result.status().code())) self->held_ = result.status();
    }
    for (const auto& waiter : std::exchange(channel.on_answer, {})) waiter();
    done();
  });
}

std::shared_ptr<const device::FileSinks> Trace::SinksOf(const Channel& channel) const {
  auto sinks = std::make_shared<device::FileSinks>();
  for (const DeviceFile& file : channel.files) {
    sinks->wanted.push_back(
        {file.start.what, std::string(NameOf(setup_.plan->kinds[file.start.kind_index].kind)), file.stats});
  }
  sinks->first_stream = kFirstDeviceFile + channel.key.stream * device::FileSinks::kMaxFiles;
  Buffers buffers;
  for (const DeviceFile& file : channel.files) {
    const KindState& state = setup_.plan->kinds[file.start.kind_index];
    if (state.in_memory) buffers[file.stats.get()] = state.buffer;
  }
  sinks->make_spec = [device = std::to_string(channel.start.device), buffers = std::move(buffers)](
                         const std::string& file, const device::FileSinks::Sink& sink) {
    auto spec = std::make_shared<chunk::StreamSpec>();
    spec->folder = "device_" + device;
    spec->file = file + "." + device;
    spec->kind = sink.kind;
    spec->unit = "device:" + device;
    spec->records = chunk::StreamSpec::Records::kText;
    spec->stats = sink.stats;
    Keep(buffers, *spec);
    return spec;
  };
  return sinks;
}

void Trace::OnChannelEvent(size_t index, const device::ChannelEvent& event) {
  Channel& channel = channels_[index];
  switch (event.what) {
    case device::ChannelEvent::What::kStarted:
      channel.verdict = Verdict::kStarted;
      channel.effective_hz = EffectiveHz(channel, 0);
      channel.reason.clear();
      break;
    case device::ChannelEvent::What::kFailed:
      channel.reason = event.reason;
      if (channel.verdict != Verdict::kPending) {
        channel.verdict = Verdict::kFailed;
        TroubleOf(channel, event.reason);
      }
      break;
    case device::ChannelEvent::What::kRecovered:
      channel.verdict = Verdict::kStarted;
      channel.reason = "recovered: " + event.reason;
      break;
    case device::ChannelEvent::What::kDamaged:
    case device::ChannelEvent::What::kDiscarded:
      TroubleOf(channel, event.reason);
      break;
    case device::ChannelEvent::What::kYielded:  // not of a session's part
      break;
  }
  Settle();
}

double Trace::EffectiveHz(const Channel& channel, uint32_t running_period_ms) const {
  // The plan knows the rate of what it asks for, also where the payload and not the call says it; another
  // session's running channel scales it.
  const uint32_t asked_ms = channel.start.para.period_ms;
  const double scale = asked_ms == 0 || running_period_ms == 0 ? 1.0 : double(asked_ms) / running_period_ms;
  return setup_.plan->kinds[channel.start.kind_index].effective_hz * scale;
}

void Trace::Settle() {
  struct Tally {
    size_t total = 0, started = 0, pending = 0, skipped = 0;
    double hz = 0;
    std::string reason;
  };
  std::map<size_t, Tally> tallies;
  for (const Channel& channel : channels_) {
    Tally& tally = tallies[channel.start.kind_index];
    ++tally.total;
    if (channel.verdict == Verdict::kStarted) {
      ++tally.started;
      tally.hz = channel.effective_hz;
    }
    if (channel.verdict == Verdict::kPending) ++tally.pending;
    if (channel.verdict == Verdict::kSkipped) ++tally.skipped;
    if (tally.reason.empty()) tally.reason = channel.reason;
  }
  for (const auto& [index, tally] : tallies) {
    KindState& kind = progress_[index];
    kind.reason = tally.reason;
    if (tally.started > 0) {
      kind.verdict = Verdict::kStarted;
      kind.effective_hz = tally.hz;
      if (tally.started < tally.total && !tally.reason.empty()) {
        kind.reason = std::to_string(tally.total - tally.started) + " of " + std::to_string(tally.total) +
                      " channels: " + tally.reason;
      }
    } else {
      kind.verdict = tally.pending > 0              ? Verdict::kPending
                     : tally.skipped == tally.total ? Verdict::kSkipped
                                                    : Verdict::kFailed;
    }
  }
  // Kinds that ride on another's start (aicore and aivector share channel 54) share its fate.
  const auto share = [this](size_t from, const std::vector<size_t>& riders, bool with_reason) {
    const KindState& kind = progress_[from];
    for (const size_t rider : riders) {
      progress_[rider].verdict = kind.verdict;
      progress_[rider].effective_hz = kind.effective_hz;
      // What is started is as the plan has it, whatever was said while it waited.
      const bool same = with_reason || kind.verdict != Verdict::kStarted;
      progress_[rider].reason = same ? kind.reason : setup_.plan->kinds[rider].reason;
    }
  };
  for (const Channel& channel : channels_) {
    const size_t from = channel.start.kind_index;
    share(from, channel.start.also_kinds, !progress_[from].reason.empty());
    for (const DeviceFile& file : channel.files) {  // one channel, and each sort of files at its own rate
      progress_[file.start.kind_index].effective_hz = setup_.plan->kinds[file.start.kind_index].effective_hz;
    }
  }
  // A second process keeps the word that it is counted with the first.
  for (const HostKind& kind : host_kinds_) share(kind.start.kind_index, kind.start.also_kinds, false);
}

void Trace::StopSources(std::function<void()> done) {
  sources_to_ns_ = services_.timers.RawNs();
  // A session that rolled has moved its recordings on to the next trace.
  const bool recording = setup_.recordings && setup_.recordings->trace() == setup_.id;
  size_t parts = (host_running_ ? 1 : 0) + (recording ? 1 : 0);
  for (const Channel& channel : channels_)
    parts += channel.subscribed || channel.leaving || channel.starting ? 1 : 0;
  const auto one_done = base::After(parts, std::move(done));
  if (recording) setup_.recordings->Stop(one_done);
  if (host_running_) services_.sampler.Stop(setup_.id, one_done);
  const auto stop = [this, &one_done](Channel& channel) {
    if (channel.starting) {  // way was made for kernels that did not come
      channel.on_answer.emplace_back([self = shared_from_this(), &channel, one_done] {
        if (channel.subscribed) return self->StopChannel(channel, one_done);
        one_done();
      });
    } else if (channel.leaving) {
      channel.on_left.push_back(one_done);
    } else if (channel.subscribed) {
      StopChannel(channel, one_done);
    }
  };
  for (const bool log : {false, true}) {
    for (Channel& channel : channels_) {
      if (IsLog(channel) == log) stop(channel);
    }
  }
}

void Trace::StopChannel(Channel& channel, std::function<void()> done) {
  channel.subscribed = false;
  channel.leaving = true;
  channel.on_left.push_back(std::move(done));
  std::optional<format::StreamKey> heir;
  if (next_id_) heir = {*next_id_, channel.key.stream};
  services_.node.hub()->Stop(
      channel.key,
      [self = shared_from_this(), index = channel.key.stream](const Status& status) {
        Channel& channel = self->channels_[index];
        channel.leaving = false;
        if (!status.ok()) {
          channel.reason = status.message();
          if (status.code() != Code::kDataLoss) channel.verdict = Verdict::kFailed;
          self->Settle();
          self->TroubleOf(channel, status.message());
        }
        for (const auto& left : std::exchange(channel.on_left, {})) left();
      },
      heir);
}

void Trace::EndSources() {
  if (setup_.recordings) services_.drain.EndTrace(setup_.id, *writer_->drain);
  std::set<size_t> ended;
  for (const auto& [device, pair] : device_start_) {
    const size_t pump = services_.node.hub()->PumpOf(device);
    if (ended.insert(pump).second) services_.node.hub()->EndTrace(setup_.id, device, writer_->pumps[pump]);
  }
}

}  // namespace profd::session
