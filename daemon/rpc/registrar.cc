#include "daemon/rpc/registrar.h"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files/whole_file.h"
#include "base/text.h"
#include "base/threads/thread.h"
#include "base/version.h"
#include "daemon/base/log.h"

namespace profd::rpc {

using base::Code;
using base::Result;
using base::Status;

namespace {

std::string HostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

Status CheckLabels(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0)
      return {Code::kInvalidArgument, "registry.labels: '" + label + "' is not NAME=VALUE"};
  }
  return {};
}

std::string ValueOf(const std::string& host, const std::vector<std::string>& labels) {
  nlohmann::json value = {{"host", host}, {"version", base::kVersion}, {"labels", nlohmann::json::object()}};
  for (const std::string& label : labels) {
    const size_t equals = label.find('=');
    value["labels"][label.substr(0, equals)] = label.substr(equals + 1);
  }
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Status Registrar::CheckSettings(const config::Config& config) {
  const config::Config::Registry& registry = config.registry;
  if (registry.etcd.empty()) return {};
  if (config.remote.listen.empty()) {
    return {Code::kInvalidArgument,
            "registry.etcd: needs remote.listen; nobody reaches this profd from another node"};
  }
  const Status etcd = remote::Etcd::Check(registry.etcd);
  if (!etcd.ok()) return {etcd.code(), "registry." + etcd.message()};
  return CheckLabels(registry.labels);
}

Result<std::unique_ptr<Registrar>> Registrar::Start(const config::Config& config) {
  const config::Config::Registry& registry = config.registry;
  const config::Config::Remote& remote = config.remote;
  const bool has_certificates = !remote.cert.empty() && remote.plain == "off";
  PROFD_ASSIGN_OR_RETURN(
      auto etcd, remote::Etcd::Open(registry.etcd,
                                    has_certificates
                                        ? remote::Credentials::Tls(base::ReadWholeOrNothing(remote.client_ca),
                                                                   base::ReadWholeOrNothing(remote.cert),
                                                                   base::ReadWholeOrNothing(remote.key))
                                        : remote::Credentials::None()));
  const std::string host =
      registry.host.empty() ? HostName() + remote.listen.substr(remote.listen.rfind(':')) : registry.host;
  return std::unique_ptr<Registrar>(new Registrar(std::move(etcd), registry, host));
}

Registrar::Registrar(std::unique_ptr<remote::Etcd> etcd, const config::Config::Registry& registry,
                     const std::string& host)
    : etcd_(std::move(etcd)),
      ttl_s_(registry.ttl_s),
      key_(registry.prefix + host),
      value_(ValueOf(host, registry.labels)),
      thread_(base::StartThread("registry", [this] { Run(); })) {}

Registrar::~Registrar() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ends_.notify_one();
  etcd_->Cancel();
  thread_.join();
}

void Registrar::Run() {
  bool was_well = false, is_said = false;
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    lock.unlock();
    const Status status = Announce();
    if (status.ok() != was_well || !is_said) {
      if (status.ok()) base::LogInfo("registered in etcd as " + key_);
      if (!status.ok()) {
        base::LogWarn("not registered: " + base::OneLine(status.message()) + "; trying again every " +
                      std::to_string(ttl_s_ / 3) + " s");
      }
    }
    was_well = status.ok();
    is_said = true;
    lock.lock();
    ends_.wait_for(lock, std::chrono::seconds(ttl_s_ / 3), [this] { return is_ending_; });
  }
  lock.unlock();
  // When etcd is away just now the lease ends by itself.
  if (lease_ != 0 && was_well) static_cast<void>(etcd_->Revoke(lease_));
}

Status Registrar::Announce() {
  if (lease_ != 0) {
    Status kept = etcd_->Keep(lease_);
    if (kept.code() != Code::kNotFound) return kept;
    lease_ = 0;
  }
  PROFD_ASSIGN_OR_RETURN(const int64_t lease, etcd_->Grant(ttl_s_));
  PROFD_RETURN_IF_ERROR(etcd_->Put(key_, value_, lease));
  lease_ = lease;
  return {};
}

}  // namespace profd::rpc
