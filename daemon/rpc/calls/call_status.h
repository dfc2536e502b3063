// What every call of profd's services starts and ends with.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>

#include "base/status.h"
#include "base/text.h"
#include "daemon/auth/door/conduit.h"
#include "daemon/auth/tickets.h"

namespace profd::rpc {

// The message travels in a header, which has to stay below 8 kB; it may quote what the caller sent.
inline grpc::Status ToGrpc(const base::Status& status) {
  constexpr size_t kMaxErrorBytes = 1024;
  // A google.rpc.Status of the code alone: it tells a client that these are profd's words, not those of its
  // own gRPC.
  const std::string details{'\x08', static_cast<char>(status.code())};
  return {static_cast<grpc::StatusCode>(status.code()), base::OneLine(status.message(), kMaxErrorBytes),
          details};
}

inline base::Status Stopping() { return {base::Code::kUnavailable, "profd is stopping"}; }

// Of a local call, and of who makes it: one that somebody else has got hold of is none.
inline base::Result<std::string> TicketOf(const grpc::CallbackServerContext& context,
                                          auth::Tickets& tickets) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("profd-ticket");
  if (it == metadata.end()) {
    return base::Status(
        base::Code::kUnauthenticated,
        "the call has no profd-ticket: knock at the door (<socket>.door) first, as profctl does");
  }
  std::string ticket(it->second.data(), it->second.size());
  // Those of root are not carried.
  PROFD_RETURN_IF_ERROR(tickets.CheckHolder(ticket, auth::Conduit::UserOf(context.peer()).value_or(0)));
  return ticket;
}

}  // namespace profd::rpc
