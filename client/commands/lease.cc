#include "client/args.h"
#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

namespace {

using base::Result;
using base::Status;

Result<v1::AddLeaseRequest> ParseLease(const LeaseOptions& options) {
  v1::AddLeaseRequest request;
  request.set_user(options.user);
  PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(options.devices));
  request.set_all_devices(list.all);
  request.mutable_devices()->Assign(list.devices.begin(), list.devices.end());
  PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--for", options.duration));
  request.set_duration_ns(ns);
  return request;
}

ExitCode Show(const Common& common, const Result<v1::Lease>& lease) {
  if (!lease.ok()) return Fail(lease.status());
  Print(common.json ? LeaseJson(*lease) : RenderLeases({*lease}, ColouredOutput()));
  return ExitCode::kOk;
}

}  // namespace

ExitCode RunLeaseAdd(const Common& common, const LeaseOptions& options) {
  const Result<v1::AddLeaseRequest> request = ParseLease(options);
  if (!request.ok()) return Fail(request.status());
  Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  return Show(common, connection->control->AddLease(*request));
}

ExitCode RunLeaseRemove(const Common& common, const LeaseOptions& options) {
  Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  return Show(common, connection->control->RemoveLease(options.lease));
}

ExitCode RunLeaseList(const Common& common) {
  Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const Result<v1::ListLeasesReply> reply = connection->control->ListLeases();
  if (!reply.ok()) return Fail(reply.status());
  const std::vector<v1::Lease> leases((*reply).leases().begin(), (*reply).leases().end());
  Print(common.json ? LeasesJson(leases) : RenderLeases(leases, ColouredOutput()));
  return ExitCode::kOk;
}

}  // namespace profd::client
