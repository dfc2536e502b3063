// The exported functions of profd/agent.h.
#include <bit>
#include <cstring>

#include "base/version.h"
#include "libagent/src/emitter.h"
#include "libagent/src/process.h"
#include "libagent/src/steps.h"
#include "libagent/src/tables/domains.h"
#include "libagent/src/tables/names.h"

using profd::abi::RecordKind;
using profd::agent::Enter;
using profd::agent::Generation;
using profd::agent::Leave;
using profd::agent::Owner;

namespace {

constexpr uint32_t kNoDepth = 0xFFFFFFFF;

// A call of the setting-up functions counts as a first call too.
void Begin() {
  if (Generation() == profd::agent::kNotStarted) profd::agent::StartAgent();
}

[[gnu::noinline]] void EmitUnready(uint32_t generation, RecordKind kind, uint32_t name, uint64_t value,
                                   uint32_t detail) {
  Owner* owner = profd::agent::EnterSlow(generation);
  if (owner == nullptr) return;
  if (!profd::agent::Wants(owner, kind)) return Leave(owner);
  profd::agent::EmitAndLeave(owner, kind, 0, name, value, detail);
}

[[gnu::always_inline]] inline void EmitSimple(RecordKind kind, uint32_t name, uint64_t value,
                                              uint32_t detail) {
  const uint32_t generation = Generation();
  if (generation == profd::agent::kIdle) return;
  Owner* owner = profd::agent::t_owner;
  if (!profd::agent::IsReady(owner, generation)) [[unlikely]] {
    return EmitUnready(generation, kind, name, value, detail);
  }
  owner = profd::agent::EnterReady(owner, generation);
  if (owner == nullptr) return;
  if (!profd::agent::Wants(owner, kind)) return Leave(owner);
  profd::agent::EmitAndLeave(owner, kind, 0, name, value, detail);
}

// The event as this version knows it; false: not one that we can read.
bool Read(const profd_event* event, profd_event* copy) {
  if (event == nullptr || event->size < sizeof(profd_event::size)) return false;
  *copy = {};
  memcpy(copy, event, event->size < sizeof(*copy) ? event->size : sizeof(*copy));
  return true;
}

// Counts the push and says how to record it.
int Deepen(Owner* owner, uint32_t domain, uint32_t* detail) {
  int32_t* depth = profd::agent::DepthOf(owner, static_cast<uint16_t>(domain));
  *detail = depth == nullptr ? kNoDepth : static_cast<uint32_t>(*depth);
  return depth == nullptr ? profd::agent::kUntracked : (*depth)++;
}

int Push(Owner* owner, uint32_t name) {
  const int32_t depth = owner->depths[0].depth++;
  if (profd::agent::Wants(owner, profd::abi::kRangePush)) {
    return profd::agent::EmitAndLeave(owner, profd::abi::kRangePush, 0, name, 0,
                                      static_cast<uint32_t>(depth));
  }
  Leave(owner);
  return depth;
}

// From the ranges that have no domain.
int Pop(Owner* owner) {
  int32_t& depth = owner->depths[0].depth;
  if (depth <= 0) {
    Leave(owner);
    return -1;
  }
  const int32_t left = --depth;
  if (profd::agent::Wants(owner, profd::abi::kRangePop)) {
    return profd::agent::EmitAndLeave(owner, profd::abi::kRangePop, 0, 0, 0, static_cast<uint32_t>(left));
  }
  Leave(owner);
  return left;
}

int PopIn(Owner* owner, uint16_t domain) {
  int32_t* depth = profd::agent::DepthOf(owner, domain);
  int result = profd::agent::kUntracked;
  if (depth != nullptr) result = *depth > 0 ? --*depth : -1;
  if (result == -1 || !profd::agent::WantsIn(owner, profd::abi::kRangePop, domain)) {
    Leave(owner);
    return result;
  }
  const uint32_t detail = depth == nullptr ? kNoDepth : static_cast<uint32_t>(result);
  profd::agent::EmitAndLeave(owner, profd::abi::kRangePop, domain, 0, 0, detail);
  return result;
}

[[gnu::noinline]] int PushUnready(uint32_t generation, uint32_t name) {
  Owner* owner = profd::agent::EnterSlow(generation);
  return owner == nullptr ? profd::agent::kUntracked : Push(owner, name);
}

[[gnu::noinline]] int PopUnready(uint32_t generation) {
  Owner* owner = profd::agent::EnterSlow(generation);
  return owner == nullptr ? profd::agent::kUntracked : Pop(owner);
}

}  // namespace

