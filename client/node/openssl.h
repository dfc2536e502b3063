// OpenSSL's objects, owned.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

#include "base/status.h"
#include "client/node/certificates.h"

namespace profd::client {

template <auto kFree>
struct Freer {
  void operator()(auto* object) const { kFree(object); }
};
using File = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

base::Result<Certificate> ReadCertificate(const PemFile& file);
base::Result<Key> ReadKey(const PemFile& file);

}  // namespace profd::client
