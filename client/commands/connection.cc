#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "client/args.h"
#include "client/certificates.h"
#include "client/commands/commands.h"
#include "client/text.h"

namespace profd::client {

namespace {

base::Status IsGiven(const PemFile& file) {
  if (!file.path.empty()) return {};
  return {base::Code::kInvalidArgument,
          "--host needs certificates: " + file.option +
              " is not given, nor in ~/.config/profd/profctl.conf (or --plain, where profd listens so)"};
}

base::Status CheckCertificates(const Common& common) {
  if (common.plain) return {};
  const PemFile ca{"--tls-ca", common.ca}, cert{"--tls-cert", common.cert}, key{"--tls-key", common.key};
  for (const PemFile& file : {ca, cert, key}) PROFD_RETURN_IF_ERROR(IsGiven(file));
  return CheckTlsFiles(ca, cert, key);
}

base::Result<Connection> ConnectTo(const Common& common) {
  if (common.host.find(':') == std::string::npos) {
    return base::Status(base::Code::kInvalidArgument,
                        "--host " + OneLine(common.host) + ": expected HOST:PORT");
  }
  PROFD_RETURN_IF_ERROR(CheckCertificates(common));
  Endpoint endpoint;
  endpoint.host = common.host;
  endpoint.plain = common.plain;
  endpoint.deadline_ns = common.deadline_ns;
  endpoint.ca = common.ca;
  endpoint.cert = common.cert;
  endpoint.key = common.key;
  auto control = std::make_unique<ControlClient>(std::move(endpoint), "");
  PROFD_RETURN_IF_ERROR(control->Hello().status());
  return Connection{std::nullopt, std::move(control)};
}

base::Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) return base::Status::FromErrno("read " + path);
  return text.str();
}

}  // namespace

base::Result<node::Credentials> CredentialsOf(const Common& common) {
  PROFD_RETURN_IF_ERROR(CheckCertificates(common));
  if (common.plain) return node::Credentials::None();
  PROFD_ASSIGN_OR_RETURN(const std::string ca, ReadFile(common.ca));
  PROFD_ASSIGN_OR_RETURN(const std::string cert, ReadFile(common.cert));
  PROFD_ASSIGN_OR_RETURN(const std::string key, ReadFile(common.key));
  return node::Credentials::Tls(ca, cert, key);
}

base::Result<Connection> Connect(const Common& common, int output_dir) {
  if (common.exchange != nullptr)
    return Connection{std::nullopt, std::make_unique<ControlClient>(common.host, common.exchange)};
  if (!common.host.empty()) return ConnectTo(common);
  PROFD_ASSIGN_OR_RETURN(const std::string socket, SocketPath(common.socket, std::getenv("PROFD_ADDRESS")));
  PROFD_ASSIGN_OR_RETURN(DoorClient door, DoorClient::Knock(socket, output_dir, common.deadline_ns));
  auto control = std::make_unique<ControlClient>(
      Endpoint{.socket = socket, .deadline_ns = common.deadline_ns}, door.ticket());
  PROFD_RETURN_IF_ERROR(control->Hello().status());
  return Connection{std::move(door), std::move(control)};
}

}  // namespace profd::client
