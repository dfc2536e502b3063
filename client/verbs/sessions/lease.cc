#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"

namespace profd::client {

namespace {

using base::Result;

struct Options {
  std::string user;
  std::string devices;
  std::string duration;
  std::string lease;
};

Result<v1::AddLeaseRequest> ParseLease(const Options& options) {
  v1::AddLeaseRequest request;
  request.set_user(options.user);
  PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(options.devices));
  request.set_all_devices(list.all);
  request.mutable_devices()->Assign(list.devices.begin(), list.devices.end());
  PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--for", options.duration));
  request.set_duration_ns(ns);
  return request;
}

ExitCode Show(const Context& context, const Result<v1::Lease>& lease) {
  if (!lease.ok()) return context.Fail(lease.status());
  context.Print(context.json ? LeaseJson(*lease) : RenderLeases({*lease}, OwnLook()));
  return ExitCode::kOk;
}

Asking<ExitCode> Add(const Context& context, const Options& options) {
  const Result<v1::AddLeaseRequest> request = ParseLease(options);
  if (!request.ok()) co_return context.Fail(request.status());
  const Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const Result<v1::Lease> lease = co_await connection->control->AddLease(*request);
  co_return Show(context, lease);
}

Asking<ExitCode> Remove(const Context& context, const Options& options) {
  const Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const Result<v1::Lease> lease = co_await connection->control->RemoveLease(options.lease);
  co_return Show(context, lease);
}

Asking<ExitCode> List(const Context& context) {
  const Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const Result<v1::ListLeasesReply> reply = co_await connection->control->ListLeases();
  if (!reply.ok()) co_return context.Fail(reply.status());
  const std::vector<v1::Lease> leases(reply->leases().begin(), reply->leases().end());
  context.Print(context.json ? LeasesJson(leases) : RenderLeases(leases, OwnLook()));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  cli::Arguments add = arguments.Sub("add", "let a user collect devices (for root, or a scheduler)");
  add.Text("--user", &options->user, "name or number").Required();
  add.Text("--devices", &options->devices, "all, or numbers: 0,1").Required();
  add.Text("--for", &options->duration, "how long, e.g. 30m, 8h, 2d").Required();
  arguments.Sub("list", "leases: one's own, all for root");
  cli::Arguments remove = arguments.Sub("rm", "end a lease; sessions that depend on it end");
  remove.Text("LEASE", &options->lease, "Its id").Required();
  return {.ask = [=](const Context& context) {
    if (add.IsGiven()) return Add(context, *options);
    return remove.IsGiven() ? Remove(context, *options) : List(context);
  }};
}

}  // namespace

namespace verbs {
Verb Lease() {
  return {"lease", "who may collect which devices, and for how long", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
