#include "daemon/daemon.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/threads/thread.h"
#include "base/unique_fd.h"
#include "base/version.h"
#include "daemon/agent/registry.h"
#include "daemon/auth/audit.h"
#include "daemon/auth/door/door.h"
#include "daemon/auth/door/socket_claim.h"
#include "daemon/auth/rights.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/after.h"
#include "daemon/base/aside.h"
#include "daemon/base/executor.h"
#include "daemon/base/log.h"
#include "daemon/base/log_level.h"
#include "daemon/base/memory/slack.h"
#include "daemon/base/pid_file.h"
#include "daemon/base/rights.h"
#include "daemon/base/service_manager.h"
#include "daemon/config/reload.h"
#include "daemon/driver/ascend/ascend_hal.h"
#include "daemon/driver/host_mounts.h"
#include "daemon/fabric/door.h"
#include "daemon/host/events/kernel_names.h"
#include "daemon/host/events/python_probe.h"
#include "daemon/host/events/uprobes.h"
#include "daemon/host/files/driver_counters.h"
#include "daemon/host/files/passed_directory.h"
#include "daemon/host/process/heirlooms.h"
#include "daemon/host/process/nursery.h"
#include "daemon/host/process/stand_in.h"
#include "daemon/live/limits.h"
#include "daemon/live/live.h"
#include "daemon/live/prometheus_text.h"
#include "daemon/live/scrape_server.h"
#include "daemon/rpc/otlp_exporter.h"
#include "daemon/rpc/registrar.h"
#include "daemon/rpc/server.h"
#include "daemon/session/manager.h"
#include "daemon/store/spool/spool.h"
#include "daemon/summary/summary.h"
#include "libagent/abi/lane.h"

namespace profd {

namespace {

// What sessions take to go on and to end: each of a start's and an end's takes one or two at a time.
constexpr size_t kSpareThreads = 16;
constexpr uint64_t kNurseryAgainNs = 1'000'000'000;
constexpr uint64_t kLastCallsNs = 2'000'000'000;

class Daemon {
 public:
  Daemon(config::Config config, std::function<base::Result<config::Config>()> load)
      : config_(std::move(config)), load_(std::move(load)) {}

