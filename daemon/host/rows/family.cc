#include "daemon/host/rows/family.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace profd::host {

std::shared_ptr<Process> ProcessTable::Make(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                                            const Tick& tick) {
  auto process = std::make_shared<Process>(pid, parent, newborn, tick.number, budget_, files_);
  if (processes_.size() >= prune_at_) {
    std::erase_if(processes_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = 2 * processes_.size() + kMinPruneAt;
  }
  processes_[pid] = process;
  return process;
}

std::shared_ptr<Process> ProcessTable::Find(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                                            const Tick& tick) {
  if (const auto known = processes_.find(pid); known != processes_.end()) {
    if (std::shared_ptr<Process> process = known->second.lock(); process != nullptr && process->alive())
      return process;
  }
  return Make(pid, parent, newborn, tick);
}

std::shared_ptr<Process> ProcessTable::Get(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                                           const Tick& tick) {
  std::shared_ptr<Process> process = Find(pid, parent, newborn, tick);
  const bool was_known = process->first_tick() != tick.number;
  process->Refresh(tick);
  if (!process->alive() && was_known) {  // another one may have its number
    process = Make(pid, parent, newborn, tick);
    process->Refresh(tick);
  }
  return process->alive() ? process : nullptr;
}

Family::Family(const std::vector<pid_t>& targets, ProcessTable& table, HostFiles& files, const Tick& tick)
    : table_(table), files_(files), whole_host_(targets.empty()), buffer_(4096) {
  for (const pid_t pid : targets) Add(pid, nullptr, false, tick);
  PidsGivenOut(tick);
  if (whole_host_) {
    TakeInAll(false, tick);
  } else {
    TakeInChildren(false, tick);
  }
  CountRunning();
}

void Family::CountRunning() {
  running_ = static_cast<size_t>(std::ranges::count_if(members_, [](const auto& p) { return p->running(); }));
}

std::shared_ptr<Process> Family::Add(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                                     const Tick& tick) {
  if (pids_.contains(pid)) return nullptr;
  std::shared_ptr<Process> process = table_.Get(pid, parent, newborn, tick);
  if (process == nullptr) return nullptr;
  pids_.insert(pid);
  members_.push_back(process);
  return process;
}

bool Family::PidsGivenOut(const Tick& tick) {
  // "0.00 0.01 0.05 1/123 4567": the last pid that was given out.
  const std::string_view text = files_.loadavg.Text(tick);
  const size_t at = text.find_last_of(' ');
  uint64_t last_pid = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + 1, text.data() + text.size(), last_pid);
  // A fork gets its pid a moment before the child can be seen, and the children of a thread that ends move to
  // another, perhaps one that has been read: look on the tick after, too.
  if (last_pid == 0 || last_pid != last_pid_) searches_left_ = 2;
  last_pid_ = last_pid;
  return searches_left_ > 0;
}

void Family::WantUpdate() {
  for (const auto& process : members_) process->WantRefresh();
}

void Family::Update(const Tick& tick) {
  const bool search = PidsGivenOut(tick);  // before the processes are read, lest a fork goes unseen
  WantUpdate();
  table_.files().Ask();
  for (const auto& process : members_) process->Refresh(tick);
  std::erase_if(members_, [this](const std::shared_ptr<Process>& process) {
    // What a new one is may have come later.
    const bool ignored = whole_host_ && process->kernel_thread();
    if (process->alive() && !ignored) return false;
    pids_.erase(process->pid());
    if (ignored) ignored_.insert(process->pid());
    return true;
  });
  if (search) {
    --searches_left_;
    if (whole_host_) {
      TakeInAll(true, tick);
    } else {
      TakeInChildren(true, tick);
    }
  }
  CountRunning();
}

void Family::TakeInChildren(bool newborn, const Tick& tick) {
  for (size_t i = 0; i < members_.size(); ++i) {
    const std::shared_ptr<Process> parent = members_[i];
    found_.clear();
    parent->AppendChildren(found_, buffer_);
    for (const pid_t pid : found_) Add(pid, parent, newborn, tick);
  }
}

void Family::TakeInAll(bool newborn, const Tick& tick) {
  found_.clear();
  if (DIR* dir = ::opendir("/proc")) {
    while (const dirent* entry = ::readdir(dir)) {
      const std::string_view name = entry->d_name;
      pid_t pid = 0;
      if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc())
        found_.push_back(pid);
    }
    ::closedir(dir);
  }
  std::vector<std::shared_ptr<Process>> asked;
  for (const pid_t pid : found_) {
    if (pids_.contains(pid) || ignored_.contains(pid)) continue;
    asked.push_back(table_.Find(pid, nullptr, newborn, tick));
    asked.back()->WantRefresh();
  }
  table_.files().Ask();
  std::unordered_set<pid_t> still_ignored;
  for (const pid_t pid : found_) {
    if (ignored_.contains(pid)) {
      still_ignored.insert(pid);
      continue;
    }
    const std::shared_ptr<Process> added = Add(pid, nullptr, newborn, tick);
    if (added == nullptr || !added->kernel_thread()) continue;
    pids_.erase(pid);
    members_.pop_back();
    still_ignored.insert(pid);
  }
  ignored_ = std::move(still_ignored);
}

}  // namespace profd::host
