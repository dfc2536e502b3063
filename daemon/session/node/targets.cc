#include "daemon/session/node/targets.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "daemon/auth/tickets.h"
#include "daemon/host/process/process.h"
#include "daemon/host/process/process_image.h"
#include "daemon/session/plan/kinds.h"
#include "daemon/session/plan/selection.h"

namespace profd::session {

using auth::Action;
using auth::May;
using base::Result;
using base::Status;
using Outcome = Check::Outcome;

namespace {

constexpr char kLibrary[] = "libprofd_agent.so";
constexpr char kHowToAttach[] =
    "start it with `profctl run -- COMMAND` or LD_PRELOAD=…/libprofd_agent.so, or `import profd` in Python";

// Where an agent looks for profd: PROFD_ADDRESS, else the default.
std::string SocketOf(pid_t pid) {
  std::string address = host::StartedWith(pid, "PROFD_ADDRESS").value_or("");
  if (address.empty()) return "/run/profd/profd.sock";
  constexpr std::string_view kScheme = "unix:";
  return address.starts_with(kScheme) ? address.substr(kScheme.size()) : address;
}

std::string WhyNoAgent(pid_t pid) {
  const Result<std::string> loaded = host::FindLoaded(pid, kLibrary);
  if (loaded.ok() && !loaded->empty()) {
    return "has the agent but is not registered: `profctl doctor --pid " + std::to_string(pid) +
           "` tells why";
  }
  return std::string("no agent: ") + kHowToAttach;
}

// What the kernel says of it.
void AddFacts(const host::ProcessFacts& facts, Target* target) {
  host::ProcessImage image = host::ReadProcessImage(target->pid);
  target->container_pid = image.inner_pid;
  target->parent_pid = facts.parent;
  if (!image.executable.empty()) target->executable = std::move(image.executable);
  if (!image.command_line.empty()) target->command_line = std::move(image.command_line);
  if (!facts.open_devices.empty()) target->devices = facts.open_devices;
}

// A way in for who has no agent.
void AddDoor(const fabric::Client& client, Target* target) {
  const bool monitors = client.family == fabric::Family::kMonitor;
  target->door = std::string("dynolog: ") + FamilyName(client.family);
  target->labels.merge(LabelsOf(client));
  if (target->last_seen_wall_ns == 0) {
    target->registered_wall_ns = client.first_wall_ns;
    target->last_seen_wall_ns = client.last_wall_ns;
  }
  if (!target->agent_version.empty()) return;
  target->recording_by = client.order_of;
  target->reason = "no agent, but its own profiler asks what to record: profctl start --pid " +
                   std::to_string(target->pid) +
                   (monitors ? " --steps active=N" : " --duration T, or --steps active=N");
  if (client.busy) target->reason += "; it is busy now";
}

class Chain {
 public:
  void Ok(std::string name, std::string detail) { Add(std::move(name), Outcome::kOk, std::move(detail), ""); }
  void Warn(std::string name, std::string detail, std::string remedy) {
    Add(std::move(name), Outcome::kWarn, std::move(detail), std::move(remedy));
  }
  void Broken(std::string name, std::string detail, std::string remedy) {
    Add(std::move(name), Outcome::kBroken, std::move(detail), std::move(remedy));
  }
  std::vector<Check> checks;