  base::Status Run(const std::string& pid_file) {
    // gRPC's threads would each keep an arena of their own; two are plenty for a daemon that rarely
    // allocates.
    ::mallopt(M_ARENA_MAX, 2);
    base::ComeFirst();
    host::DriverCounters::Hold();
    fabric_.emplace(config_.doors.dynolog, ctl_);
    // The unit hides the list of the kernel's names where profd is, and lets nobody write below /sys.
    const base::Status host_mounts = driver::EnterHostMounts([] {
      host::KernelNames::Hold();
      host::Uprobes::Prepare();
      host::PythonProbe::Prepare();
      return base::GiveUpRights();
    });
    host::KernelNames::Hold();
    host::Uprobes::Prepare();
    host::PythonProbe::Prepare();
    PROFD_RETURN_IF_ERROR(base::GiveUpRights());
    PROFD_RETURN_IF_ERROR(host::StandIn::Prepare());
    if (!base::KeepSpareThreads(kSpareThreads)) return base::RoomForThreads();
    base::LogAside();
    if (base::PerfRights::are_special()) {
      base::LogInfo(
          "this kernel opens perf events for CAP_SYS_ADMIN only, which is kept for that; Linux 5.8 and later "
          "does without where kernel.perf_event_paranoid is 2 or less");
    }
    base::Result<std::unique_ptr<driver::Driver>> driver = base::Status{base::Code::kInternal, "not loaded"};
    driver::StartDriverThread("drv-load", [&] {
      driver = driver::AscendHal::Load(config_.driver.library, config_.driver.toolkit);
    }).join();
    // A file was named that is no driver library: not the same as a node without one.
    if (driver.status().code() == base::Code::kInvalidArgument) return driver.status();
    // Before all that looks through the spool and opens devices, which are another profd's if it has the
    // socket.
    auto claim = auth::SocketClaim::Take(config_.socket);
    if (!claim.ok()) return claim.status();
    claim_.emplace(std::move(claim).value());
    if (base::Status way = store::OpenAboveSpool(config_.store.spool).status();
        way.code() == base::Code::kPermissionDenied)
      return way;
    std::string no_driver = driver.status().message();
    std::shared_ptr<driver::Driver> library;
    if (driver.ok()) {
      library = std::move(driver).value();
      base::LogInfo("driver library " + library->path());
      if (!host_mounts.ok()) {
        base::LogWarn(host_mounts.message() +
                      ": the driver may take profd for a container and keep its devices from others; see "
                      "docs/operations.md, Rights");
      }
    } else {
      base::LogWarn("no device kinds: " + no_driver);
    }
    rights_.SetGroups(auth::ResolveGroups(config_.auth));
    manager_.emplace(ctl_, ctl_, config_, std::move(library), std::move(no_driver), agents_, rights_,
                     *fabric_);
    live_.emplace(ctl_, config_, *manager_, agents_);
    PROFD_RETURN_IF_ERROR(StartMetrics());
    PROFD_RETURN_IF_ERROR(StartSummary());
    limits_.emplace(ctl_, config_.limits, [this](int level) { Save(level); });
    auto server = rpc::Server::Start(config_, *manager_, *live_, agents_, ctl_, tickets_, audit_);
    if (!server.ok()) return server.status();
    server_ = std::move(server).value();
    if (!config_.remote.listen.empty()) slack_.Watch();  // of whose connections gRPC alone knows
    auto door = auth::Door::Start(config_.socket + ".door", ctl_, tickets_, DoorOptions());
    if (!door.ok()) return door.status();
    door_ = std::move(door).value();
    PROFD_RETURN_IF_ERROR(fabric_->Start());
    WatchNursery();
    if (!config_.registry.etcd.empty()) {
      auto registrar = rpc::Registrar::Start(config_);
      if (!registrar.ok()) return registrar.status();
      registrar_ = std::move(registrar).value();
    }
    // When it is the one that has the socket: of two the other has no word in it.
    const auto said = base::PidFile::Write(pid_file);
    if (!said.ok()) return said.status();
    ctl_.HandleSignals([this](int signal) { Stop(signal); }, [this] { Reload(); });
    base::LogInfo(std::string("profd ") + base::kVersion + " listens on " + config_.socket);
    Ready();
    if (const uint64_t every_ns = base::WatchdogNs(); every_ns != 0) Beat(every_ns / 3);
    ctl_.Run();
    registrar_.reset();
    // The sources and writers go before the executor that their last answers were posted to.
    door_.reset();
    server_.reset();
    ended_->Say();
    limits_.reset();
    summary_.reset();
    scrape_.reset();
    otlp_.reset();
    live_.reset();
    manager_.reset();
    fabric_.reset();
    base::LogInfo("stopped");
    return base::Status::Ok();
  }

 private:
  agent::Registry::Options AgentOptions() const {
    const config::Config::Agent& agent = config_.agent;
    return {.geometry = {.lanes = static_cast<uint32_t>(agent.lanes),
                         .lane_slots = static_cast<uint32_t>(agent.lane_kib * 1024 / abi::kRecordBytes),
                         .names_bytes = static_cast<uint32_t>(agent.names_kib * 1024)},
            .max_peers = agent.max_agents,
            .max_peers_per_uid = agent.max_agents_per_user};
  }
  auth::Door::Options DoorOptions() {
    auth::Door::Options options;
    options.max_connections_per_uid = config_.limits.connections_per_user;
    options.max_agents = config_.agent.max_agents;
    options.max_agents_per_uid = config_.agent.max_agents_per_user;
    options.take_seat = [this](const auth::Caller& caller) -> base::Result<auth::AgentSeat> {
      PROFD_ASSIGN_OR_RETURN(const agent::Registry::Seat seat,
                             agents_.TakeSeat({caller.pid, caller.uid, caller.gid, ""}));
      return auth::AgentSeat{seat.number, seat.region->memfd(), seat.region->wake_fd()};
    };
    options.leave_seat = [this](uint64_t seat) { agents_.LeaveSeat(seat); };
    options.look = [this](uid_t user, base::UniqueFd socket, const auth::Door::Options::Looked& looked) {
      aside_.RunFor(
          user,
          [user, held = std::make_shared<base::UniqueFd>(std::move(socket)),
           looked]() -> std::function<void()> {
            return [looked, comes = host::LookAtPassed(user, held->get())] { looked(comes); };
          },
          looked);
    };
    options.is_stuck = [this](uid_t user) { return aside_.IsStuck(user); };
    return options;
  }

