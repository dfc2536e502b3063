// profd: parse, check, run, exit.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/help.h"
#include "base/cli/manual.h"
#include "base/cli/wrong.h"
#include "base/version.h"
#include "daemon/base/log.h"
#include "daemon/config/config.h"
#include "daemon/daemon.h"
#include "daemon/host/process/nursery.h"

namespace {

constexpr char kDefaultConfig[] = "/etc/profd/profd.yaml";
constexpr int kUsage = 2;

profd::cli::ManText Manual() {
  return {
      .section = 8,
      .version = profd::base::kVersion,
      .description =
          "Records devices, host and programs for the sessions that profctl starts, several at a time, and "
          "writes their results. Runs until SIGTERM or SIGINT, which seal every session; SIGHUP reads the "
          "settings again.",
      .files =
          "/etc/profd/profd.yaml\tsettings\n"
          "/run/profd/profd.sock\twhere it listens; beside it is the door, where local clients identify "
          "themselves\n"
          "/var/lib/profd\tresults of sessions, one folder per user",
      .see_also = "profctl(1), profd.yaml(5)",
  };
}

// Every stream of every session has a file open; the soft limit of a shell is far below that.
void RaiseFileLimit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

int Fail(const profd::base::Status& status, int code) {
  std::fprintf(stderr, "profd: %s\n", status.message().c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == profd::host::Nursery::kFlag)
    return Fail(profd::RunNursery(argv[2]), kUsage);
  CLI::App app{"profd: collects performance data of Ascend NPU devices and their host", "profd"};
  std::string config_path;
  std::string socket;
  std::string output_root;
  std::string hal;
  std::string pid_file;
  bool foreground = false;
  bool check_config = false;
  bool man = false;
  app.add_option("--config", config_path, "settings (YAML); default /etc/profd/profd.yaml, if it exists");
  app.add_option("--socket", socket, "listen here; default /run/profd/profd.sock");
  app.add_option("--output-root", output_root, "where sessions without --output go; default /var/lib/profd");
  app.add_option("--hal", hal, "the driver library; default: where the driver's install record says");
  app.add_option("--pid-file", pid_file, "a file for profd's pid while it runs; default none");
  app.add_flag("--foreground", foreground,
               "stay in the foreground (profd always does; accepted for unit files)");
  app.add_flag("--check-config", check_config, "check the settings, print them whole, exit");
  app.add_flag("--help-man", man, "print profd(8)")->group("");  // for packages: not in --help
  app.set_version_flag("--version", std::string("profd ") + profd::base::kVersion);
  profd::cli::FitHelp(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "profd: %s; see profd --help\n", profd::cli::WhatIsWrong(app, error).c_str());
    return kUsage;
  }
  if (man) {
    std::fputs(profd::cli::ManPage(app, Manual()).c_str(), stdout);
    return 0;
  }

  std::error_code ignored;
  if (config_path.empty() && std::filesystem::exists(kDefaultConfig, ignored)) config_path = kDefaultConfig;
  for (std::string* path : {&config_path, &socket, &output_root, &pid_file}) {
    if (!path->empty()) *path = std::filesystem::absolute(*path);
  }
  const auto warnings = std::make_shared<std::vector<std::string>>();
  const auto load = [=]() -> profd::base::Result<profd::config::Config> {
    profd::config::Config config;
    if (!config_path.empty()) {
      PROFD_ASSIGN_OR_RETURN(config, profd::config::LoadConfig(config_path));
    }
    if (!socket.empty()) config.socket = socket;
    if (!output_root.empty()) config.store.spool = output_root;
    if (!hal.empty()) config.driver.library = hal;
    for (std::string* path : {&config.socket, &config.store.spool}) *path = std::filesystem::absolute(*path);
    warnings->clear();
    PROFD_RETURN_IF_ERROR(profd::CheckSettings(config, warnings.get()));
    return config;
  };
  const auto config = load();
  if (!config.ok()) return Fail(config.status(), kUsage);
  if (check_config) {
    for (const std::string& warning : *warnings)
      std::fprintf(stderr, "profd: warning: %s\n", warning.c_str());
    std::fputs(profd::config::DumpConfig(*config).c_str(), stdout);
    return 0;
  }
  if (const auto status = profd::base::StartLog(config->log.level, config->log.file); !status.ok()) {
    return Fail(status, kUsage);
  }
  if (const auto status = profd::base::StartAudit(config->log.audit); !status.ok())
    return Fail(status, kUsage);
  for (const std::string& warning : *warnings) profd::base::LogWarn(warning);
  RaiseFileLimit();
  const auto status = profd::RunDaemon(*config, load, pid_file);
  profd::base::StopLog();
  return status.ok() ? 0 : Fail(status, 1);
}
