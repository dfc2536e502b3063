#include "client/node/connection.h"

#include <cstdlib>
#include <utility>

#include "base/files/whole_file.h"
#include "client/node/certificates.h"
#include "client/words/args.h"
#include "client/words/text.h"
#include "remote/clock_labels.h"

namespace profd::client {

namespace {

base::Status IsGiven(const remote::PemFile& file) {
  if (!file.path.empty()) return {};
  return {base::Code::kInvalidArgument, "--host and --hosts need certificates: " + file.name +
                                            " is neither given nor in ~/.config/profd/profctl.conf; profctl "
                                            "tls makes certificates (--plain, if "
                                            "profd listens without)"};
}

base::Status CheckCertificates(const Context& context) {
  if (context.plain) return {};
  const remote::PemFile ca{"--tls-ca", context.ca}, cert{"--tls-cert", context.cert},
      key{"--tls-key", context.key};
  for (const remote::PemFile& file : {ca, cert, key}) PROFD_RETURN_IF_ERROR(IsGiven(file));
  return CheckTlsFiles(ca, cert, key);
}

base::Result<Connection> ConnectTo(const Context& context) {
  if (context.host.find(':') == std::string::npos) {
    return base::Status(base::Code::kInvalidArgument,
                        "--host " + OneLine(context.host) + ": expected HOST:PORT");
  }
  PROFD_RETURN_IF_ERROR(CheckCertificates(context));
  Endpoint endpoint;
  endpoint.host = context.host;
  endpoint.plain = context.plain;
  endpoint.deadline_ns = context.deadline_ns;
  endpoint.ca = context.ca;
  endpoint.cert = context.cert;
  endpoint.key = context.key;
  auto control = std::make_unique<ControlClient>(std::move(endpoint), "");
  PROFD_RETURN_IF_ERROR(control->Hello().status());
  return Connection{std::nullopt, std::move(control)};
}

}  // namespace

base::Result<remote::Credentials> CredentialsOf(const Context& context) {
  PROFD_RETURN_IF_ERROR(CheckCertificates(context));
  if (context.plain) return remote::Credentials::None();
  PROFD_ASSIGN_OR_RETURN(const std::string ca, base::ReadWhole(context.ca));
  PROFD_ASSIGN_OR_RETURN(const std::string cert, base::ReadWhole(context.cert));
  PROFD_ASSIGN_OR_RETURN(const std::string key, base::ReadWhole(context.key));
  return remote::Credentials::Tls(ca, cert, key);
}

base::Result<Connection> Connect(const Context& context, int output_dir) {
  if (context.exchange != nullptr)
    return Connection{std::nullopt, std::make_unique<ControlClient>(context.host, context.exchange)};
  if (!context.host.empty()) return ConnectTo(context);
  PROFD_ASSIGN_OR_RETURN(const std::string socket, SocketPath(context.socket, std::getenv("PROFD_ADDRESS")));
  PROFD_ASSIGN_OR_RETURN(DoorClient door, DoorClient::Knock(socket, output_dir, context.deadline_ns));
  auto control = std::make_unique<ControlClient>(
      Endpoint{.socket = socket, .deadline_ns = context.deadline_ns}, door.ticket());
  PROFD_RETURN_IF_ERROR(control->Hello().status());
  return Connection{std::move(door), std::move(control)};
}

void SetInstant(uint64_t at_wall_ns, const ClockDistance& clock, v1::SessionSpec* spec) {
  spec->set_at_wall_ns(at_wall_ns + static_cast<uint64_t>(clock.ahead_ns));
  (*spec->mutable_labels())[remote::kClockAhead] = std::to_string(clock.ahead_ns);
  (*spec->mutable_labels())[remote::kClockUncertainty] = std::to_string(clock.uncertainty_ns);
}

}  // namespace profd::client
