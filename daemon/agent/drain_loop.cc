#include "daemon/agent/drain_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "base/threads/thread.h"

namespace profd::agent {

namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;
constexpr uint64_t kRetryNs = 2 * kMillisecondNs;  // while chunks or the queue are short
// However often processes ring, the next round begins this much later.
constexpr uint64_t kPaceNs = 200'000;
// What a user's recordings may have of a round: small enough that others' lanes do not fill up meanwhile.
constexpr uint64_t kShareBytes = 256 << 10;
// What a user has wanted counts half after so long …
constexpr double kHalfLifeNs = 500e6;
// … and who has to stand back is looked at again so much later, and visited so often all the same.
constexpr uint64_t kStandBackNs = 10 * kMillisecondNs;
constexpr uint64_t kLeastOftenNs = 250 * kMillisecondNs;
constexpr uint64_t kControl = 0;  // no recording has this number

}  // namespace

DrainMailbox::DrainMailbox() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { PROFD_CHECK(bell_); }

void DrainMailbox::Send(Command command) {
  commands_.Send(std::move(command));
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
}

void DrainMailbox::Hush() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(bell_.get(), &count, sizeof count);
}

DrainLoop::DrainLoop(DrainMailbox& mailbox, uint64_t sweep_ns)
    : mailbox_(mailbox), sweep_ns_(sweep_ns), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  PROFD_CHECK(epoll_);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kControl}};
  PROFD_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, mailbox_.fd(), &event) == 0);
}

void DrainLoop::Run() {
  // A lane is full a few milliseconds after it rang: as long as another thread's slice.
  base::PreferShortSlices(kPaceNs);
  while (!quit_) {
    Sleep();
    Obey();
    VisitDue();
    PushEnds();
  }
}

void DrainLoop::Add(uint64_t id, std::shared_ptr<Recording> recording, Events events) {
  // Edge-triggered and never read: the process has the eventfd too and could make a read block. Without it
  // (no memory) there is still the beat.
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = id}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, recording->region().wake_fd(), &event);
  users_[recording->user()].entries.insert(id);
  entries_[id] = {.recording = std::move(recording),
                  .visited_ns = base::MonotonicNs(),
                  .due_ns = 0,
                  .events = std::move(events)};
  ranked_.reserve(users_.size());
}

Recording* DrainLoop::Find(uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  found->second.due_ns = 0;
  return found->second.recording.get();
}

void DrainLoop::EndTrace(uint32_t trace, chunk::Pipe& pipe) { ends_.push_back({trace, &pipe}); }

