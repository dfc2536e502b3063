// What TLS asks of certificates, looked at before anybody connects: a node with one that is too weak refuses
// every connection without a word.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace profd::remote {

// Of every certificate in the PEM file `path`: its key is long enough, and its signature is by a sound hash.
// `name`: what calls it, for the error. `warnings`: what TLS still takes and nobody should use.
base::Status CheckStrength(const std::string& name, const std::string& path,
                           std::vector<std::string>* warnings);

// `key_path` holds the key of the certificate in `path`, without a password.
base::Status CheckKeyOf(const std::string& name, const std::string& path, const std::string& key_name,
                        const std::string& key_path);

}  // namespace profd::remote
