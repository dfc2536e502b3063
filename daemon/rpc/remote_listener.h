// The listener for other machines.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "base/host_port.h"
#include "base/status.h"
#include "daemon/config/config.h"

namespace profd::rpc {

// Of `remote.listen`, which is set; loopback where nobody needs a certificate.
base::Result<base::HostPort> RemoteAddress(const config::Config::Remote& remote);

// The files that the settings name are there and can be read; the error names the setting.
base::Status CheckCertificates(const config::Config::Remote& remote);

// Mutual TLS, its files read again when they change; or, on loopback and when the settings say so, none at
// all.
base::Result<std::shared_ptr<grpc::ServerCredentials>> RemoteCredentials(
    const config::Config::Remote& remote);

}  // namespace profd::rpc
