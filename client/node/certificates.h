// What profctl shows a profd on another node and believes of it, looked at before it connects: all that TLS
// says of files that do not fit is that the connection is gone.
#pragma once

#include <string>

#include "base/status.h"

namespace profd::client {

struct PemFile {
  std::string option;  // that names it
  std::string path;
};

// `ca` and `cert` hold certificates, both are strong enough for TLS, `cert` is in date, and `key` is
// its key.
base::Status CheckTlsFiles(const PemFile& ca, const PemFile& cert, const PemFile& key);

}  // namespace profd::client