 private:
  void Add(std::string name, Outcome outcome, std::string detail, std::string remedy) {
    checks.push_back({std::move(name), outcome, std::move(detail), std::move(remedy)});
  }
};

void CheckContainer(pid_t pid, Chain* chain) {
  const Result<bool> is_other = host::InOtherPidNamespace(pid);
  if (!is_other.ok())
    return chain->Warn("container", is_other.status().message(), "run profd as root to look");
  if (!*is_other) return chain->Ok("container", "none: the same pid namespace as profd");
  chain->Ok("container", "yes, pid " + std::to_string(host::ReadProcessImage(pid).inner_pid) + " inside");
}

// Without an agent a socket out of sight is no broken link yet.
void CheckSocket(pid_t pid, const std::string& socket, bool has_agent, Chain* chain) {
  const std::string looks_for = base::OneLine(SocketOf(pid));
  const Result<bool> same = host::SeesSameFile(pid, looks_for, socket);
  if (!same.ok()) return chain->Warn("its socket", same.status().message(), "run profd as root to look");
  if (*same) return chain->Ok("its socket", looks_for + " leads to this profd");
  const std::string detail =
      "an agent in it looks for profd at " + looks_for + ", which is not this profd (" + socket + ")";
  const std::string remedy =
      "start it with PROFD_ADDRESS=" + socket + "; in a container mount the socket's folder too";
  if (has_agent) return chain->Broken("its socket", detail, remedy);
  chain->Warn("its socket", detail, remedy);
}

void CheckRegistered(const Target& target, Chain* chain) {
  if (!target.attachable && target.recording_by.empty()) {
    return chain->Broken("registered", target.reason, "start the process again with this release's agent");
  }
  chain->Ok("registered",
            "agent " + target.agent_version + (target.forked ? ", forked from a process that had one" : ""));
  std::string works;
  std::map<std::string, std::string> limited;  // kinds by reason
  for (const agent::Capability& capability : target.capabilities) {
    if (capability.available) works += (works.empty() ? "" : " ") + capability.kind;
    if (capability.reason.empty() && capability.available) continue;
    std::string& kinds = limited[capability.reason.empty() ? "not available" : capability.reason];
    kinds += (kinds.empty() ? "" : " ") + capability.kind;
  }
  if (works.empty()) works = "none";
  // Only who subscribes is told.
  if (works.find("agent-kernel") != works.npos) {
    works += target.without_mspti
                 ? "; MSPTI does not support this node's chips: its kinds come from what CANN reports"
                 : "; whether another tool in the process holds MSPTI shows when a recording begins";
  }
  std::string limits;
  for (const auto& [reason, kinds] : limited) limits += (limits.empty() ? "" : "; ") + kinds + ": " + reason;
  if (limits.empty()) {
    chain->Ok("record kinds", works);
  } else {
    chain->Warn("record kinds", works + " (" + limits + ")", "what is not there is skipped");
  }
  if (target.recording_by.empty()) return chain->Ok("recorded by", "nobody: free to record");
  chain->Warn("recorded by", target.recording_by, "one recording at a time: stop that one first");
}

}  // namespace

Target TargetOf(const agent::Peer& peer, const std::vector<driver::DeviceFacts>& devices) {
  const agent::Hello& hello = peer.hello();
  Target target;
  target.pid = peer.identity().pid;
  target.container_pid = static_cast<pid_t>(hello.pid);
  target.forked = hello.forked;
  target.uid = peer.identity().uid;
  target.user = peer.identity().user;
  target.executable = hello.executable;
  target.command_line = hello.command_line;
  target.labels = hello.labels;
  target.devices = hello.devices;
  target.agent_version = hello.agent_version;
  target.registered_wall_ns = peer.registered_wall_ns();
  target.last_seen_wall_ns = peer.last_seen_wall_ns();
  target.recording_by = peer.holder();
  target.without_mspti = IsWithoutMspti(devices);
  target.capabilities = CapabilitiesOf(hello.capabilities, target.without_mspti);
  if (const Status usable = peer.Usable(); !usable.ok()) {
    target.reason = usable.message();
  } else if (!target.recording_by.empty()) {
    target.reason = "one recording at a time: stop that one first";
  } else {
    target.attachable = true;
  }
  return target;
}

std::vector<Target> FindTargets(const auth::Caller& caller, std::vector<Target> registered,
                                const std::vector<fabric::Client>& clients) {
  std::map<pid_t, Target> targets;
  std::map<pid_t, host::ProcessFacts> all;
  for (host::ProcessFacts& facts : host::ReadProcessFacts(host::ListProcesses()))
    all[facts.pid] = std::move(facts);
  for (Target& target : registered) {
    if (!May(caller, Action::kSeeProcess, {.owner = target.uid}).ok()) continue;
    const host::ProcessFacts& facts = all[target.pid];
    if (!facts.exists) continue;  // a child that inherited the connection may outlive it
    if (!May(caller, Action::kSeeProcess, {.owner = facts.uid}).ok())
      continue;  // it may have become somebody else
    AddFacts(facts, &target);
    targets.insert_or_assign(target.pid, std::move(target));  // the newest comes last
  }
  for (const auto& [pid, facts] : all) {
    if (targets.contains(pid) || !facts.exists || facts.open_devices.empty()) continue;
    if (!May(caller, Action::kSeeProcess, {.owner = facts.uid}).ok()) continue;
    Target target;
    target.pid = pid;
    target.uid = facts.uid;
    target.user = auth::UserName(facts.uid);
    AddFacts(facts, &target);
    target.reason = WhyNoAgent(pid);
    targets.emplace(pid, std::move(target));
  }
  for (const fabric::Client& client : clients) {
    const host::ProcessFacts& facts = all[client.sender.pid];
    if (!facts.exists || !May(caller, Action::kSeeProcess, {.owner = client.sender.uid}).ok()) continue;
    if (!May(caller, Action::kSeeProcess, {.owner = facts.uid}).ok()) continue;
    const auto [target, is_new] = targets.try_emplace(client.sender.pid);
    if (is_new) {
      target->second.pid = client.sender.pid;
      target->second.uid = facts.uid;
      target->second.user = auth::UserName(facts.uid);
      AddFacts(facts, &target->second);
    }
    AddDoor(client, &target->second);
  }
  std::vector<Target> sorted;
  sorted.reserve(targets.size());
  for (auto& [pid, target] : targets) sorted.push_back(std::move(target));
  return sorted;
}

std::vector<Check> CheckProcess(const auth::Caller& caller, pid_t pid, const std::string& socket,
                                const std::optional<Target>& registered) {
  Chain chain;
  const std::string name = "pid " + std::to_string(pid);
  const host::ProcessFacts facts = host::ReadProcessFacts(pid);
  if (!facts.exists) {
    chain.Broken(name, "no such process", "is it in this pid namespace?");
    return chain.checks;
  }
  if (facts.is_thread) {
    chain.Broken(name, "is a thread", "name its process");
    return chain.checks;
  }
  if (!facts.answers) {
    chain.Broken(name, "does not answer: what the kernel has to say of it has not come in time",
                 "is it executing a program from a file system that does not answer?");
    return chain.checks;
  }
  for (const uid_t uid : {facts.uid, registered ? registered->uid : facts.uid}) {
    if (const Status may = May(caller, Action::kCollectProcess, {.owner = uid}); !may.ok()) {
      chain.Broken(name, may.message(), "run profctl as the owner of the process");
      return chain.checks;
    }
  }
  chain.Ok(name, facts.comm + " of user " + auth::UserName(facts.uid));
  CheckContainer(pid, &chain);
  if (registered) {
    CheckRegistered(*registered, &chain);
    return chain.checks;
  }
  const Result<std::string> loaded = host::FindLoaded(pid, kLibrary);
  const bool has_agent = loaded.ok() && !loaded->empty();
  CheckSocket(pid, socket, has_agent, &chain);
  if (!loaded.ok()) {
    chain.Warn("agent", loaded.status().message(), "run profd as root to look");
  } else if (!has_agent) {
    chain.Warn("agent", "not loaded: ranges, marks, counters and steps can't be recorded", kHowToAttach);
  } else {
    chain.Ok("agent", *loaded);
    if (chain.checks[chain.checks.size() - 2].outcome != Outcome::kBroken) {
      chain.Broken(
          "registered", "no",
          "a linked or imported agent registers at its first call, a preloaded one after a second; then see "
          "whether profd turned it away (agent.max_agents, agent.max_agents_per_user)");
    }
  }
  return chain.checks;
}

}  // namespace profd::session