void DrainLoop::Sleep() {
  if (const uint64_t since = base::MonotonicNs() - round_ns_;
      std::exchange(rung_, false) && !unfinished_ && since < kPaceNs) {
    const timespec rest{0, static_cast<long>(kPaceNs - since)};
    ::nanosleep(&rest, nullptr);
  }
  uint64_t due_ns = ends_due_ns_;
  for (const auto& [id, entry] : entries_) due_ns = std::min(due_ns, entry.due_ns);
  int timeout_ms = -1;
  if (due_ns != UINT64_MAX) {
    const uint64_t now = base::MonotonicNs();
    const uint64_t left = due_ns > now ? (due_ns - now + kMillisecondNs - 1) / kMillisecondNs : 0;
    timeout_ms = static_cast<int>(std::min<uint64_t>(left, 60'000));
  }
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, std::size(events), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const uint64_t id = events[i].data.u64;  // a copy: an epoll_event is packed, and this not aligned
    if (id == kControl) {
      called_ = true;
    } else if (const auto found = entries_.find(id); found != entries_.end()) {
      found->second.due_ns = 0;
      rung_ = true;
    }
  }
  round_ns_ = base::MonotonicNs();
}

void DrainLoop::Obey() {
  if (!std::exchange(called_, false)) return;
  mailbox_.Hush();
  while (const auto command = mailbox_.Take()) (*command)(*this);
}

void DrainLoop::VisitDue() {
  unfinished_ = false;
  if (users_.empty()) return;
  Rank();
  for (size_t rank = 0; rank < ranked_.size(); ++rank) VisitDueOf(*ranked_[rank], rank);
  for (const uint64_t id : stopped_) Drop(id);
  stopped_.clear();
}

void DrainLoop::Rank() {
  const double fades = std::exp2(-static_cast<double>(round_ns_ - ranked_ns_) / kHalfLifeNs);
  ranked_ns_ = round_ns_;
  ranked_.clear();
  for (auto& [uid, user] : users_) {
    user.made *= fades;
    ranked_.push_back(&user);
  }
  std::ranges::sort(ranked_, {}, &User::wants);
}

// Who wants less than others may have more of the chunks: the least all, the most a quarter of them.
bool DrainLoop::MayTake(const User& user, size_t rank, const Recording& recording) const {
  chunk::Pipe* pipe = recording.pipe();
  if (rank == 0 || pipe == nullptr || recording.is_asked()) return true;
  if (round_ns_ - user.visited_ns > kLeastOftenNs) return true;
  return pipe->Free() > pipe->chunks() * 3 * rank / (4 * (ranked_.size() - 1));
}

void DrainLoop::VisitDueOf(User& user, size_t rank) {
  uint64_t share = kShareBytes;
  auto at = user.entries.upper_bound(user.served);
  for (size_t i = 0; i < user.entries.size(); ++i, ++at) {
    if (at == user.entries.end()) at = user.entries.begin();
    Entry& entry = entries_.at(*at);
    if (entry.due_ns > round_ns_) continue;
    if (share == 0) {
      unfinished_ = true;
      return;
    }
    if (!MayTake(user, rank, *entry.recording)) {
      entry.due_ns = round_ns_ + kStandBackNs;
      continue;
    }
    const Recording::Visited visited = entry.recording->Visit(base::RawNs(), share);
    share -= std::min(share, visited.bytes);
    user.served = *at;
    user.visited_ns = round_ns_;
    user.made += static_cast<double>(visited.new_bytes);
    user.waiting += visited.waiting_bytes - std::exchange(entry.waiting, visited.waiting_bytes);
    if (visited.cut_off && entry.events.cut_off) std::exchange(entry.events.cut_off, nullptr)();
    if (visited.stopped) stopped_.push_back(*at);
    entry.due_ns = NextDue(entry, visited);
    entry.visited_ns = round_ns_;
    unfinished_ |= visited.unfinished;
  }
}

void DrainLoop::Drop(uint64_t id) {
  const auto found = entries_.find(id);
  Entry& entry = found->second;
  // Closing would not do: the process has the eventfd too.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.recording->region().wake_fd(), nullptr);
  const auto user = users_.find(entry.recording->user());
  user->second.entries.erase(id);
  user->second.waiting -= entry.waiting;
  if (user->second.entries.empty()) users_.erase(user);
  entry.events.dropped(std::move(entry.recording));
  entries_.erase(found);
}

uint64_t DrainLoop::NextDue(const Entry& entry, const Recording::Visited& visited) const {
  if (visited.unfinished) return 0;
  if (visited.blocked) return round_ns_ + kRetryNs;
  if (!visited.has_work) return UINT64_MAX;
  // Everybody's next beat, so that many recordings cost one wake-up.
  uint64_t due_ns = (round_ns_ / sweep_ns_ + 1) * sweep_ns_;
  // A lane past a quarter: as soon as it is expected there again.
  if (const uint64_t quarter = entry.recording->region().geometry().lane_slots / 4;
      visited.fullest_slots > quarter) {
    const auto filled_in_ns = static_cast<double>(round_ns_ - entry.visited_ns);
    const double share = static_cast<double>(quarter) / static_cast<double>(visited.fullest_slots);
    due_ns =
        std::min(due_ns, round_ns_ + std::max(kMillisecondNs, static_cast<uint64_t>(filled_in_ns * share)));
  }
  return due_ns;
}

void DrainLoop::PushEnds() {
  ends_due_ns_ = UINT64_MAX;
  std::erase_if(ends_, [this](const End& end) {
    const auto feeds = [&end](const auto& entry) { return entry.second.recording->Feeds(end.trace); };
    if (std::ranges::any_of(entries_, feeds)) return false;
    chunk::Item item;
    item.what = chunk::Item::What::kEnd;
    item.key.trace = end.trace;
    if (!end.pipe->Push(std::move(item))) {
      ends_due_ns_ = round_ns_ + kRetryNs;
      return false;
    }
    end.pipe->Kick();
    return true;
  });
}

}  // namespace profd::agent
