// Tells an etcd that this node is there, for as long as it is: what profctl --hosts etcd:… finds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "daemon/config/config.h"
#include "remote/etcd.h"

namespace profd::rpc {

// **Thread:** the one that starts the daemon. **Owns:** a thread, which sleeps between two words to etcd. An
// etcd that does not answer costs nothing else, and is said once.
class Registrar {
 public:
  // The error names the setting.
  static base::Status CheckSettings(const config::Config& config);
  // `config.registry.etcd` is set.
  static base::Result<std::unique_ptr<Registrar>> Start(const config::Config& config);
  ~Registrar();  // takes the entry back, if that takes no longer than a moment
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;

 private:
  Registrar(std::unique_ptr<remote::Etcd> etcd, const config::Config::Registry& registry,
            const std::string& host);
  void Run();
  base::Status Announce();

  const std::unique_ptr<remote::Etcd> etcd_;
  const uint64_t ttl_s_;
  const std::string key_, value_;
  int64_t lease_ = 0;  // the thread's

  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace profd::rpc
