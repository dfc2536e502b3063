#include "remote/strength.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace profd::remote {
namespace {

using base::Status;

// OpenSSL at its security level 2, which gRPC leaves as it is: 112 bits of security, so RSA of 2048 bits, EC
// of 224, and no MD5 or SHA-1 (SSL_CTX_set_security_level(3)).
constexpr int kLeastSecurityBits = 112;
constexpr int kSoundRsaBits = 3072;  // 128 bits of security
constexpr char kExpected[] =
    "expected EC P-256 or RSA of 3072 bits, signed with SHA-256: profctl tls makes such";

std::string HashOf(const X509* certificate) {
  int hash = 0;
  if (X509_get_signature_info(const_cast<X509*>(certificate), &hash, nullptr, nullptr, nullptr) != 1)
    return "";
  const char* const name = OBJ_nid2sn(hash);
  return name == nullptr ? "" : name;
}

Status CheckOne(const PemFile& file, X509* certificate, std::vector<std::string>* warnings) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return WrongPem(file, std::string("has a key that cannot be read; ") + kExpected);
  const bool is_rsa = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
  const std::string size =
      (is_rsa ? "RSA key of " : "key of ") + std::to_string(EVP_PKEY_get_bits(key)) + " bits";
  if (EVP_PKEY_get_security_bits(key) < kLeastSecurityBits)
    return WrongPem(file, "has an " + size + ", too weak for TLS; " + kExpected);
  int signature_bits = 0;
  // Nobody looks at a signature that an authority gave itself.
  const bool is_own = (X509_get_extension_flags(certificate) & EXFLAG_SS) != 0;
  if (!is_own && X509_get_signature_info(certificate, nullptr, nullptr, &signature_bits, nullptr) == 1 &&
      signature_bits < kLeastSecurityBits)
    return WrongPem(file, "is signed with " + HashOf(certificate) + ", too weak for TLS; " + kExpected);
  if (warnings != nullptr && is_rsa && EVP_PKEY_get_bits(key) < kSoundRsaBits)
    warnings->push_back(file.text() + " has an " + size + "; " + kExpected);
  return {};
}

}  // namespace

Status CheckStrength(const PemFile& file, std::vector<std::string>* warnings) {
  PROFD_ASSIGN_OR_RETURN(const File opened, OpenPem(file));
  for (size_t count = 0;; ++count) {
    const Certificate certificate(PEM_read_bio_X509(opened.get(), nullptr, nullptr, nullptr));
    if (!certificate && count == 0) return WrongPem(file, "holds no certificate (PEM)");
    if (!certificate) break;
    PROFD_RETURN_IF_ERROR(CheckOne(file, certificate.get(), warnings));
  }
  ERR_clear_error();
  return {};
}

}  // namespace profd::remote
