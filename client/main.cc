// profctl: what the command line looks like; the verbs are in commands/.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/edit_distance.h"
#include "base/version.h"
#include "cli/lines.h"
#include "cli/wrong.h"
#include "client/args.h"
#include "client/commands/collect.h"
#include "client/commands/commands.h"
#include "client/fleet/fleet.h"
#include "client/fleet/hosts.h"
#include "client/fleet/rounds.h"
#include "client/manual.h"
#include "client/text.h"
#include "client/vendor_words.h"
#include "node/etcd.h"
#include "options/describe.h"
#include "options/table.h"

namespace profd::client {
namespace {

constexpr char kAbout[] = "profctl: asks profd to collect performance data of NPU devices and their host";
constexpr uint64_t kFleetTimeoutNs = 30'000'000'000;
constexpr char kRegistered[] = "/profd/nodes/";
constexpr size_t kMostWords = 400;  // of what is said about a command line
constexpr char kConfig[] = "/etc/profd/profctl.conf";
constexpr char kVendorGroup[] = "In the words of the vendor's msprof";
constexpr char kExitCodes[] =
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 permission, 5 unavailable, 6 busy, 7 partial loss,\n"
    "8 partly started, 9 hosts that differ (--hosts).";

struct CommandLine {
  Common common;
  std::string hosts, relays, etcd, parallel = "128", timeout;
  std::string at;
  StartOptions start;
  RunOptions run;
  SnapshotOptions snapshot;
  PauseOptions pause;
  KeepOptions keep;
  MoveOptions move;
  LeaseOptions lease;
  FetchOptions fetch;
  StopOptions stop;
  StatusOptions status;
  WatchOptions watch;
  TopOptions top;
  VerifyOptions verify;
  ExportArguments exporting;
  RepairOptions repair;
  QueryOptions query;
  DoctorOptions doctor;
  MsprofLine msprof;
  bool man = false;
  bool help_all = false;
  bool option_tables = false;
  std::string shell;
};

// "" = none.
std::string DefaultConfig() {
  std::error_code ignored;
  const char* const home = std::getenv("HOME");
  for (const std::string& path :
       {std::string(home == nullptr ? "" : home) + "/.config/profd/profctl.conf", std::string(kConfig)}) {
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return "";
}

// The vendor's options beside ours, as the table has them. What is not collected is taken (and refused with
// the reason) but not offered.
void AddVendorOptions(CLI::App* verb, bool for_start, options::Given* given) {
  for (const options::Option& option : options::Table()) {
    if (for_start && !options::IsForStart(option)) continue;
    const std::string name(option.name);
    const std::string old_name(option.old_name.empty() ? "" : ",--" + std::string(option.old_name));
    const bool offered = option.standing < options::Standing::kMissing;
    verb->add_option_function<std::string>(
            "--" + name + old_name, [given, name](const std::string& value) { (*given)[name] = value; },
            options::Help(option))
        ->take_last()
        ->group(offered ? kVendorGroup : "");
  }
}

void Describe(CLI::App* app, CommandLine* line) {
  app->footer(kExitCodes);
  app->set_version_flag("--version", std::string("profctl ") + base::kVersion);
  app->add_option("--socket", line->common.socket,
                  "profd's socket; default PROFD_ADDRESS, else /run/profd/profd.sock");
  app->add_option("--host", line->common.host, "another node's profd: HOST:PORT (remote.listen there)");
  app->add_option("--hosts", line->hosts,
                  "many at once: n[001-512],n7:9478,@FILE,slurm:JOBID,k8s:SELECTOR,etcd:PREFIX?LABEL=VALUE");
  app->add_option("--relays", line->relays,
                  "of --hosts: these nodes ask the others (remote.relay there), as --hosts");
  app->add_option("--etcd", line->etcd, "of --hosts etcd:…: HOST:PORT,…, or https://HOST:PORT");
  app->add_option("--parallel", line->parallel, "of --hosts at once; default 128");
  app->add_option("--timeout", line->timeout, "gives up on what has not answered by then, e.g. 30s");
  app->add_option("--tls-ca", line->common.ca, "PEM file: who signs the certificates of nodes");
  app->add_option("--tls-cert", line->common.cert, "PEM file: the certificate to show them");
  app->add_option("--tls-key", line->common.key, "PEM file: its key");
  app->add_flag("--plain", line->common.plain, "--host without certificates, on loopback");
  app->add_flag("--json", line->common.json, "print JSON");
  app->add_flag("--help-man", line->man, "print profctl(1)")->group("");  // for packages: not in --help
  app->add_flag("--help-options", line->option_tables, "print the tables of docs/msprof.md")->group("");
  app->set_config("--client-config", DefaultConfig(),
                  "options that are always given, one a line: tls-ca = \"/etc/profd/ca.pem\"");
  app->fallthrough();
  app->require_subcommand(0, 1);  // none is told apart below, with better words than CLI11's

  app->add_subcommand("devices", "chips, health, kinds with rate ranges, who holds what");
  app->add_subcommand("targets", "processes that can be recorded from inside, and why others can't");
  app->add_subcommand("list", "sessions and what is on disk");

  CLI::App* start = app->add_subcommand("start", "start a session");
  StartOptions& options = line->start;
  start->add_option("--pid", options.pids, "processes: N,…");
  start->add_option("--container", options.container,
                    "the pids are as this container has them: its id, or the first 8 characters or more");
  start->add_flag("--split", options.split, "a session, and a directory, for each of the pids");
  start->add_flag("--all-agents", options.all_agents,
                  "every process with an agent; with --label only those, e.g. --label rank=0-7");
  start->add_option("--steps", options.steps,
                    "agents record these steps only: skip_first=N,wait=N,warmup=N,active=N,repeat=N");
  start->add_option("--step", options.step,
                    "agents begin with the step of this number, by the training loop's own count");
  start->add_option(
      "--agent-domains", options.domains,
      "agents record marks and ranges of these domains only: NAME,… (default: those without a domain)");
  start->add_option("--agent-domains-exclude", options.domains_exclude,
                    "agents leave out marks and ranges of these domains");
  start->add_flag("--flight-recorder", options.flight_recorder,
                  "keep the newest data in memory; profctl snapshot writes it out");
  start->add_option(
      "--snapshot-on", options.snapshot_on,
      "a flight recorder writes what a process has in memory by itself: when it ends (exit), or ends "
      "other than by exit(0) (crash)");
  start->add_option("--devices", options.devices, "all, or numbers: 0,1");
  start->add_option("--collect", options.collect, "kinds: KIND[:MODE][=RATE],… e.g. hbm,pcie=100Hz,host-cpu");
  start->add_option("--preset", options.preset, "node, memory, network, host, light, detail or all");
  start->add_option("--duration", options.duration, "ends by itself after, e.g. 10s, 5m, 1h; default 24h");
  start->add_option("--delay", options.delay, "first sample after, e.g. 2s");
  start->add_option("--at", line->at,
                    "first sample at one instant on all nodes: +3s, or @SECONDS since 1970");
  start->add_option("--output", options.output, "directory for the result; default profd's own");
  start->add_option("--storage-limit", options.storage_limit, "at least 200MB, e.g. 500MB, 2GB");
  start->add_option("--on-full", options.on_full,
                    "when nothing can be stored: age (the oldest data goes; else pause), pause or stop");
  start->add_option("--name", options.name, "a name for people");
  start->add_option("--label", options.labels, "KEY=VALUE");
  start->add_flag("--resume", options.resume, "go on in a new, linked directory should profd be restarted");
  start->add_flag("--dry-run", options.dry_run, "only say what would be collected and how much that makes");
  start->add_flag(
      "--wait", options.wait,
      "stay until the end and exit with the session's result; Ctrl-C stops it, a second one detaches");

  start
      ->add_option("--wait-lease", options.wait_lease_for,
                   "wait until what others hold can be had, at most so long; default 24h")
      ->expected(0, 1)
      ->default_str("24h");
  AddVendorOptions(start, true, &options.vendor);
  start->add_flag("--help-all", line->help_all, "also what the chips of this node do not have");

  CLI::App* run =
      app->add_subcommand("run", "run a program with the agent in place: run [OPTIONS] -- CMD ARGS…");
  run->add_option("--label", line->run.labels, "KEY=VALUE, a label of the process");

  CLI::App* msprof =
      app->add_subcommand("msprof", "a command line of the vendor's msprof: msprof [OPTIONS] [APP ARGS…]");
  AddVendorOptions(msprof, false, &line->msprof.given);
  msprof->add_flag("--help-all", line->help_all, "also what the chips of this node do not have");

  CLI::App* snapshot = app->add_subcommand("snapshot", "write out what a flight recorder has in memory");
  snapshot->add_option("SESSION", line->snapshot.session, "Its id, or its name")->required();
  snapshot->add_option("--last", line->snapshot.last, "how far back, e.g. 30s; default all");

  CLI::App* pause =
      app->add_subcommand("pause", "a session stores nothing until it goes on; nothing counts as lost");
  pause->add_option("SESSION", line->pause.session, "Its id, or its name")->required();
  CLI::App* resume = app->add_subcommand("resume", "a session that is paused goes on");
  resume->add_option("SESSION", line->pause.session, "Its id, or its name")->required();

  CLI::App* stop = app->add_subcommand("stop", "stop sessions and wait until they are on disk");
  stop->add_option("SESSION", line->stop.session, "Its id, or its name");
  stop->add_option("--pid", line->stop.pid, "every session of this process");
  stop->add_flag("--all", line->stop.all, "every session");

  CLI::App* status =
      app->add_subcommand("status", "state, elapsed, bytes and rate per kind, lost, end reason");
  status->add_option("SESSION", line->status.session, "Its id, or its name; default those that run");
  status->add_flag("--watch", line->status.watch, "go on until the session ends");

  CLI::App* watch = app->add_subcommand("watch", "values of devices, host, processes and profd as they come");
  watch->add_option("kinds", line->watch.kinds,
                    "KIND…: hbm, device, host-cpu, process, profd …; default all");
  watch->add_option("--interval", line->watch.interval,
                    "time between two sets of values, e.g. 5s; default profd's");
  watch->add_option("--count", line->watch.count, "end after so many sets");
  watch->add_option("--devices", line->watch.devices, "only values of these devices: 0,1");
  watch->add_option("--pid", line->watch.pids, "only values of these processes: N,…");

  CLI::App* top = app->add_subcommand("top", "a screen of devices, processes and sessions; q ends it");
  top->add_flag("--once", line->top.once, "print one screen as plain text");
  top->add_option("--sort", line->top.sort, "device, aicore, hbm or memory; cpu, rss or pid");
  top->add_option("--devices", line->top.devices, "only these devices: 0,1");
  top->add_option("--pid", line->top.pids, "only these processes: N,…");

  for (const auto& [verb, what] : {std::pair{"pin", "keep a session whatever is short"},
                                   std::pair{"unpin", "let it go as any other when room is needed"},
                                   std::pair{"rm", "remove from profd's spool what a session has left"}}) {
    app->add_subcommand(verb, what)
        ->add_option("SESSION", line->keep.session, "Its id, or its name")
        ->required();
  }

  CLI::App* move =
      app->add_subcommand("mv", "move what profd's spool has of a session to a directory of yours");
  move->add_option("SESSION", line->move.session, "Its id, or its name")->required();
  move->add_option("DIR", line->move.directory, "Where to")->required();

  CLI::App* lease = app->add_subcommand("lease", "who may collect which devices, and for how long");
  lease->require_subcommand(1);
  CLI::App* add = lease->add_subcommand("add", "lend devices to a user (root, or a scheduler in its name)");
  add->add_option("--user", line->lease.user, "name or number")->required();
  add->add_option("--devices", line->lease.devices, "all, or numbers: 0,1")->required();
  add->add_option("--for", line->lease.duration, "how long, e.g. 30m, 8h, 2d")->required();
  lease->add_subcommand("list", "leases: one's own, all for root");
  lease->add_subcommand("rm", "take one back; sessions that stand on it end")
      ->add_option("LEASE", line->lease.lease, "Its id")
      ->required();
  CLI::App* fetch = app->add_subcommand(
      "fetch", "copy a session's directories here, from profd's spool; goes on where it ended");
  fetch->add_option("SESSION", line->fetch.session, "Its id, or its name")->required();
  fetch->add_option("--out", line->fetch.out, "directory they come into; default .");

  CLI::App* verify = app->add_subcommand("verify", "check PROF directories: is everything there and whole?");
  verify->add_option("DIR", line->verify.directories, "PROF directories, or folders of such")->required();

  CLI::App* repair = app->add_subcommand(
      "repair", "seal PROF directories of --output that a crash left open, as profd does in its spool");
  repair->add_option("DIR", line->repair.directories, "PROF directories of one's own")->required();

  CLI::App* exporting = app->add_subcommand(
      "export", "turn PROF directories, profd's or the vendor's, into timelines, tables and a database");
  ExportArguments& wanted = line->exporting;
  exporting->add_option("DIR", wanted.directories, "PROF directories; with --recursive folders of such")
      ->required();
  exporting
      ->add_option("--format", wanted.format,
                   "some of chrome,perfetto,csv,json,db,collapsed,pprof; default chrome,csv,db")
      ->join(',');
  exporting->add_option("--out", wanted.out, "where to; default into each DIR");
  exporting->add_option("--from", wanted.from,
                        "what lies before is left out: +1.5s, \"2026-11-22 05:10:20\", @SECONDS");
  exporting->add_option("--to", wanted.to, "what lies behind is left out");
  exporting->add_option("--devices", wanted.devices, "all, or numbers: 0,1; the host is always in")
      ->join(',');
  exporting->add_option("--kinds", wanted.kinds, "only these kinds: hbm,pcie,…")->join(',');
  exporting->add_option("--iteration", wanted.iteration,
                        "only what lies within this iteration; 1 if only --model is given");
  exporting->add_option("--model", wanted.model, "of which model; default that with the smallest number");
  exporting->add_option("--jobs", wanted.jobs, "threads, 1 to 64; default one per core");
  exporting->add_flag("--vendor-compatible", wanted.vendor_compatible,
                      "with the vendor's known faults, value for value (docs/export.md)");
  exporting->add_option("--split", wanted.split, "the timeline in files this long, e.g. 60s");
  exporting->add_flag("--gzip", wanted.gzip, "compress the timeline");
  exporting->add_flag("--resume", wanted.resume, "leave finished outputs of an earlier export alone");
  exporting->add_flag("--recursive", wanted.recursive,
                      "a DIR may be a folder: all PROF directories below it");
  exporting->add_flag("--per-device", wanted.per_device,
                      "a PROF directory for each device, below --out: for analysers of many ranks");
  exporting->add_flag("--dry-run", wanted.dry_run, "only say what would be written");

  CLI::App* query =
      app->add_subcommand("query", "what is in PROF directories: job, devices, models, kinds, gaps");
  query->add_option("DIR", line->query.directories, "PROF directories, or folders of such")->required();

  CLI::App* doctor = app->add_subcommand("doctor", "walks the chain and marks the broken link");
  doctor->add_option("--pid", line->doctor.pid, "also check what this process needs");

  app->add_subcommand("completion", "print what completes command lines in a shell")
      ->group("")
      ->add_option("shell", line->shell, "bash or zsh")
      ->required();
}

// CLI11 takes an empty value for a missing one; to us `--output ""` is a mistake, not the default.
bool GivesEmptyValue(const CLI::App& app, std::string* name) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        *name = option->get_name();
        return true;
      }
    }
  }
  return false;
}

