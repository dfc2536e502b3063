// The listener for other machines.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <vector>

#include "base/host_port.h"
#include "base/status.h"
#include "daemon/config/config.h"

namespace profd::rpc {

// Of `remote.listen`, which is set; loopback where nobody needs a certificate.
base::Result<base::HostPort> RemoteAddress(const config::Config::Remote& remote);

// The files that the settings name are there, can be read and are strong enough for TLS; the error names the
// setting. `warnings`: what is weak and still taken.
base::Status CheckCertificates(const config::Config::Remote& remote,
                               std::vector<std::string>* warnings = nullptr);

// Mutual TLS, its files read again when they change; or, on loopback and when the settings say so, none at
// all.
base::Result<std::shared_ptr<grpc::ServerCredentials>> RemoteCredentials(
    const config::Config::Remote& remote);

}  // namespace profd::rpc
