#include "daemon/rpc/remote_listener.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "remote/strength.h"

namespace profd::rpc {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr unsigned kReadAgainS = 10;

Status CheckFile(const char* setting, const std::string& path, bool secret) {
  const std::string key = std::string("remote.") + setting;
  if (path.empty()) {
    return {Code::kInvalidArgument,
            key + " is not set: remote.listen needs cert, key and client_ca (or plain, on loopback)"};
  }
  if (::access(path.c_str(), R_OK) != 0) return Status::FromErrno(key + " " + path);
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return Status::FromErrno(key + " " + path);
  if (secret && (found.st_mode & S_IROTH) != 0) {
    return {Code::kInvalidArgument, key + " " + path + " can be read by everybody: chmod o-r it"};
  }
  return {};
}

// A folder whose lists nobody finds would let every certificate pass.
Status CheckRevoked(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    // "1a2b3c4d.r0"
    const std::string ending = entry.path().extension().string();
    if (ending.size() > 2 && ending.starts_with(".r") &&
        ending.find_first_not_of("0123456789", 2) == std::string::npos)
      return {};
  }
  if (error) return Status(Code::kInvalidArgument, "remote.revoked " + folder + ": " + error.message());
  return {Code::kInvalidArgument,
          "remote.revoked " + folder + " has no revocation list by its hash: run openssl rehash " + folder};
}

}  // namespace

Result<base::HostPort> RemoteAddress(const config::Config::Remote& remote) {
  Result<base::HostPort> address = base::ParseHostPort(remote.listen);
  if (!address.ok()) return address.status().In("remote.listen");
  if (remote.plain != "off" && !base::IsLoopback(address->host)) {
    return Status(Code::kInvalidArgument,
                  "remote.plain: '" + address->host +
                      "' is not loopback; listen on 127.0.0.1 or [::1], or with certificates");
  }
  return address;
}

Status CheckCertificates(const config::Config::Remote& remote, std::vector<std::string>* warnings) {
  if (remote.plain != "off") return {};
  PROFD_RETURN_IF_ERROR(CheckFile("cert", remote.cert, false));
  PROFD_RETURN_IF_ERROR(CheckFile("key", remote.key, true));
  PROFD_RETURN_IF_ERROR(CheckFile("client_ca", remote.client_ca, false));
  const remote::PemFile cert{"remote.cert", remote.cert};
  PROFD_RETURN_IF_ERROR(remote::CheckStrength(cert, warnings));
  PROFD_RETURN_IF_ERROR(remote::ReadCertificateOf(cert, {"remote.key", remote.key}).status());
  PROFD_RETURN_IF_ERROR(remote::CheckStrength({"remote.client_ca", remote.client_ca}, warnings));
  return remote.revoked.empty() ? Status::Ok() : CheckRevoked(remote.revoked);
}

Result<std::shared_ptr<grpc::ServerCredentials>> RemoteCredentials(const config::Config::Remote& remote) {
  PROFD_RETURN_IF_ERROR(CheckCertificates(remote));
  if (remote.plain != "off") return grpc::InsecureServerCredentials();
  const auto files = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      remote.key, remote.cert, remote.client_ca, kReadAgainS);
  grpc::experimental::TlsServerCredentialsOptions options(files);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  if (!remote.revoked.empty()) options.set_crl_directory(remote.revoked);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace profd::rpc