ExitCode Usage(const std::string& message) {
  const bool says_where = message.find("profctl --help") != std::string::npos;
  std::fprintf(stderr, "profctl: %s%s\n", OneLine(message).c_str(), says_where ? "" : "; see profctl --help");
  return ExitCode::kUsage;
}

ExitCode Dispatch(const Common& common, const CommandLine& line, const CLI::App& verb) {
  const std::string name = verb.get_name();
  if (name == "devices") return RunDevices(common);
  if (name == "targets") return RunTargets(common);
  if (name == "start") return RunStart(common, line.start);
  if (name == "msprof") return RunMsprof(common, line.msprof);
  if (name == "snapshot") return RunSnapshot(common, line.snapshot);
  if (name == "pause" || name == "resume") return RunPause(common, line.pause, name == "pause");
  if (name == "stop") return RunStop(common, line.stop);
  if (name == "status") return RunStatus(common, line.status);
  if (name == "watch") return RunWatch(common, line.watch);
  if (name == "top") return RunTop(common, line.top);
  if (name == "list") return RunList(common);
  if (name == "pin" || name == "unpin") return RunPin(common, line.keep, name == "pin");
  if (name == "mv") return RunMove(common, line.move);
  if (name == "fetch") return RunFetch(common, line.fetch);
  if (name == "rm") return RunRemove(common, line.keep);
  if (name == "lease") {
    const std::string what = verb.get_subcommands().front()->get_name();
    if (what == "add") return RunLeaseAdd(common, line.lease);
    return what == "rm" ? RunLeaseRemove(common, line.lease) : RunLeaseList(common);
  }
  if (name == "verify") return RunVerify(common, line.verify);
  if (name == "repair") return RunRepair(common, line.repair);
  if (name == "export") return RunExport(common, line.exporting);
  if (name == "query") return RunQuery(common, line.query);
  return RunDoctor(common, line.doctor);
}

