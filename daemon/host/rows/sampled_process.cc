#include "daemon/host/rows/sampled_process.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <utility>

#include "daemon/host/process/process.h"

namespace profd::host {

namespace {

constexpr size_t kStatBytes = 2048;  // 52 numbers and a name

// Skips blanks and reads one number; false at the end or at anything else.
template <typename T>
bool NextNumber(std::string_view& text, T* value) {
  const size_t from = text.find_first_not_of(" \t\n");
  if (from == std::string_view::npos) return false;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data() + from, end, *value);
  if (error != std::errc()) return false;
  text = {next, static_cast<size_t>(end - next)};
  return true;
}

// The number after "\nkey: ".
bool IoNumber(std::string_view text, std::string_view key, int64_t* value) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + key.size());
  return NextNumber(text, value);
}

}  // namespace

Process::Process(pid_t pid, const std::weak_ptr<Process>& parent, bool newborn, uint64_t tick_number,
                 FdBudget& budget, ForeignFiles& files)
    : pid_(pid),
      parent_(parent),
      parent_pid_(parent.expired() ? 0 : parent.lock()->pid()),
      first_tick_(tick_number),
      user_(ChargedTo(pid)),
      budget_(budget),
      files_(files),
      leader_(pid, StatOf(pid), budget),
      stat_(StatOf(0)),
      statm_file_(budget),
      io_file_(files, ForeignFile::Name::kIo, pid, 0, user_),
      newborn_(newborn) {}

void Process::MarkGone() {
  if (!alive_) return;
  alive_ = false;
  if (const std::shared_ptr<Process> parent = parent_.lock()) parent->inherited_ += io_seen_;
}

ssize_t Process::ReadLine(ForeignFile& file, char* buffer, size_t size) {
  const ssize_t got = file.Read(buffer, size);
  if (got < 0 && errno == EAGAIN) {
    late_at_ = refreshed_at_;
    if (comm_.empty()) comm_ = CommandName(pid_);
    errno = EAGAIN;
  }
  return got;
}

void Process::Refresh(const Tick& tick) {
  if (!alive_ || refreshed_at_ == tick.number) return;
  refreshed_at_ = tick.number;
  leader_line_.clear();
  char line[kStatBytes];
  const ssize_t got = ReadLine(leader_.stat, line, sizeof line);
  if (got < 0) {
    if (MeansGone(errno) || (HangsSince() && StateOf(pid_) == 0)) MarkGone();
    return;
  }
  StatFields fields;
  if (!CleanStatLine(line, static_cast<size_t>(got), &fields)) return;
  if (start_ticks_ == 0) start_ticks_ = fields.start_ticks;
  if (start_ticks_ != fields.start_ticks) return MarkGone();  // another process by now
  exited_ = fields.Exited();
  kernel_thread_ = fields.kernel_thread;
  thread_count_ = fields.threads;
  comm_ = fields.comm;
  leader_line_.assign(line, static_cast<size_t>(got));
}

size_t Process::ListThreads() {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid_);
  std::vector<pid_t> found;
  if (DIR* dir = ::opendir(path)) {
    while (const dirent* entry = ::readdir(dir)) {
      std::string_view name = entry->d_name;
      pid_t tid = 0;
      if (NextNumber(name, &tid) && tid != pid_) found.push_back(tid);
    }
    ::closedir(dir);
  }
  std::ranges::sort(found);
  std::erase_if(threads_,
                [&](const Thread& thread) { return !std::ranges::binary_search(found, thread.tid); });
  std::vector<pid_t> known;
  for (const Thread& thread : threads_) known.push_back(thread.tid);
  std::ranges::sort(known);
  std::vector<pid_t> fresh;
  std::ranges::set_difference(found, known, std::back_inserter(fresh));
  const size_t first_new = threads_.size();
  for (const pid_t tid : fresh) threads_.emplace_back(tid, StatOf(tid), budget_);
  return first_new;
}

