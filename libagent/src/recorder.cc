#include "libagent/src/recorder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "libagent/abi/record.h"
#include "libagent/link/messages.h"
#include "libagent/src/attach.h"
#include "libagent/src/facts.h"
#include "libagent/src/mspti/library.h"
#include "libagent/src/tables/domains.h"

namespace profd::agent {

namespace {

constexpr char kMethod[] = "/profd.v1.Agent/Register";

// gRPC status codes.
enum Code : uint32_t {
  kOk = 0,
  kCancelled = 1,
  kInvalid = 3,
  kPrecondition = 9,
  kAborted = 10,
  kUnimplemented = 12,
  kUnavailable = 14
};

constexpr char kAnnounced[] = "CANN is loaded, its kinds are about to begin";
constexpr uint64_t kMaxFireAheadNs = 60'000'000'000;
constexpr int kArmWaitMs = 1500;  // shorter than profd waits for the answer
// How often it is looked whether CANN has come, and, once it has, whether MSPTI is ready. What CANN does
// before that is not recorded. A look is a glance at the loader's counter.
constexpr uint64_t kLookEveryNs = 10'000'000;
constexpr int kAddingMs = 5;
// poll() counts in milliseconds; the rest is slept to the nanosecond.
constexpr uint64_t kFineSleepNs = 2'000'000;

constexpr uint32_t Bit(abi::RecordKind kind) { return 1U << kind; }

struct KindName {
  const char* name;
  uint32_t bits;
};
constexpr KindName kKinds[] = {
    {"agent-range", Bit(abi::kRangePush) | Bit(abi::kRangePop) | Bit(abi::kRangeStart) | Bit(abi::kRangeEnd)},
    {"agent-mark", Bit(abi::kMark)},
    {"agent-counter", Bit(abi::kCounter)},
    {"agent-step", Bit(abi::kStepBegin) | Bit(abi::kStepEnd)},
    {"agent-kernel", Bit(abi::kKernel)},
    {"agent-comm", Bit(abi::kComm)},
    {"agent-api", Bit(abi::kApi)},
    {"agent-memory", Bit(abi::kMemory)},
};

DomainFilter FilterOf(const profd_v1_Arm& arm) {
  static_assert(sizeof(arm.domains.names) == sizeof(DomainFilter::names), "agent.options says the same");
  DomainFilter filter{};
  if (!arm.has_domains) return filter;
  filter.count = arm.domains.names_count;
  filter.exclude = arm.domains.exclude;
  memcpy(filter.names, arm.domains.names, sizeof(filter.names));
  return filter;
}

}  // namespace

namespace {

mspti::From FromOf(const profd_v1_Arm& arm) {
  mspti::From from{arm.call_levels, arm.reports};
  for (size_t i = 0; i < arm.kinds_count; ++i) {
    from.only_tasks = from.only_tasks || strcmp(arm.kinds[i], "tasks") == 0;
    from.attributes = from.attributes || strcmp(arm.kinds[i], "attributes") == 0;
  }
  return from;
}

template <typename Message>
uint32_t BitsOf(const Message& message) {
  uint32_t bits = 0;
  for (size_t i = 0; i < message.kinds_count; ++i) {
    for (const KindName& kind : kKinds) {
      if (strcmp(kind.name, message.kinds[i]) == 0) bits |= kind.bits;
    }
  }
  return bits;
}

}  // namespace

uint32_t KindBits(const profd_v1_Arm& arm) {
  const uint32_t kinds = arm.kinds_count == 0 ? ~Bit(abi::kDeviceMark) : BitsOf(arm);
  return kinds | (arm.device_marks ? Bit(abi::kDeviceMark) : 0);
}

Recorder::~Recorder() {
  ForgetSteps();
  EndReports();
}

bool Recorder::Register(int fd, const char* ticket) {
  if (!stream_.Open(fd, kMethod, ticket, OnMessage, this)) return false;
  profd_v1_AgentMessage message = profd_v1_AgentMessage_init_zero;
  message.which_message = profd_v1_AgentMessage_hello_tag;
  DescribeProcess(&message.message.hello);
  return Send(message);
}

bool Recorder::Advance() {
  if (fire_at_ns_ != 0) {
    const uint64_t now = base::RawNs();
    if (fire_at_ns_ <= now + kFineSleepNs) {
      if (fire_at_ns_ > now) {
        const timespec rest{0, static_cast<long>(fire_at_ns_ - now)};
        ::nanosleep(&rest, nullptr);
      }
      FireNow({});
    }
  }
  ReportSteps();
  LookForLibraries();
  if (adding_id_ != 0) FinishAdding();
  // After the word that they had begun.
  if (adding_id_ == 0 && mspti::HasJustEnded() && !Describe()) broken_ = true;
  return stream_.Advance() && !broken_;
}

int Recorder::TimeoutMs() const {
  if (adding_id_ != 0) return kAddingMs;
  uint64_t due_ns = UINT64_MAX;
  if (fire_at_ns_ != 0) due_ns = fire_at_ns_ - kFineSleepNs;
  if (waits_for_cann_ && looked_at_ns_ + kLookEveryNs < due_ns) due_ns = looked_at_ns_ + kLookEveryNs;
  if (due_ns == UINT64_MAX) return -1;
  const uint64_t now = base::RawNs();
  return due_ns <= now ? 0 : static_cast<int>((due_ns - now) / 1'000'000 + 1);
}

void Recorder::OnMessage(void* user, const uint8_t* bytes, size_t size) {
  auto* self = static_cast<Recorder*>(user);
  profd_v1_AgentCommand command = profd_v1_AgentCommand_init_zero;
  if (!link::Decode(bytes, size, &command)) {
    self->broken_ = true;
    return;
  }
  self->Obey(command);
}

void Recorder::Obey(const profd_v1_AgentCommand& command) {
  switch (command.which_action) {
    case profd_v1_AgentCommand_arm_tag:
      return ArmNext(command.id, command.action.arm);
    case profd_v1_AgentCommand_fire_tag:
      return FireNext(command.id, command.action.fire);
    case profd_v1_AgentCommand_stop_tag:
      return Stop(command.id);
    case profd_v1_AgentCommand_pair_clocks_tag:
      PairRegionClock();
      return Acknowledge(command.id, kOk, "", NowTicks());
    case profd_v1_AgentCommand_add_kinds_tag:
      return AddKinds(command.id, command.action.add_kinds);
    case profd_v1_AgentCommand_describe_tag:
      broken_ = broken_ || !Describe();
      return Acknowledge(command.id, kOk, "", NowTicks());
    default:
      return Acknowledge(command.id, kUnimplemented,
                         "this agent does not know the action: is it older than profd?", 0);
  }
}

void Recorder::ArmNext(uint64_t id, const profd_v1_Arm& arm) {
  const uint32_t kinds = KindBits(arm);
  if (kinds == 0) return Acknowledge(id, kInvalid, "none of the kinds is one of this agent's", 0);
  fire_at_ns_ = 0;
  ForgetSteps();
  EndReports();
  Disarm();
  mspti::MissingKinds missing;
  if (arm.announce && (kinds & mspti::kRecordKinds) != 0) {
    missing = {{{mspti::kRecordKinds, mspti::IsCannLoaded() ? kAnnounced : mspti::kNotYet, true}}, 1};
    WaitForCann(true);
  } else {
    const mspti::Begun begun = mspti::Start(kinds, FromOf(arm), kArmWaitMs, &missing);
    if (begun == mspti::Begun::kRefused && (kinds & ~(mspti::kRecordKinds | Bit(abi::kDeviceMark))) == 0)
      return Acknowledge(id, kPrecondition, missing, 0);
    if (begun == mspti::Begun::kStarting) mspti::Stop();  // it is begun anew when the loader is free
    WaitForCann(begun == mspti::Begun::kStarting || begun == mspti::Begun::kLater);
  }
  looked_at_ns_ = 0;
  absent_ns_ = base::RawNs();
  next_ = {kinds, arm.flight_recorder};
  from_ = FromOf(arm);
  if (arm.flight_recorder) MarkExits();
  FilterDomains(FilterOf(arm));
  schedule_ = {};
  if (arm.has_steps) {
    schedule_ = {arm.steps.skip_first, arm.steps.wait,      arm.steps.warmup,          arm.steps.active,
                 arm.steps.repeat,     arm.steps.from_step, arm.steps.skip_first_wait, arm.steps.round_up};
  }
  armed_ = true;
  PairRegionClock();
  // Who asks for everything takes what there is.
  if (arm.kinds_count == 0) missing.count = 0;
  if (!arm.fire) return Acknowledge(id, kOk, missing, NowTicks());
  fire_id_ = id;
  FireNow(missing);
}

void Recorder::FireNext(uint64_t id, const profd_v1_Fire& fire) {
  if (!armed_) return Acknowledge(id, kPrecondition, "fire without arm", 0);
  const uint64_t now = base::RawNs();
  if (fire.at_raw_ns > now + kMaxFireAheadNs) {
    return Acknowledge(id, kInvalid, "fire is more than 60 s ahead of this process's clock", 0);
  }
  fire_id_ = id;
  fire_at_ns_ = fire.at_raw_ns > now ? fire.at_raw_ns : now;
}

void Recorder::FireNow(const mspti::MissingKinds& missing) {
  fire_at_ns_ = 0;
  armed_ = false;
  if (schedule_.active != 0) {
    FollowSteps(schedule_, next_);
    return Acknowledge(fire_id_, kOk, missing, NowTicks());
  }
  const uint64_t ticks = agent::Arm(next_);
  if (ticks == 0) return Acknowledge(fire_id_, kUnavailable, "the lanes are in use", 0);
  Acknowledge(fire_id_, kOk, missing, ticks);
}

// Nothing of the recording is disturbed by it.
void Recorder::AddKinds(uint64_t id, const profd_v1_AddKinds& add) {
  mspti::MissingKinds missing;
  switch (mspti::Start(BitsOf(add) | (next_.kinds & Bit(abi::kDeviceMark)), from_, 0, &missing)) {
    case mspti::Begun::kRecords:
      return Acknowledge(id, kOk, missing, NowTicks(), MissedNs());
    case mspti::Begun::kRefused:
      return Acknowledge(id, kPrecondition, missing, 0);
    case mspti::Begun::kLater:
      WaitForCann(true);
      return Acknowledge(id, kOk, missing, NowTicks());
    case mspti::Begun::kStarting:
      adding_id_ = id;
  }
}

void Recorder::FinishAdding() {
  mspti::MissingKinds missing;
  const mspti::Begun begun = mspti::Look(&missing);
  if (begun == mspti::Begun::kStarting) return;
  const bool records = begun == mspti::Begun::kRecords;
  Acknowledge(adding_id_, records ? kOk : kPrecondition, missing, NowTicks(), records ? MissedNs() : 0);
  adding_id_ = 0;
}

// A child may load it as well as this process.
void Recorder::WaitForCann(bool wait) {
  waits_for_cann_ = wait;
  FollowChildren(wait);
}

// What the kinds wait for has come: profd is told, and says when they may begin.
void Recorder::LookForLibraries() {
  if (!waits_for_cann_ || base::RawNs() - looked_at_ns_ < kLookEveryNs) return;
  looked_at_ns_ = base::RawNs();
  if (!mspti::IsReady()) {
    absent_ns_ = looked_at_ns_;
    return;
  }
  WaitForCann(false);
  if (!Describe()) broken_ = true;
}

uint64_t Recorder::MissedNs() const { return base::RawNs() - absent_ns_; }

bool Recorder::Describe() {
  profd_v1_AgentMessage message = profd_v1_AgentMessage_init_zero;
  message.which_message = profd_v1_AgentMessage_capabilities_tag;
  DescribeCapabilities(&message.message.capabilities);
  return Send(message);
}

void Recorder::Stop(uint64_t id) {
  if (fire_at_ns_ != 0) Acknowledge(fire_id_, kCancelled, "stopped before it fired", 0);
  fire_at_ns_ = 0;
  armed_ = false;
  ForgetSteps();
  const bool ended = EndReports();
  if (!Disarm())
    return Acknowledge(id, kUnavailable, "a thread is held in the middle of a record", NowTicks());
  if (const char* why = mspti::WhyEnded()) return Acknowledge(id, kAborted, why, NowTicks());
  Acknowledge(id, kOk, ended ? "" : "MSPTI takes long to stop: what it still reports is not recorded",
              NowTicks());
}

// The threads of the program stop at once; what the device runtime still has to say of the time before is
// recorded.
bool Recorder::EndReports() {
  WaitForCann(false);
  if (adding_id_ != 0) Acknowledge(std::exchange(adding_id_, 0), kCancelled, "stopped before it began", 0);
  Pause();
  return mspti::Stop();
}

void Recorder::ReportSteps() {
  StepEvent event;
  while (TakeStepEvent(&event)) {
    PairRegionClock();
    profd_v1_AgentMessage message = profd_v1_AgentMessage_init_zero;
    message.which_message = profd_v1_AgentMessage_step_window_tag;
    message.message.step_window = {event.cycle, event.step, event.ticks, event.opened, event.last};
    if (!Send(message)) broken_ = true;
  }
}

void Recorder::Acknowledge(uint64_t id, uint32_t code, const char* text, uint64_t ticks) {
  profd_v1_AgentMessage message = profd_v1_AgentMessage_init_zero;
  CopyText(message.message.ack.message, sizeof(message.message.ack.message), text, strlen(text));
  Acknowledge(id, code, ticks, &message);
}

void Recorder::Acknowledge(uint64_t id, uint32_t code, const mspti::MissingKinds& missing, uint64_t ticks,
                           uint64_t missed_ns) {
  profd_v1_AgentMessage message = profd_v1_AgentMessage_init_zero;
  profd_v1_AgentAck& ack = message.message.ack;
  size_t used = 0;
  for (size_t i = 0; i < missing.count; ++i) {
    const mspti::Missing& one = missing.list[i];
    const char* who = "MSPTI kinds";
    for (const KindName& kind : kKinds) {
      if ((kind.bits & one.kinds) == 0) continue;
      if (one.kinds != mspti::kRecordKinds) who = kind.name;
      profd_v1_AgentCapability& capability = ack.missing[ack.missing_count++];
      CopyText(capability.kind, sizeof(capability.kind), kind.name, strlen(kind.name));
      CopyText(capability.reason, sizeof(capability.reason), one.why, strlen(one.why));
      capability.later = one.later;
    }
    const int more = snprintf(ack.message + used, sizeof(ack.message) - used, "%s%s: %s%s",
                              i == 0 ? "" : "; ", who, one.later ? "pending: " : "", one.why);
    used = std::min(used + static_cast<size_t>(more), sizeof(ack.message) - 1);
  }
  ack.missed_ns = missed_ns;
  Acknowledge(id, code, ticks, &message);
}

void Recorder::Acknowledge(uint64_t id, uint32_t code, uint64_t ticks, profd_v1_AgentMessage* message) {
  message->which_message = profd_v1_AgentMessage_ack_tag;
  profd_v1_AgentAck& ack = message->message.ack;
  const Totals totals = CountTotals();
  ack.command_id = id;
  ack.code = code;
  ack.ticks = ticks;
  ack.slots = totals.slots;
  ack.lost = totals.lost;
  ack.lost_without_lane = totals.lost_without_lane;
  if (!Send(*message)) broken_ = true;
}

bool Recorder::Send(const profd_v1_AgentMessage& message) {
  uint8_t bytes[profd_v1_AgentMessage_size];
  const size_t size = link::Encode(message, bytes, sizeof(bytes));
  return size > 0 && stream_.Send(bytes, size);
}

}  // namespace profd::agent
