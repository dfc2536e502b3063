// agent.proto ⇄ the daemon's plain structs. What a process says of itself is cut to size and made printable
// here.
#pragma once

#include <vector>

#include "base/status.h"
#include "daemon/agent/peer.h"
#include "profd/v1/agent.pb.h"

namespace profd::rpc {

base::Result<agent::Hello> DecodeHello(const v1::AgentHello& untrusted);
// Sorted, each once.
base::Result<std::vector<uint32_t>> DecodeDevices(const google::protobuf::RepeatedField<uint32_t>& untrusted);
base::Result<std::vector<agent::Capability>> DecodeCapabilities(
    const google::protobuf::RepeatedPtrField<v1::AgentCapability>& untrusted);
agent::Ack DecodeAck(const v1::AgentAck& untrusted);
agent::StepWindow DecodeStepWindow(const v1::StepWindow& untrusted);

void Encode(const agent::Command& command, v1::AgentCommand* out);

}  // namespace profd::rpc
