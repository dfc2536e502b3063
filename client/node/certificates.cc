#include "client/node/certificates.h"

#include <array>
#include <ctime>
#include <string>

#include "remote/strength.h"

namespace profd::client {

namespace {

using base::Status;
using remote::PemFile;

std::string TimeText(const ASN1_TIME* time) {
  tm utc{};
  std::array<char, 32> text;
  if (ASN1_TIME_to_tm(time, &utc) != 1) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc)};
}

}  // namespace

Status CheckTlsFiles(const PemFile& ca, const PemFile& cert, const PemFile& key) {
  PROFD_RETURN_IF_ERROR(remote::ReadCertificate(ca).status());
  PROFD_ASSIGN_OR_RETURN(const remote::Certificate own, remote::ReadCertificateOf(cert, key));
  for (const PemFile* file : {&ca, &cert}) PROFD_RETURN_IF_ERROR(remote::CheckStrength(*file, nullptr));
  const ASN1_TIME* const begin = X509_get0_notBefore(own.get());
  const ASN1_TIME* const end = X509_get0_notAfter(own.get());
  if (X509_cmp_current_time(end) < 0)
    return remote::WrongPem(cert,
                            "expired on " + TimeText(end) + ": get a new one (profctl tls client NAME)");
  if (X509_cmp_current_time(begin) > 0)
    return remote::WrongPem(cert,
                            "is valid only from " + TimeText(begin) + " on: is this machine's clock right?");
  return {};
}

}  // namespace profd::client
