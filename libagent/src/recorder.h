// One registration: what profd commands, done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libagent/link/grpc_stream.h"
#include "libagent/src/mspti/source.h"
#include "libagent/src/process.h"
#include "libagent/src/steps.h"
#include "profd/v1/agent.nanopb.h"

namespace profd::agent {

// Bits of Armed::kinds for the kinds of a profd.v1.Arm; all for none, 0 when none is known.
uint32_t KindBits(const profd_v1_Arm& arm);

// **Thread:** the attach thread. **Owns:** the stream's state; recording stops with it.
class Recorder {
 public:
  Recorder() = default;
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Says hello on a connected non-blocking socket. False: no memory.
  bool Register(int fd, const char* ticket);
  // Does what has come to do. False: the registration is over.
  bool Advance();

  // profd's word when it ended the registration itself, as a gRPC status code; -1 otherwise.
  int verdict() const { return stream_.status(); }
  bool wants_write() const { return stream_.wants_write(); }
  // When Advance has to be called at the latest; -1: when something happens.
  int TimeoutMs() const;

 private:
  static void OnMessage(void* user, const uint8_t* bytes, size_t size);
  void Obey(const profd_v1_AgentCommand& command);
  void ArmNext(uint64_t id, const profd_v1_Arm& arm);
  void FireNext(uint64_t id, const profd_v1_Fire& fire);
  void FireNow(const mspti::MissingKinds& missing);
  void AddKinds(uint64_t id, const profd_v1_AddKinds& add);
  void FinishAdding();
  void Stop(uint64_t id);
  bool EndReports();
  void WaitForCann(bool wait);
  void LookForLibraries();
  // How long it is that the kinds could have been there, at most.
  uint64_t MissedNs() const;
  bool Describe();
  void ReportSteps();
  void Acknowledge(uint64_t id, uint32_t code, const char* message, uint64_t ticks);
  // With what can't be had, which is empty where all is well.
  void Acknowledge(uint64_t id, uint32_t code, const mspti::MissingKinds& missing, uint64_t ticks,
                   uint64_t missed_ns = 0);
  void Acknowledge(uint64_t id, uint32_t code, uint64_t ticks, profd_v1_AgentMessage* message);
  bool Send(const profd_v1_AgentMessage& message);

  link::GrpcStream stream_;
  bool broken_ = false;
  bool armed_ = false;
  Armed next_;
  mspti::From from_;  // of Arm
  StepSchedule schedule_;
  uint64_t fire_id_ = 0;
  uint64_t fire_at_ns_ = 0;  // CLOCK_MONOTONIC_RAW; 0: nothing to fire
  bool waits_for_cann_ = false;
  uint64_t looked_at_ns_ = 0;
  uint64_t absent_ns_ = 0;  // the last look that did not find it, or when the recording was armed
  uint64_t adding_id_ = 0;  // of an AddKinds that is on its way; 0: none
};

}  // namespace profd::agent
