// What every call of profd's services starts and ends with.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>

#include "base/status.h"
#include "base/text.h"

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

inline base::Result<std::string> TicketOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("profd-ticket");
  if (it == metadata.end()) {
    return base::Status(
        base::Code::kUnauthenticated,
        "the call has no profd-ticket: knock at the door (<socket>.door) first, as profctl does");
  }
  return std::string(it->second.data(), it->second.size());
}

}  // namespace profd::rpc
