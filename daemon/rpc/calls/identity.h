// Who makes a call: the ticket of a local process, or the certificate of another machine.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <string>
#include <utility>

#include "daemon/auth/holders.h"
#include "daemon/auth/remote_roles.h"
#include "daemon/auth/tickets.h"

namespace profd::rpc {

// Over TCP, be it on loopback.
bool IsRemote(const grpc::CallbackServerContext& context);

// **Thread:** any; Of() not ctl: names of accounts may be looked up.
class Identity {
 public:
  // `plain_role`: of a caller on loopback without a certificate; "" = there is no such listener.
  Identity(auth::Tickets& tickets, auth::RemoteRoles roles, auth::Holders& holders, std::string plain_role)
      : tickets_(tickets), roles_(std::move(roles)), holders_(holders), plain_role_(std::move(plain_role)) {}

  // Of every call, whoever makes it: over TCP the connection counts as its caller's from the first one on.
  // kResourceExhausted: that has enough.
  base::Status Admit(const grpc::CallbackServerContext& context) const;
  // Admits, too.
  base::Result<auth::Caller> Of(const grpc::CallbackServerContext& context) const;

  // For a call that lasts: who Of() found, with the groups and leases of the moment; a local one as long as
  // its ticket lives. Does not block, so it is for ctl, too.
  using Renew = std::function<base::Result<auth::Caller>()>;
  Renew RenewalOf(const grpc::CallbackServerContext& context, const auth::Caller& caller) const;

 private:
  auth::Tickets& tickets_;
  const auth::RemoteRoles roles_;
  auth::Holders& holders_;
  const std::string plain_role_;
};

}  // namespace profd::rpc