// The same for every node and every time it is asked, never the same again.
std::string RandomText() {
  std::random_device device;
  char text[33];
  std::snprintf(text, sizeof text, "%08x%08x%08x%08x", device(), device(), device(), device());
  return text;
}

// What the verbs have in common and CLI11 does not check.
base::Status Prepare(CommandLine* line) {
  if (!line->timeout.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--timeout", line->timeout));
    line->common.deadline_ns = base::MonotonicNs() + ns;
  } else if (!line->hosts.empty()) {
    line->common.deadline_ns = base::MonotonicNs() + kFleetTimeoutNs;
  }
  if (!line->hosts.empty()) line->start.once = RandomText();
  if (!line->at.empty()) {
    if (!line->start.delay.empty())
      return {base::Code::kInvalidArgument, "--at and --delay: give one of them"};
    PROFD_ASSIGN_OR_RETURN(line->start.at_wall_ns, ParseInstant(line->at, base::WallNs()));
    // The answer comes when it has begun.
    if (line->common.deadline_ns != 0) line->common.deadline_ns += line->start.at_wall_ns - base::WallNs();
  }
  return {};
}

// A node that hangs keeps its connection until the end.
void RaiseFileLimit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

base::Result<Entries> Registered(const CommandLine& line, const std::string& prefix) {
  if (line.etcd.empty())
    return base::Status(base::Code::kInvalidArgument, "name the endpoints of the etcd with --etcd");
  const bool tls = line.etcd.find("https://") != std::string::npos;
  node::Credentials credentials = node::Credentials::None();
  if (tls) {
    PROFD_ASSIGN_OR_RETURN(credentials, CredentialsOf(line.common));
  }
  PROFD_ASSIGN_OR_RETURN(const auto etcd, node::Etcd::Open(line.etcd, credentials));
  return etcd->List(prefix.empty() ? kRegistered : prefix);
}

