// What profctl shows a profd on another node and believes of it, looked at before it connects: all that TLS
// says of files that do not fit is that the connection is gone.
#pragma once

#include "base/status.h"
#include "remote/pem.h"

namespace profd::client {

// `ca` and `cert` hold certificates, both are strong enough for TLS, `cert` is in date, and `key` is
// its key.
base::Status CheckTlsFiles(const remote::PemFile& ca, const remote::PemFile& cert,
                           const remote::PemFile& key);

}  // namespace profd::client
