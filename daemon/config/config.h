// Every setting of profd, with its default; config/profd.yaml says the same (a test compares).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace profd::config {

struct Config {
  std::string socket = "/run/profd/profd.sock";  // gRPC; the door is beside it: <socket>.door

  struct Store {
    std::string spool = "/var/lib/profd";  // where sessions without --output go, one folder per user
    uint64_t slice_bytes = 2ull << 20;
    uint64_t roll_after_s = 3600;  // a long session goes on in a new linked directory
    uint64_t chunk_bytes = 256ull << 10;
    uint64_t device_chunks = 320;  // per pump thread and file system
    uint64_t host_chunk_bytes = 4ull << 20;
    uint64_t host_chunks = 32;
    uint64_t agent_chunks = 64;
    uint64_t flight_recorder_bytes = 64ull << 20;  // of a session, in memory
    bool spool_first = false;                      // --output is moved to when the session is sealed
    uint64_t move_mb_per_s = 100;                  // 0 = as fast as it goes
    std::string durability = "periodic";           // none periodic slice always
    uint64_t flush_every_s = 10;                   // periodic
    uint64_t quota_per_user_bytes = 0;             // in the spool; 0 = none
    uint64_t quota_spool_bytes = 0;
    uint64_t keep_free_bytes = 0;  // of a file system; 0 = 1 GiB or 2 % of it, whichever is less
    uint64_t max_age_s = 0;        // of a sealed session in the spool; 0 = any
  } store;

  struct Session {
    uint64_t default_duration_s = 24 * 3600;
    uint64_t max_duration_s = 30 * 24 * 3600;
    uint64_t max_sessions = 64;
    uint64_t clock_pair_every_s = 30;
  } session;

  // The memory that each process with an agent records into, and how many of them there may be.
  struct Agent {
    uint64_t lanes = 256;      // threads that record at once
    uint64_t lane_kib = 1024;  // 32 bytes a record
    uint64_t names_kib = 1024;
    uint64_t max_agents = 2048;
    uint64_t max_agents_per_user = 1024;
  } agent;

  struct Driver {
    std::string library;         // "" = /etc/ascend_install.info, then the loader's path
    std::string toolkit;         // where CANN is; "" = ASCEND_HOME_PATH, then where it usually is
    uint64_t timeout_ms = 5000;  // after which a call counts as stuck
    uint64_t sweep_ms = 450;     // how often the pump drains every channel
    bool pump_per_device = false;
  } driver;

  // Ways into programs that profd's agent is not in.
  struct Doors {
    std::string dynolog = "auto";  // the fabric that kineto and msMonitor poll: auto off force
  } doors;

  struct Limits {
    // What each user but root may take of profd at a time.
    uint64_t connections_per_user = 64;  // of clients; agents count apart
    uint64_t requests_per_s = 50;
    uint64_t watches_per_user = 16;
    uint64_t sessions_per_user = 16;
    // What profd itself may take; 0 = as much as it needs.
    uint64_t cpu_percent = 0;  // of one core
    uint64_t rss_mb = 0;
  } limits;

  // Groups by name or number; "" = none.
  struct Auth {
    std::string group = "profd";  // may collect device-wide and whole-host kinds
    std::string admin_group = "profd-admin";
    std::string breakpoints = "admins";  // who may have them set: admins group everybody
  } auth;

  // Callers from other machines. Names are those of their certificates, separated by commas.
  struct Remote {
    std::string listen;  // host:port; "" = off
    std::string cert;    // PEM files, read again when they change
    std::string key;
    std::string client_ca;  // who signs the certificates of callers
    std::string revoked;    // folder of their revocation lists, by hash (openssl rehash); "" = none
    std::string viewers;    // see everything
    std::string operators;  // collect and stop everything
    std::string admins;     // everything
    std::string users;      // name=account: what that account may
    // Listen without certificates, on loopback only: what whoever connects may: viewer, operator, admin.
    std::string plain = "off";
    std::string relay;  // patterns of the nodes that this one asks for callers: "n*:9478"; "" = none
  } remote;

  // Where this node says that it is there, for profctl --hosts etcd:…
  struct Registry {
    std::string etcd;  // "host:2379,…"; "" = nowhere
    std::string prefix = "/profd/nodes/";
    std::string host;  // host:port for others; "" = this host's name and the port of remote.listen
    std::vector<std::string> labels;  // name=value
    uint64_t ttl_s = 30;
  } registry;

  // Values that are always there: profctl watch, profctl top, metrics.
  struct Live {
    uint64_t hz = 1;               // 0 = none
    uint64_t max_hz = 10;          // of those who ask for more than `hz`
    std::vector<std::string> off;  // kinds without values
    std::vector<std::string>
        channels;  // kinds whose channels are held for values, until a session wants them
    uint64_t history_s =
        30;  // what was read in so many seconds is kept for those who come later; 0 = nothing
    uint64_t history_mb = 4;  // … and no more than this
    bool jobs = false;        // accounts of jobs are kept
  } live;

  // What is kept of every program with an agent: daemon/summary.
  struct Summary {
    std::string folder;  // "" = nothing is kept
    uint64_t file_s = 300;
    uint64_t keep_mb = 1024;
    std::string acked = "/var/lib/profd-ship/acked";
  } summary;

  struct Metrics {
    std::string listen;  // "127.0.0.1:9477": Prometheus scrapes here; "" = nowhere
    std::string otlp;    // "host:port": OTLP metrics go there by gRPC; "" = nowhere
    uint64_t otlp_every_s = 10;
    bool processes = false;  // values of single processes and sessions, too
    uint64_t max_series = 10'000;
  } metrics;

  struct Log {
    std::string level = "info";  // trace debug info warn error
    std::string file;            // "" = stderr
    std::string audit;           // "" = with the log, "off", else a file of its own
  } log;
};

// Reads YAML over the defaults. Unknown keys and wrong types are errors: "profd.yaml:12: store.slice_bites:
// unknown key; did you mean slice_bytes?".
base::Result<Config> LoadConfig(const std::string& path);
// The YAML of a Config with every key, for --check-config and the test.
std::string DumpConfig(const Config& config);

}  // namespace profd::config
