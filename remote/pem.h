// PEM files, and what OpenSSL makes of them, owned.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace profd::remote {

template <auto kFree>
struct Freer {
  void operator()(auto* object) const { kFree(object); }
};
using File = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

struct PemFile {
  std::string name;  // what names it: an option, a setting
  std::string path;
  std::string text() const { return name + " " + path; }  // for people
};

base::Result<File> OpenPem(const PemFile& file);
// "NAME PATH `what`"; OpenSSL's own words about it are forgotten.
base::Status WrongPem(const PemFile& file, const std::string& what);

base::Result<Certificate> ReadCertificate(const PemFile& file);
base::Result<Key> ReadKey(const PemFile& file);
// The certificate in `cert`, of which `key` is the key.
base::Result<Certificate> ReadCertificateOf(const PemFile& cert, const PemFile& key);

}  // namespace profd::remote