  // A directory service may take its time.
  void ReadGroups() {
    aside_.Run([this, names = config_.auth]() -> std::function<void()> {
      const auth::Groups groups = auth::ResolveGroups(names);
      return [this, groups] { rights_.SetGroups(groups); };
    });
  }

  // A new one is started at once, so that who needs it next need not wait.
  void WatchNursery() {
    nursery_ = host::Nursery::The().Watched();
    if (!nursery_) {  // killed again meanwhile
      ctl_.After(kNurseryAgainNs, [this] { ReviveNursery(); });
      return;
    }
    nursery_watch_ = ctl_.WatchReadable(nursery_.get(), [this] { ReviveNursery(); });
  }
  void ReviveNursery() {
    ctl_.Unwatch(nursery_watch_);
    aside_.Run([this]() -> std::function<void()> {
      const bool lives = host::Nursery::The().Revive().ok();
      return [this, lives, news = host::Nursery::The().TakeNews()] {
        for (const std::string& line : news) base::LogWarn(line);
        if (lives) return WatchNursery();
        ctl_.After(kNurseryAgainNs, [this] { ReviveNursery(); });
      };
    });
  }

  // From ctl, so that systemd restarts a profd whose ctl hangs.
  void Beat(uint64_t every_ns) {
    base::TellServiceManager("WATCHDOG=1");
    ctl_.After(every_ns, [this, every_ns] { Beat(every_ns); });
  }

  base::Status StartMetrics() {
    const config::Config::Metrics& metrics = config_.metrics;
    if (!metrics.otlp.empty()) otlp_ = rpc::OtlpExporter::Start(metrics, *live_, ctl_);
    if (metrics.listen.empty()) return base::Status::Ok();
    auto server = live::ScrapeServer::Start(metrics.listen, ctl_, [this] {
      const live::SnapshotPtr newest = live_->newest();
      return newest == nullptr ? "" : live::PrometheusText(*newest, config_.metrics.processes);
    });
    if (!server.ok()) return server.status();
    scrape_ = std::move(server).value();
    base::LogInfo("metrics at http://" + scrape_->address() + "/metrics");
    ctl_.Post([this] { live_->Watch([](const live::SnapshotPtr&) {}); });  // so that there are some
    return base::Status::Ok();
  }

  base::Status StartSummary() {
    if (config_.summary.folder.empty()) return base::Status::Ok();
    PROFD_ASSIGN_OR_RETURN(summary_, summary::Summary::Start(config_.summary, agents_, ctl_));
    return base::Status::Ok();
  }

  // What limits have profd do without.
  void Save(int level) {
    live_->SetLevel(level);
    manager_->Save(level);
  }

  // Who is in the groups is looked up anew, too.
  void Reload() {
    if (stopping_) return;
    base::TellReloading();
    base::ReopenLogs();
    const auto fresh = load_();
    if (fresh.ok()) {
      const config::Reload reload = config::ApplyLive(*fresh, config_);
      base::SetLogLevel(config_.log.level);
      for (const std::string& line : reload.applied) base::LogInfo("SIGHUP: " + line);
      for (const std::string& line : reload.at_restart) {
        base::LogWarn("SIGHUP: " + line + " counts from the next start: restart profd");
      }
      if (reload.applied.empty() && reload.at_restart.empty())
        base::LogInfo("SIGHUP: the settings are as they were");
    } else {
      base::LogError("SIGHUP: the settings stay as they were: " + fresh.status().message());
    }
    ReadGroups();
    Ready();
  }
  void Ready() { base::TellServiceManager("READY=1\nSTATUS=listens on " + config_.socket); }

