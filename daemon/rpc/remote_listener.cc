#include "daemon/rpc/remote_listener.h"

#include <arpa/inet.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace profd::rpc {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr unsigned kReadAgainS = 10;

// "host" of "host:port" or "[host]:port"; "" when it is neither.
std::string HostOf(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || colon == 0) return "";
  const std::string port = listen.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
      std::stoul(port) > 65535) {
    return "";
  }
  std::string host = listen.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return host;
}

bool IsLoopback(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

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

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> RemoteCredentials(const config::Config::Remote& remote) {
  const std::string host = HostOf(remote.listen);
  if (host.empty()) {
    return Status(Code::kInvalidArgument,
                  "remote.listen: '" + remote.listen + "' is not HOST:PORT, e.g. 0.0.0.0:9478");
  }
  if (remote.plain != "off") {
    if (!IsLoopback(host)) {
      return Status(Code::kInvalidArgument, "remote.plain: '" + host +
                                                "' is not loopback; listen on 127.0.0.1 or [::1], or with "
                                                "certificates");
    }
    return grpc::InsecureServerCredentials();
  }
  PROFD_RETURN_IF_ERROR(CheckFile("cert", remote.cert, false));
  PROFD_RETURN_IF_ERROR(CheckFile("key", remote.key, true));
  PROFD_RETURN_IF_ERROR(CheckFile("client_ca", remote.client_ca, false));
  const auto files = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      remote.key, remote.cert, remote.client_ca, kReadAgainS);
  grpc::experimental::TlsServerCredentialsOptions options(files);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace profd::rpc