ExitCode OnHosts(const CommandLine& line, const CLI::App& verb) {
  const std::string name = verb.get_name();
  for (const char* const local : {"run", "msprof", "mv", "verify", "repair", "export", "query"}) {
    if (name == local) return Usage("--hosts: " + name + " works on this node only");
  }
  if (!line.common.host.empty()) return Usage("--host and --hosts: give one of them");
  if (line.start.wait) return Usage("--wait: not with --hosts; use status");
  if (line.status.watch) return Usage("--watch: not with --hosts");
  if (name == "top") return Usage("top shows one node: --host");
  if (name == "watch" && line.watch.count == 0) return Usage("watch: with --hosts it needs --count");
  if (!line.start.output.empty()) return Usage("--output: not with --hosts; fetch brings the results");
  const auto parallel = ParseCount("--parallel", line.parallel, 4096);
  if (!parallel.ok()) return Fail(parallel.status());
  const Registry registry = [&line](const std::string& prefix) { return Registered(line, prefix); };
  const auto hosts = ExpandHosts(line.hosts, registry);
  if (!hosts.ok()) return Fail(hosts.status());
  RaiseFileLimit();
  const auto one = [&](const Common& common) { return Dispatch(common, line, verb); };
  // Streams come from the nodes themselves, each to a thread.
  if (name == "fetch" || name == "watch")
    return ReportAnswers(line.common, AskAll(line.common, *hosts, *parallel, one));
  Way way{.relays = {}, .parallel = *parallel, .at_wall_ns = line.start.at_wall_ns};
  if (!line.relays.empty()) {
    auto relays = ExpandHosts(line.relays, registry);
    if (!relays.ok()) return Fail(relays.status());
    way.relays = std::move(relays).value();
  }
  const auto answers = AskInRounds(way, line.common, *hosts, one);
  return answers.ok() ? ReportAnswers(line.common, *answers) : Fail(answers.status());
}

