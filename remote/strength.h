// What TLS asks of certificates, looked at before anybody connects: a node with one that is too weak refuses
// every connection without a word.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "remote/pem.h"

namespace profd::remote {

// Of every certificate in `file`: its key is long enough, and its signature is by a sound hash. `warnings`:
// what TLS still takes and nobody should use.
base::Status CheckStrength(const PemFile& file, std::vector<std::string>* warnings);

}  // namespace profd::remote
