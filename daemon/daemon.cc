#include "daemon/daemon.h"

#include <malloc.h>

#include <memory>
#include <optional>
#include <string>

#include "base/version.h"
#include "daemon/auth/door.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"
#include "daemon/base/log.h"
#include "daemon/driver/ascend_hal.h"
#include "daemon/rpc/server.h"
#include "daemon/session/manager.h"

namespace profd {

namespace {

class Daemon {
 public:
  explicit Daemon(const config::Config& config) : config_(config) {}

  base::Status Run() {
    // gRPC's threads would each keep an arena of their own; two are plenty for a daemon that rarely allocates.
    ::mallopt(M_ARENA_MAX, 2);
    auto driver = driver::AscendHal::Load(config_.driver.library);
    std::string no_driver = driver.status().message();
    std::shared_ptr<driver::Driver> library;
    if (driver.ok()) {
      library = std::move(driver).value();
      base::LogInfo("driver library " + library->path());
    } else if (driver.status().code() == base::Code::kInvalidArgument) {
      return driver.status();  // a file was named that is no driver library: not the same as a node without one
    } else {
      base::LogWarn("no device kinds: " + no_driver);
    }
    manager_.emplace(ctl_, config_, std::move(library), std::move(no_driver));
    auto server = rpc::Server::Start(config_.socket, *manager_, ctl_, tickets_);
    if (!server.ok()) return server.status();
    server_ = std::move(server).value();
    auto door = auth::Door::Start(config_.socket + ".door", ctl_, tickets_);
    if (!door.ok()) return door.status();
    door_ = std::move(door).value();
    ctl_.HandleSignals([this](int signal) { Stop(signal); },
                       [] { base::LogWarn("SIGHUP: settings are read at start only; restart profd to change them"); });
    base::LogInfo(std::string("profd ") + base::kVersion + " listens on " + config_.socket);
    ctl_.Run();
    // The sources and writers go before the executor that their last answers were posted to.
    door_.reset();
    server_.reset();
    manager_.reset();
    base::LogInfo("stopped");
    return base::Status::Ok();
  }

 private:
  void Stop(int signal) {
    if (stopping_) return;
    stopping_ = true;
    base::LogInfo("signal " + std::to_string(signal) + ": sealing sessions");
    manager_->Shutdown([this] {
      // What the seals posted (answers to callers) goes out first.
      ctl_.Post([this] {
        server_->Shutdown();
        ctl_.Stop();
      });
    });
  }

  const config::Config& config_;
  base::Executor ctl_;
  auth::Tickets tickets_;
  std::optional<session::Manager> manager_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<auth::Door> door_;
  bool stopping_ = false;
};

}  // namespace

base::Status RunDaemon(const config::Config& config) { return Daemon(config).Run(); }

}  // namespace profd