// "" = it is one.
std::string NoVerb(const CLI::App& app, const std::string& given) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : cli::Verbs(app)) verbs.push_back(verb->get_name());
  const auto is_given = [&given](const CLI::App* verb) { return verb->get_name() == given; };
  if (!app.get_subcommands(is_given).empty()) return "";
  const std::string text = "'" + Excerpt(given) + "' is no verb of profctl";
  if (const std::string_view nearest = base::Nearest(given, verbs); !nearest.empty())
    return text + ": did you mean " + std::string(nearest) + "?";
  return text + "; profctl --help lists them";
}

// Of the verbs first: see cli::WhatIsWrong().
std::string WhatIsWrong(const CLI::App& app, const std::vector<char*>& words, const CLI::ParseError& error) {
  const std::string given = words.size() > 1 ? words[1] : "";
  if (app.get_subcommands().empty() && !given.empty() && !given.starts_with('-')) {
    if (std::string text = NoVerb(app, given); !text.empty()) return text;
  }
  const CLI::App* verb = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  const std::vector<std::string> extras = app.remaining(true);
  const auto is_extra = [&extras](const char* word) { return std::ranges::count(extras, word) > 0; };
  const auto first = std::ranges::find_if(words, is_extra);
  if (verb->get_name() == "run" && first != words.end() && **first != '-') {
    return "run: put -- in front of the program, so that its options are its own: profctl run -- " +
           Excerpt(*first) + " …";
  }
  return Excerpt(cli::WhatIsWrong(app, error), kMostWords);
}

