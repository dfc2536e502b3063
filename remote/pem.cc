#include "remote/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/files/whole_file.h"

namespace profd::remote {

using base::Code;
using base::Result;
using base::Status;

namespace {

// Nobody is asked for a password: gRPC would not know it.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

Result<File> OpenPem(const PemFile& file) {
  const Result<std::string> text = base::ReadWhole(file.path);
  if (!text.ok()) return Status(text.status().code(), file.name + " " + text.status().message());
  File opened(BIO_new(BIO_s_mem()));
  BIO_set_mem_eof_return(opened.get(), 0);
  BIO_puts(opened.get(), text->c_str());
  return opened;
}

Status WrongPem(const PemFile& file, const std::string& what) {
  ERR_clear_error();
  return {Code::kInvalidArgument, file.text() + " " + what};
}

Result<Certificate> ReadCertificate(const PemFile& file) {
  PROFD_ASSIGN_OR_RETURN(const File opened, OpenPem(file));
  Certificate certificate(PEM_read_bio_X509(opened.get(), nullptr, nullptr, nullptr));
  if (!certificate) return WrongPem(file, "holds no certificate (PEM)");
  return certificate;
}

Result<Key> ReadKey(const PemFile& file) {
  PROFD_ASSIGN_OR_RETURN(const File opened, OpenPem(file));
  Key key(PEM_read_bio_PrivateKey(opened.get(), nullptr, NoPassword, nullptr));
  if (!key) return WrongPem(file, "holds no private key (PEM, without a password)");
  return key;
}

Result<Certificate> ReadCertificateOf(const PemFile& cert, const PemFile& key) {
  PROFD_ASSIGN_OR_RETURN(Certificate own, ReadCertificate(cert));
  PROFD_ASSIGN_OR_RETURN(const Key its, ReadKey(key));
  if (X509_check_private_key(own.get(), its.get()) != 1)
    return WrongPem(key, "is not the key of " + cert.text());
  return own;
}

}  // namespace profd::remote
