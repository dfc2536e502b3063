#include "daemon/summary/keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/base/log.h"

namespace profd::summary {

namespace {

constexpr auto kSealEvery = std::chrono::seconds(1);   // while something is written
constexpr auto kLookEvery = std::chrono::seconds(10);  // for what is shipped, or too much
constexpr auto kPatience = std::chrono::seconds(3);
constexpr size_t kMostLossesOfUser = 64;  // that wait; beyond it nobody is told of which job they are
constexpr char kNobodys[] = ",,,";
constexpr char kLossColumns[] =
    "\"user\",\"job\",\"attempt\",\"rank\",\"seq\",\"t\",\"ver\",\"table\",\"rows\",\"from\",\"to\",\"why\"";

// Behind the first column, which is in quotes.
size_t EndOfUser(const std::string& whose) {
  for (size_t at = 1; at < whose.size(); ++at) {
    if (whose[at] == '"' && whose[++at] != '"') return at;
  }
  return 0;
}

std::string Time(uint64_t wall_ns) { return wall_ns == 0 ? "" : std::to_string(wall_ns); }

}  // namespace

std::shared_ptr<Keeper> Keeper::Start(RowsFolder folder) {
  std::shared_ptr<Keeper> keeper(new Keeper(std::move(folder)));
  base::StartThread("summary", [keeper] { keeper->Run(); }).detach();
  return keeper;
}

void Keeper::Stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  if (!changed_.wait_for(lock, kPatience, [this] { return ended_; }))
    base::LogWarn("summary: the disk does not answer; the next start closes the files");
}

void Keeper::Keep(RowsOf rows) {
  const std::lock_guard lock(mutex_);
  waiting_ += rows.text.size();
  waiting_of_[rows.uid] += rows.text.size();
  rows_.push_back(std::move(rows));
  while (waiting_ > kMostWaiting) DropOfMost();
  changed_.notify_all();
}

// The oldest of the user for whom most wait.
void Keeper::DropOfMost() {
  const auto most = std::ranges::max_element(waiting_of_, {}, [](const auto& of) { return of.second; });
  const auto oldest = std::ranges::find(rows_, most->first, &RowsOf::uid);
  Add({oldest->uid, oldest->table, "disk too slow", oldest->user + ",,,", oldest->rows, oldest->first_ns,
       oldest->last_ns},
      new_losses_);
  waiting_ -= oldest->text.size();
  most->second -= oldest->text.size();
  if (most->second == 0) waiting_of_.erase(most);
  rows_.erase(oldest);
}

void Keeper::Count(const Loss& loss) {
  const std::lock_guard lock(mutex_);
  Add(loss, new_losses_);
  changed_.notify_all();
}

void Keeper::Run() {
  std::unique_lock lock(mutex_);
  for (auto next_look = std::chrono::steady_clock::now();;) {
    const bool has_files = folder_.writes();
    const auto is_wanted = [this] { return stopping_ || !rows_.empty() || !new_losses_.all.empty(); };
    if (has_files) {
      changed_.wait_for(lock, kSealEvery, is_wanted);
    } else {
      changed_.wait(lock, is_wanted);
    }
    const bool ends = stopping_;
    const auto rows = std::exchange(rows_, {});
    const auto losses = std::exchange(new_losses_, {});
    waiting_ = 0;
    waiting_of_.clear();
    lock.unlock();
    for (const RowsOf& one : rows) Store(one);
    for (const auto& [key, loss] : losses.all) Add(loss, losses_);
    folder_.SealDue(base::WallNs());
    if (const auto now = std::chrono::steady_clock::now(); ends || now >= next_look) {
      Tidy();
      next_look = now + kLookEvery;
    }
    StoreLosses();
    if (ends) folder_.SealAll();
    lock.lock();
    if (ends) {
      ended_ = true;
      return changed_.notify_all();
    }
  }
}

void Keeper::Add(const Loss& loss, Losses& losses) {
  std::string whose = loss.whose;
  size_t& of_user = losses.of_user[loss.uid];
  if (!losses.all.contains({loss.table, loss.why, whose}) && ++of_user > kMostLossesOfUser)
    whose = whose.substr(0, EndOfUser(whose)) + kNobodys;
  Loss& sum = losses.all[{loss.table, loss.why, whose}];
  sum.uid = loss.uid;
  sum.table = loss.table;
  sum.why = loss.why;
  sum.whose = whose;
  sum.rows += loss.rows;
  if (loss.first_ns != 0)
    sum.first_ns = sum.first_ns == 0 ? loss.first_ns : std::min(sum.first_ns, loss.first_ns);
  sum.last_ns = std::max(sum.last_ns, loss.last_ns);
}

void Keeper::Store(const RowsOf& rows) {
  names_[rows.uid] = rows.user;
  const base::Status status = folder_.Append(rows, base::WallNs());
  if (status.ok()) {
    is_failing_ = false;
    return;
  }
  Add({rows.uid, rows.table, "not written", rows.user + ",,,", rows.rows, rows.first_ns, rows.last_ns},
      losses_);
  if (!std::exchange(is_failing_, true))
    base::LogWarn("summary: " + status.message() + "; rows are lost and counted until it works again");
}

// Those that cannot be stored now wait, by kind, so they take no room.
void Keeper::StoreLosses() {
  for (auto at = losses_.all.begin(); at != losses_.all.end();) {
    const Loss& loss = at->second;
    const uint64_t now_ns = base::WallNs();
    RowsOf row{loss.uid, {}, "loss", kLossColumns, {}, 1, now_ns, now_ns};
    row.text = (loss.whose.empty() ? kNobodys : loss.whose) + "," + std::to_string(loss_number_) + "," +
               std::to_string(now_ns) + ",1," + Quoted(loss.table) + "," + std::to_string(loss.rows) + "," +
               Time(loss.first_ns) + "," + Time(loss.last_ns) + "," + Quoted(loss.why) + "\n";
    if (!folder_.Append(row, now_ns).ok()) return;
    ++loss_number_;
    at = losses_.all.erase(at);
  }
  losses_.of_user.clear();
}

void Keeper::Tidy() {
  for (const RowsFolder::Removed& removed : folder_.Tidy()) {
    const auto name = names_.find(removed.uid);
    Add({removed.uid, removed.table, "folder full", name == names_.end() ? "" : name->second + ",,,",
         removed.rows, removed.first_ns, removed.last_ns},
        losses_);
  }
}

}  // namespace profd::summary