// Which of the vendor's options --help shows: those that the chips of the node have, where profd can be
// asked, or all.
void ChooseVendorOptions(const Common& common, bool all, CLI::App* verb) {
  options::Chips chips = 0;
  if (!all) {
    base::Result<Connection> connection = Connect(common);
    const auto node = connection.ok() ? connection->control->Devices() : connection.status();
    if (node.ok()) chips = ChipsOf(*node, {});
  }
  for (const options::Option& option : options::Table()) {
    CLI::Option* shown = verb->get_option_no_throw("--" + std::string(option.name));
    if (shown == nullptr) continue;
    if (all) shown->group(kVendorGroup);
    if (chips != 0 && (option.chips & chips) == 0 && shown->get_group() == kVendorGroup) shown->group("");
  }
}

// Takes away what is not ours to parse: what is behind `--` is a program's business, what is behind `msprof`
// the vendor's.
base::Status TakeForeignWords(const CLI::App& app, std::vector<char*>* words, CommandLine* line) {
  bool has_verb = false;
  for (size_t i = 1; i < words->size(); ++i) {
    const std::string word = (*words)[i];
    if (word == "--") {
      line->run.command.assign(words->begin() + static_cast<ptrdiff_t>(i) + 1, words->end());
      words->resize(i);
    } else if (word == "msprof" && !has_verb) {
      const std::vector<char*> behind(words->begin() + static_cast<ptrdiff_t>(i) + 1, words->end());
      PROFD_ASSIGN_OR_RETURN(line->msprof, ParseMsprof({behind.begin(), behind.end()}));
      words->resize(i + 1);
      for (std::string& other : line->msprof.others) words->push_back(other.data());
      if (behind.empty()) words->push_back(const_cast<char*>("--help"));  // as the vendor's
      return {};
    } else {
      has_verb = has_verb ||
                 !app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == word; }).empty();
    }
  }
  return {};
}

