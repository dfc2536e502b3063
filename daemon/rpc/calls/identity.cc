#include "daemon/rpc/calls/identity.h"

#include <grpcpp/security/auth_context.h>

#include "daemon/rpc/calls/call_status.h"

namespace profd::rpc {

namespace {

std::string Text(const grpc::string_ref& text) { return {text.data(), text.size()}; }

auth::RemotePeer PeerOf(const grpc::CallbackServerContext& context) {
  auth::RemotePeer peer;
  peer.address = context.peer();
  const auto properties = context.auth_context();
  for (const char* const kind : {"x509_subject_alternative_name", "x509_common_name"}) {
    for (const grpc::string_ref& name : properties->FindPropertyValues(kind))
      peer.names.push_back(Text(name));
  }
  return peer;
}

}  // namespace

bool IsRemote(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  return peer.starts_with("ipv4:") || peer.starts_with("ipv6:");
}

base::Status Identity::Admit(const grpc::CallbackServerContext& context) const {
  if (!IsRemote(context)) return {};
  const bool has_certificate = context.auth_context()->IsPeerAuthenticated();
  const auth::RemoteRoles::Holder holder =
      has_certificate ? roles_.HolderOf(PeerOf(context)) : auth::RemoteRoles::Holder{.is_limited = false};
  return holders_.Claim(context.peer(), holder.name, holder.is_limited);
}

base::Result<auth::Caller> Identity::Of(const grpc::CallbackServerContext& context) const {
  PROFD_RETURN_IF_ERROR(Admit(context));
  // A ticket that travels beside a certificate is somebody else's.
  if (context.auth_context()->IsPeerAuthenticated())
    return roles_.CallerOf(PeerOf(context), tickets_.rights());
  if (IsRemote(context)) return auth::RemoteRoles::CallerAs(plain_role_, context.peer());
  PROFD_ASSIGN_OR_RETURN(const std::string ticket, TicketOf(context, tickets_));
  return tickets_.Find(ticket);
}

Identity::Renew Identity::RenewalOf(const grpc::CallbackServerContext& context,
                                    const auth::Caller& caller) const {
  if (caller.remote.empty()) {
    const base::Result<std::string> ticket = TicketOf(context, tickets_);
    return [&tickets = tickets_, ticket = ticket.ok() ? *ticket : ""] { return tickets.Find(ticket); };
  }
  const auth::Rights* rights = tickets_.rights();
  // What a role may does not change.
  if (rights == nullptr || caller.role != auth::Role::kAccount)
    return [caller] { return base::Result(caller); };
  return [rights, now = caller, groups = auth::GroupsOf(caller.user, caller.gid)]() mutable {
    rights->Grant(now, groups);
    return base::Result(now);
  };
}

}  // namespace profd::rpc
