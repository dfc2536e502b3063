// What of the processes goes into which trace.
#include <utility>

#include "daemon/agent/lanes/lane_clock.h"
#include "daemon/base/after.h"
#include "daemon/chunk/stream_spec.h"
#include "daemon/session/life/recordings/recordings.h"
#include "format/directory/own_folder.h"

namespace profd::session {

namespace {

const char* CounterName(uint32_t counter) {
  switch (counter) {
    case abi::kCounterTsc:
      return "tsc";
    case abi::kCounterCntvct:
      return "cntvct";
    case abi::kCounterRawClock:
      return "raw_clock";
    default:
      return "";
  }
}

format::ManifestTicks TicksOf(const abi::ClockPair& pair) { return {pair.ticks, pair.raw_ns, pair.error_ns}; }

std::shared_ptr<const chunk::StreamSpec> SpecOf(std::string file, const char* kind, bool one_slice,
                                                const std::shared_ptr<agent::RecordingStats>& stats) {
  auto spec = std::make_shared<chunk::StreamSpec>();
  spec->folder = format::kOwnFolder;
  spec->file = std::move(file);
  spec->kind = kind;
  spec->unit = "agent";
  spec->one_slice = one_slice;
  spec->whole = true;  // a process that is paused records nothing
  spec->stats = std::make_shared<chunk::StreamStats>();
  spec->written = [stats](const std::byte* blocks, size_t bytes, bool stored) {
    stats->Written(blocks, bytes, stored);
  };
  return spec;
}

}  // namespace

agent::DrainTarget Recordings::TargetFor(const MemberPtr& member) {
  const agent::Peer& peer = *member->peer;
  const pid_t pid = peer.identity().pid;
  auto part = std::make_shared<Part>();
  part->trace = sink_.trace;
  part->start = member->start;
  part->stats = std::make_shared<agent::RecordingStats>(peer.region()->geometry().lanes);
  format::ManifestAgent& manifest = part->manifest;
  manifest.pid = pid;
  manifest.container_pid = peer.hello().pid;
  manifest.target = setup_.starts[member->start].pid;
  manifest.attachment = attachments_[{sink_.trace, pid}]++;
  manifest.executable = peer.hello().executable;
  manifest.agent_version = peer.hello().agent_version;
  manifest.labels = peer.hello().labels;
  const std::string file = "agent_" + std::to_string(pid) + "_" + std::to_string(manifest.attachment);
  manifest.lanes_file = file + ".lanes";
  manifest.names_file = file + ".names";
  agent::DrainTarget target;
  target.user = peer.identity().uid;
  target.trace = sink_.trace;
  target.first_stream = next_stream_;
  target.pipe = sink_.pipe;
  target.lanes_spec = SpecOf(manifest.lanes_file, "agent-lanes", false, part->stats);
  target.names_spec = SpecOf(manifest.names_file, "agent-names", true, part->stats);
  target.stats = part->stats;
  if (setup_.starts[member->start].reports != agent::Reported::kNothing) {
    if (reports_ == nullptr)
      reports_ = std::make_shared<agent::ReportFiles>(sink_.trace, kFirstReports, sink_.counter_mhz);
    target.reports = reports_;
  }
  next_stream_ += 2;
  member->part = part;
  parts_.push_back(std::move(part));
  return target;
}

void Recordings::Move(RecordingSink sink, std::function<void()> done) {
  reports_.reset();
  if (std::exchange(sink_, sink).trace == 0) {  // nothing was written before
    done = [self = shared_from_this(), done = std::move(done)] {
      self->Forget(0);
      done();
    };
  }
  const std::vector<MemberPtr> members = members_;
  const auto one_done = base::After(members.size(), std::move(done));
  for (const MemberPtr& member : members) {
    if (member->ended) {  // its last records belong to the trace before
      member->on_ended.push_back(one_done);
      continue;
    }
    NoteClock(*member);
    member->part->manifest.end = "moved";
    const format::ManifestAgent before = member->part->manifest;
    agent::DrainTarget target = TargetFor(member);
    member->part->manifest.fire_raw_ns = before.fire_raw_ns;
    member->part->manifest.begun_ticks = before.begun_ticks;
    member->part->manifest.skew_ns = before.skew_ns;
    NoteClock(*member);
    drain_.Retarget(member->drain, std::move(target), one_done);
  }
}

void Recordings::NoteBegun(const Member& member, const agent::Ack& ack, uint64_t meant_ns) {
  const abi::LaneClock clock = NoteClock(member);
  format::ManifestAgent& manifest = member.part->manifest;
  manifest.begun_ticks = ack.ticks;
  const uint64_t begun_ns = agent::RawNsOf(clock, ack.ticks);
  if (begun_ns != 0) manifest.skew_ns = static_cast<int64_t>(begun_ns - meant_ns);
}

abi::LaneClock Recordings::NoteClock(const Member& member) const {
  const abi::LaneClock clock = agent::ReadClock(*member.peer->region());
  format::ManifestAgent& manifest = member.part->manifest;
  manifest.counter = CounterName(clock.counter);
  manifest.counter_hz = clock.nominal_hz;
  manifest.first = TicksOf(clock.first);
  manifest.latest = TicksOf(clock.latest);
  return clock;
}

void Recordings::Forget(uint32_t trace) {
  std::erase_if(parts_, [trace](const auto& part) { return part->trace == trace; });
  std::erase_if(attachments_, [trace](const auto& entry) { return entry.first.first == trace; });
}

}  // namespace profd::session