ExitCode Run(int argc, char** argv) {
  CLI::App app{kAbout, "profctl"};
  CommandLine line;
  Describe(&app, &line);
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  if (words.size() > 1 && std::string_view(words[1]) == "help") {  // `help verify` = `verify --help`
    if (words.size() > 2) {
      if (const std::string wrong = NoVerb(app, words[2]); !wrong.empty()) return Usage(wrong);
    }
    words.erase(words.begin() + 1);
    words.resize(std::min<size_t>(words.size(), 2));
    words.push_back(help.data());
  }
  if (const base::Status taken = TakeForeignWords(app, &words, &line); !taken.ok())
    return Usage(taken.message());
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Usage(WhatIsWrong(app, words, error));
    if (!app.get_subcommands().empty())
      ChooseVendorOptions(line.common, false, app.get_subcommands().front());
    app.exit(error);  // --help, --version
    return ExitCode::kOk;
  }
  if (line.help_all) {
    CLI::App* const verb = app.get_subcommands().front();
    ChooseVendorOptions(line.common, true, verb);
    Print(verb->help("profctl " + verb->get_name()));
    return ExitCode::kOk;
  }
  if (line.option_tables) {
    Print(options::StatusTables());
    return ExitCode::kOk;
  }
  if (line.man) {
    Print(cli::ManPage(app, Manual()));
    return ExitCode::kOk;
  }
  if (app.get_subcommands().empty()) {
    return Usage(
        "name what to do: devices, targets, run, msprof, start, snapshot, pause, resume, stop, status, "
        "watch, top, list, "
        "pin, "
        "unpin, mv, rm, lease, fetch, verify, repair, export, query or doctor");
  }
  const CLI::App* verb = app.get_subcommands().front();
  std::string empty;
  const auto inner = verb->get_subcommands();
  if (GivesEmptyValue(app, &empty) || GivesEmptyValue(*verb, &empty) ||
      (!inner.empty() && GivesEmptyValue(*inner.front(), &empty)))
    return Usage(empty + ": the value is empty");

  const std::string name = verb->get_name();
  if (name != "run" && !line.run.command.empty()) return Usage("only profctl run takes a command behind --");
  if (name == "run") return RunCommand(line.common, line.run);  // which inherits our signals
  std::signal(SIGPIPE, SIG_IGN);  // `profctl list | head` is no accident worth a signal
  if (name == "completion") {
    const std::string script = cli::Completion(app, line.shell);
    if (script.empty()) return Usage("completion '" + line.shell + "': expected bash or zsh");
    Print(script);
    return ExitCode::kOk;
  }
  line.start.wait_lease = name == "start" && verb->count("--wait-lease") > 0;
  if (const base::Status ready = Prepare(&line); !ready.ok()) return Fail(ready);
  if (line.hosts.empty()) return Dispatch(line.common, line, *verb);
  return OnHosts(line, *verb);
}

}  // namespace
}  // namespace profd::client

int main(int argc, char** argv) {
  const auto code = profd::client::Run(argc, argv);
  // gRPC's threads go on for a while: exit handlers would take its state and OpenSSL's from under them.
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}