void Process::AppendThreadLines(size_t from) {
  for (size_t i = from; i < threads_.size(); ++i) threads_[i].stat.Want();
  files_.Ask();
  size_t kept = from;
  for (size_t i = from; i < threads_.size(); ++i) {
    char line[kStatBytes];
    const ssize_t got = ReadLine(threads_[i].stat, line, sizeof line);
    if (got < 0 && MeansGone(errno)) continue;
    StatFields fields;
    if (got > 0 && CleanStatLine(line, static_cast<size_t>(got), &fields)) {
      thread_lines_.append(line, static_cast<size_t>(got));
    }
    if (kept != i) threads_[kept] = std::move(threads_[i]);
    ++kept;
  }
  threads_.erase(threads_.begin() + static_cast<ptrdiff_t>(kept), threads_.end());
}

void Process::WantThreadLines() {
  for (Thread& thread : threads_) thread.stat.Want();
}

std::string_view Process::ThreadLines(const Tick& tick) {
  if (thread_lines_at_ == tick.number) return thread_lines_;
  thread_lines_at_ = tick.number;
  thread_lines_ = leader_line_;
  AppendThreadLines(0);
  if (thread_count_ != threads_.size() + 1) AppendThreadLines(ListThreads());
  return thread_lines_;
}

std::string_view Process::StatLine(const Tick& tick) {
  if (stat_line_at_ == tick.number) return stat_line_;
  stat_line_at_ = tick.number;
  stat_line_.clear();
  char line[kStatBytes];
  const ssize_t got = ReadLine(stat_, line, sizeof line);
  StatFields fields;
  if (got > 0 && CleanStatLine(line, static_cast<size_t>(got), &fields)) {
    stat_line_.assign(line, static_cast<size_t>(got));
  }
  return stat_line_;
}

const StatmPages* Process::Statm(const Tick& tick) {
  if (statm_at_ != tick.number) {
    statm_at_ = tick.number;
    char line[256];
    const ssize_t got = statm_file_.Read({.name = "statm", .pid = pid_}, line, sizeof line);
    std::string_view text(line, got > 0 ? static_cast<size_t>(got) : 0);
    statm_ok_ = std::ranges::all_of(statm_, [&](uint64_t& pages) { return NextNumber(text, &pages); });
  }
  return statm_ok_ ? &statm_ : nullptr;
}

bool Process::ReadIo(const Tick& tick) {
  if (io_at_ == tick.number) return io_ok_;
  io_at_ = tick.number;
  io_ok_ = false;
  char buffer[512];
  const ssize_t got = ReadLine(io_file_, buffer, sizeof buffer);
  if (got < 0) {
    if (MeansGone(errno)) MarkGone();
    return false;
  }
  const std::string_view text(buffer, static_cast<size_t>(got));
  IoBytes now;
  int64_t cancelled = 0;
  if (!IoNumber(text, "\nread_bytes:", &now.read) || !IoNumber(text, "\nwrite_bytes:", &now.written) ||
      !IoNumber(text, "\ncancelled_write_bytes:", &cancelled)) {
    return false;
  }
  now.written -= cancelled;
  if (!io_started_ && !newborn_) io_seen_ = now;
  io_started_ = true;
  IoBytes delta = now - io_seen_;
  // A parent that does not wait for its children inherits nothing.
  if (delta.read >= inherited_.read && delta.written >= inherited_.written) delta = delta - inherited_;
  inherited_ = {};
  io_ += delta;
  io_seen_ = now;
  io_ok_ = true;
  return true;
}

void Process::AppendChildrenOf(Thread& thread, std::vector<pid_t>& children, std::vector<char>& buffer) {
  std::string_view text =
      thread.children.ReadAll({.name = "children", .pid = pid_, .tid = thread.tid}, buffer);
  for (pid_t child = 0; NextNumber(text, &child);) children.push_back(child);
}

void Process::AppendChildren(std::vector<pid_t>& children, std::vector<char>& buffer) {
  // The number of threads would not do: one may have taken the place of another, whose open file reads as
  // empty.
  ListThreads();
  AppendChildrenOf(leader_, children, buffer);
  for (Thread& thread : threads_) AppendChildrenOf(thread, children, buffer);
}

}  // namespace profd::host
