// The listener for other machines.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "base/status.h"
#include "daemon/config/config.h"

namespace profd::rpc {

// For `remote.listen`, which is set: mutual TLS, its files read again when they change; or, on loopback and
// when the settings say so, none at all. The error names the setting.
base::Result<std::shared_ptr<grpc::ServerCredentials>> RemoteCredentials(
    const config::Config::Remote& remote);

}  // namespace profd::rpc