  // gRPC waits for every call, and one may never end: the kernel made no thread for what was to end it. All
  // is sealed by now, and the next profd must not wait for that.
  void EndWithin(uint64_t patience_ns) {
    base::StartThread("last-calls", [patience_ns, ended = ended_] {
      std::unique_lock lock(ended->mutex);
      if (ended->changed.wait_for(lock, std::chrono::nanoseconds(patience_ns), [&] { return ended->is_so; }))
        return;
      base::LogWarn("calls of clients do not end: profd goes without them; what was recorded is sealed");
      base::StopLog();
      ::_exit(0);
    }).detach();
  }

  void Stop(int signal) {
    if (stopping_) return;
    stopping_ = true;
    base::TellServiceManager("STOPPING=1\nSTATUS=seals its sessions");
    base::LogInfo("signal " + std::to_string(signal) + ": sealing sessions");
    const auto one_done = base::After(2, [this] {
      // What the seals posted (answers to callers) goes out first.
      ctl_.Post([this] {
        summary_.reset();
        EndWithin(kLastCallsNs);
        server_->Shutdown();
        ctl_.Stop();
      });
    });
    live_->Shutdown(one_done);
    manager_->Shutdown(one_done);
  }

  struct Ended {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_so = false;

    void Say() {
      const std::lock_guard lock(mutex);
      is_so = true;
      changed.notify_all();
    }
  };
  const std::shared_ptr<Ended> ended_ = std::make_shared<Ended>();
  config::Config config_;  // ctl's
  const std::function<base::Result<config::Config>()> load_;
  std::optional<auth::SocketClaim> claim_;
  base::Executor ctl_;
  base::Slack slack_{ctl_};
  base::Aside aside_{ctl_};
  auth::Rights rights_;
  auth::Tickets tickets_{&rights_};
  auth::Audit audit_{config_.log.audit == "off" ? nullptr : auth::Audit::Write(base::AuditLine)};
  agent::Registry agents_{ctl_, AgentOptions()};
  std::optional<fabric::Service> fabric_;
  std::optional<session::Manager> manager_;
  std::optional<live::Live> live_;
  std::optional<live::Limits> limits_;
  std::unique_ptr<summary::Summary> summary_;
  std::unique_ptr<live::ScrapeServer> scrape_;
  std::unique_ptr<rpc::OtlpExporter> otlp_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<auth::Door> door_;
  std::unique_ptr<rpc::Registrar> registrar_;
  base::UniqueFd nursery_;  // readable once it has died
  base::Executor::WatchId nursery_watch_ = 0;
  bool stopping_ = false;
};

}  // namespace

base::Status CheckSettings(const config::Config& config, std::vector<std::string>* warnings) {
  PROFD_RETURN_IF_ERROR(base::CheckLogLevel(config.log.level));
  PROFD_RETURN_IF_ERROR(live::CheckSettings(config));
  PROFD_RETURN_IF_ERROR(summary::CheckSettings(config.summary));
  return rpc::CheckSettings(config, warnings);
}

base::Status RunNursery(const std::string& heirlooms) {
  PROFD_RETURN_IF_ERROR(host::Heirlooms::Read(heirlooms));
  host::KernelNames::Hold();
  host::Uprobes::Prepare();
  host::PythonProbe::Prepare();
  PROFD_RETURN_IF_ERROR(base::GiveUpRights());
  host::Nursery::The().BeOne();
}

base::Status RunDaemon(config::Config config, std::function<base::Result<config::Config>()> load,
                       const std::string& pid_file) {
  return Daemon(std::move(config), std::move(load)).Run(pid_file);
}

}  // namespace profd
