#include "client/node/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <ctime>

#include "client/node/openssl.h"
#include "remote/strength.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

std::string NameOf(const PemFile& file) { return file.option + " " + file.path; }

Status Wrong(const PemFile& file, const std::string& what) {
  ERR_clear_error();
  return {Code::kInvalidArgument, NameOf(file) + " " + what};
}

Result<File> Open(const PemFile& file) {
  errno = 0;
  File opened(BIO_new_file(file.path.c_str(), "r"));
  if (opened) return opened;
  const Status why = Status::FromErrno(NameOf(file));
  ERR_clear_error();
  return why;
}

// Nobody is asked for a password: gRPC would not know it.
int NoPassword(char*, int, int, void*) { return -1; }

std::string TimeText(const ASN1_TIME* time) {
  tm utc{};
  std::array<char, 32> text;
  if (ASN1_TIME_to_tm(time, &utc) != 1) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc)};
}

}  // namespace

Result<Certificate> ReadCertificate(const PemFile& file) {
  PROFD_ASSIGN_OR_RETURN(const File opened, Open(file));
  Certificate certificate(PEM_read_bio_X509(opened.get(), nullptr, nullptr, nullptr));
  if (!certificate) return Wrong(file, "holds no certificate (PEM)");
  return certificate;
}

Result<Key> ReadKey(const PemFile& file) {
  PROFD_ASSIGN_OR_RETURN(const File opened, Open(file));
  Key key(PEM_read_bio_PrivateKey(opened.get(), nullptr, NoPassword, nullptr));
  if (!key) return Wrong(file, "holds no private key (PEM, without a password)");
  return key;
}

Status CheckTlsFiles(const PemFile& ca, const PemFile& cert, const PemFile& key) {
  PROFD_RETURN_IF_ERROR(ReadCertificate(ca).status());
  PROFD_ASSIGN_OR_RETURN(const Certificate own, ReadCertificate(cert));
  PROFD_ASSIGN_OR_RETURN(const Key its, ReadKey(key));
  if (X509_check_private_key(own.get(), its.get()) != 1) {
    return Wrong(key, "is not the key of " + NameOf(cert));
  }
  for (const PemFile* file : {&ca, &cert})
    PROFD_RETURN_IF_ERROR(remote::CheckStrength(file->option, file->path, nullptr));
  const ASN1_TIME* const begin = X509_get0_notBefore(own.get());
  const ASN1_TIME* const end = X509_get0_notAfter(own.get());
  if (X509_cmp_current_time(end) < 0) return Wrong(cert, "is over since " + TimeText(end));
  if (X509_cmp_current_time(begin) > 0) return Wrong(cert, "begins to hold at " + TimeText(begin));
  return {};
}

}  // namespace profd::client
