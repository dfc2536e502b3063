#include "remote/strength.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <memory>

namespace profd::remote {
namespace {

using base::Code;
using base::Result;
using base::Status;

template <auto kFree>
struct Freer {
  void operator()(auto* object) const { kFree(object); }
};
using File = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

// OpenSSL at its security level 2, which gRPC leaves as it is: 112 bits of security, so RSA of 2048 bits, EC
// of 224, and no MD5 or SHA-1 (SSL_CTX_set_security_level(3)).
constexpr int kLeastSecurityBits = 112;
constexpr int kSoundRsaBits = 3072;  // 128 bits of security
constexpr char kExpected[] =
    "expected EC P-256 or RSA of 3072 bits, signed with SHA-256: profctl tls makes such";

Result<File> Open(const std::string& name, const std::string& path) {
  errno = 0;
  File opened(BIO_new_file(path.c_str(), "r"));
  if (opened) return opened;
  const Status why = Status::FromErrno(name + " " + path);
  ERR_clear_error();
  return why;
}

int NoPassword(char*, int, int, void*) { return -1; }

Status Wrong(const std::string& what) {
  ERR_clear_error();
  return {Code::kInvalidArgument, what};
}

std::string HashOf(const X509* certificate) {
  int hash = 0;
  if (X509_get_signature_info(const_cast<X509*>(certificate), &hash, nullptr, nullptr, nullptr) != 1)
    return "";
  const char* const name = OBJ_nid2sn(hash);
  return name == nullptr ? "" : name;
}

Status CheckOne(const std::string& of, X509* certificate, std::vector<std::string>* warnings) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return Wrong(of + " has a key that cannot be read; " + kExpected);
  const bool is_rsa = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
  const std::string size =
      (is_rsa ? "RSA key of " : "key of ") + std::to_string(EVP_PKEY_get_bits(key)) + " bits";
  if (EVP_PKEY_get_security_bits(key) < kLeastSecurityBits)
    return Wrong(of + " has an " + size + ", too weak for TLS; " + kExpected);
  int signature_bits = 0;
  // Nobody looks at a signature that an authority gave itself.
  const bool is_own = (X509_get_extension_flags(certificate) & EXFLAG_SS) != 0;
  if (!is_own && X509_get_signature_info(certificate, nullptr, nullptr, &signature_bits, nullptr) == 1 &&
      signature_bits < kLeastSecurityBits)
    return Wrong(of + " is signed with " + HashOf(certificate) + ", too weak for TLS; " + kExpected);
  if (warnings != nullptr && is_rsa && EVP_PKEY_get_bits(key) < kSoundRsaBits)
    warnings->push_back(of + " has an " + size + "; " + kExpected);
  return {};
}

}  // namespace

Status CheckStrength(const std::string& name, const std::string& path, std::vector<std::string>* warnings) {
  PROFD_ASSIGN_OR_RETURN(const File opened, Open(name, path));
  for (size_t count = 0;; ++count) {
    const Certificate certificate(PEM_read_bio_X509(opened.get(), nullptr, nullptr, nullptr));
    if (!certificate && count == 0) return Wrong(name + " " + path + " holds no certificate (PEM)");
    if (!certificate) break;
    PROFD_RETURN_IF_ERROR(CheckOne(name + " " + path, certificate.get(), warnings));
  }
  ERR_clear_error();
  return {};
}

Status CheckKeyOf(const std::string& name, const std::string& path, const std::string& key_name,
                  const std::string& key_path) {
  PROFD_ASSIGN_OR_RETURN(const File certificate_file, Open(name, path));
  PROFD_ASSIGN_OR_RETURN(const File key_file, Open(key_name, key_path));
  const Certificate certificate(PEM_read_bio_X509(certificate_file.get(), nullptr, nullptr, nullptr));
  if (!certificate) return Wrong(name + " " + path + " holds no certificate (PEM)");
  const Key key(PEM_read_bio_PrivateKey(key_file.get(), nullptr, NoPassword, nullptr));
  if (!key) return Wrong(key_name + " " + key_path + " holds no private key (PEM, without a password)");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return Wrong(key_name + " " + key_path + " is not the key of " + name + " " + path);
  return {};
}

}  // namespace profd::remote