extern "C" {

profd_name profd_intern(const char* text) {
  Begin();
  return profd::agent::Intern(text);
}

profd_domain profd_domain_create(const char* name) {
  Begin();
  return profd::agent::DefineDomain(name);
}

void profd_name_category(profd_domain domain, uint32_t category, const char* text) {
  Begin();
  profd::agent::Define(profd::abi::kNameCategory, static_cast<uint16_t>(domain), category,
                       profd::agent::NameText(text));
}

void profd_name_thread(const char* text) {
  Begin();
  profd::agent::NameThread(text);
}

void profd_mark(profd_name name) { EmitSimple(profd::abi::kMark, name, 0, 0); }

int profd_range_push(profd_name name) {
  const uint32_t generation = Generation();
  if (generation == profd::agent::kIdle) return profd::agent::kUntracked;
  Owner* owner = profd::agent::t_owner;
  if (!profd::agent::IsReady(owner, generation)) [[unlikely]]
    return PushUnready(generation, name);
  owner = profd::agent::EnterReady(owner, generation);
  return owner == nullptr ? profd::agent::kUntracked : Push(owner, name);
}

int profd_range_pop(void) {
  const uint32_t generation = Generation();
  if (generation == profd::agent::kIdle) return profd::agent::kUntracked;
  Owner* owner = profd::agent::t_owner;
  if (!profd::agent::IsReady(owner, generation)) [[unlikely]]
    return PopUnready(generation);
  owner = profd::agent::EnterReady(owner, generation);
  return owner == nullptr ? profd::agent::kUntracked : Pop(owner);
}

int profd_range_pop_in(profd_domain domain) {
  if (domain == 0) return profd_range_pop();
  const uint32_t generation = Generation();
  if (generation == profd::agent::kIdle) return profd::agent::kUntracked;
  Owner* owner = Enter(generation);
  return owner == nullptr ? profd::agent::kUntracked : PopIn(owner, static_cast<uint16_t>(domain));
}

uint64_t profd_range_start(profd_name name) {
  profd_event event{};
  event.size = sizeof(event);
  event.name = name;
  return profd_range_start_event(&event);
}

void profd_range_end(uint64_t id) {
  if (id != 0) EmitSimple(profd::abi::kRangeEnd, 0, id, 0);
}

void profd_counter(profd_name name, int64_t value) {
  EmitSimple(profd::abi::kCounter, name, static_cast<uint64_t>(value), profd::abi::kI64);
}

void profd_counter_f64(profd_name name, double value) {
  EmitSimple(profd::abi::kCounter, name, std::bit_cast<uint64_t>(value), profd::abi::kF64);
}

void profd_step_begin(uint64_t step) {
  Begin();
  profd::agent::CountStepBegin(step);
  profd::agent::StepBegins(step);
  EmitSimple(profd::abi::kStepBegin, 0, step, 0);
}

void profd_step_end(uint64_t step) {
  EmitSimple(profd::abi::kStepEnd, 0, step, 0);
  profd::agent::CountStepEnd();
  profd::agent::StepEnds(step);
}

void profd_mark_event(const profd_event* event) {
  const uint32_t generation = Generation();
  profd_event copy;
  if (generation == profd::agent::kIdle || !Read(event, &copy)) return;
  Owner* owner = Enter(generation);
  if (owner == nullptr) return;
  if (profd::agent::WantsIn(owner, profd::abi::kMark, copy.domain)) {
    profd::agent::EmitEvent(owner, profd::abi::kMark, copy, 0, 0);
  }
  Leave(owner);
}

int profd_range_push_event(const profd_event* event) {
  const uint32_t generation = Generation();
  profd_event copy;
  if (generation == profd::agent::kIdle || !Read(event, &copy)) return profd::agent::kUntracked;
  Owner* owner = Enter(generation);
  if (owner == nullptr) return profd::agent::kUntracked;
  uint32_t detail;
  const int depth = Deepen(owner, copy.domain, &detail);
  if (profd::agent::WantsIn(owner, profd::abi::kRangePush, copy.domain)) {
    profd::agent::EmitEvent(owner, profd::abi::kRangePush, copy, 0, detail);
  }
  Leave(owner);
  return depth;
}

uint64_t profd_range_start_event(const profd_event* event) {
  const uint32_t generation = Generation();
  profd_event copy;
  if (generation == profd::agent::kIdle || !Read(event, &copy)) return 0;
  Owner* owner = Enter(generation);
  if (owner == nullptr) return 0;
  uint64_t id = 0;  // of what is not recorded: nor is its end
  if (profd::agent::WantsIn(owner, profd::abi::kRangeStart, copy.domain)) {
    id = profd::agent::NextRangeId(owner);
    profd::agent::EmitEvent(owner, profd::abi::kRangeStart, copy, id, 0);
  }
  Leave(owner);
  return id;
}

const char* profd_agent_version(void) { return profd::base::kVersion; }

}  // extern "C"
