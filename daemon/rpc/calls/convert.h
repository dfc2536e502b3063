// proto ⇄ the daemon's plain structs. Decoding checks what only the wire can get wrong; whether a request
// makes sense is the plan's business.
#pragma once

#include <vector>

#include "base/status.h"
#include "daemon/session/manager.h"
#include "daemon/session/node/targets.h"
#include "daemon/session/plan/types.h"
#include "profd/v1/control.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::rpc {

// Without the output directory: that comes through the door.
base::Result<session::SessionSpec> DecodeSpec(const v1::SessionSpec& untrusted);
base::Result<session::StopTarget> DecodeStop(const v1::StopRequest& untrusted);
session::TapeOrder DecodeTape(const v1::TapeRequest& untrusted);

struct LeaseOrder {
  auth::Lease lease;
  bool all_devices = false;
};
// Asks who the user is, which may block.
base::Result<LeaseOrder> DecodeLease(const v1::AddLeaseRequest& untrusted);

void Encode(const auth::Lease& lease, v1::Lease* out);
void Encode(const std::vector<auth::Lease>& leases, v1::ListLeasesReply* out);
void Encode(const session::SessionInfo& info, v1::SessionInfo* out);
void Encode(const session::Stopped& stopped, v1::StopReply* out);
void Encode(const std::vector<session::SessionInfo>& infos, v1::ListReply* out);
void Encode(const session::NodeReport& report, v1::DevicesReply* out);
void Encode(const std::vector<session::Target>& targets, v1::TargetsReply* out);
void Encode(const session::ProcessStacks& stacks, v1::StacksReply* out);
void Encode(const std::vector<session::Check>& checks, v1::DoctorReply* out);
void Encode(const session::Taped& taped, v1::TapeReply* out);

}  // namespace profd::rpc
