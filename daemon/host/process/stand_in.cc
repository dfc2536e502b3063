#include "daemon/host/process/stand_in.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/host/process/nursery.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kMostHanging = 2;  // of a user's
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kOnceNs = 4 * kSecondNs;  // for one question, on a busy node, too
constexpr uint64_t kStoodStillNs = kSecondNs / 10;
constexpr uint64_t kRememberedNs = 10 * kSecondNs;  // one that has hung
constexpr uint64_t kToGoNs = 5 * kSecondNs;         // when its work is over

void AnswerQuestions(TextChannel& channel, StandIn::Duty duty) {
  const StandIn::Answer answer = duty();
  while (!channel.gone()) {
    if (const auto request = channel.Next()) {
      channel.Put(answer(*request));
    } else {
      channel.Wait(kSecondNs);
      channel.Flush();
    }
  }
}

// Those that were left behind, and those whose work is over and that have not gone yet: by their channels,
// which the kernel closes when they have. One that has hung and could be killed counts for a while all the
// same: else a user could have profd wait again and again.
struct Hanging {
  struct Left {
    UniqueFd channel;
    uint64_t number, since_ns;
    bool hung;
  };
  std::mutex mutex;
  std::map<uid_t, std::vector<Left>> by_user;

  size_t Count(uid_t user) {
    Prune();
    const auto of = by_user.find(user);
    return of == by_user.end() ? 0 : static_cast<size_t>(std::ranges::count(of->second, true, &Left::hung));
  }
  void Prune() {
    const uint64_t now_ns = base::MonotonicNs();
    for (auto& [user, all] : by_user) {
      std::erase_if(all, [now_ns](Left& left) {
        pollfd peer{left.channel.get(), 0, 0};
        const bool gone = ::poll(&peer, 1, 0) > 0 && (peer.revents & POLLHUP) != 0;
        if (gone && (!left.hung || now_ns - left.since_ns > kRememberedNs)) return true;
        if (!left.hung && now_ns - left.since_ns > kToGoNs) {
          left.hung = true;
          Nursery::The().SendEnd(left.number);
        }
        return false;
      });
    }
    std::erase_if(by_user, [](const auto& of) { return of.second.empty(); });
  }
};
Hanging& TheHanging() {
  static auto* hanging = new Hanging;
  return *hanging;
}

std::atomic<uint64_t> g_cpu_ns{0}, g_last_number{0};

}  // namespace

Status StandIn::Prepare() { return Nursery::The().Prepare(); }

Result<StandIn> StandIn::Start(uid_t user, Work work, Duty duty) {
  PROFD_RETURN_IF_ERROR(Prepare());
  {
    const std::lock_guard lock(TheHanging().mutex);
    if (const size_t count = TheHanging().Count(user); count >= kMostHanging) {
      return Status(Code::kResourceExhausted,
                    "what reads the memory of user " + std::to_string(user) + "'s processes has hung in it " +
                        std::to_string(count) +
                        " times: see to the mounts that their files are on, or end them");
    }
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::FromErrno("make a socket for a process that reads memory");
  UniqueFd own(ends[0]);
  const UniqueFd other(ends[1]);
  const uint64_t number = ++g_last_number;
  PROFD_RETURN_IF_ERROR(Nursery::The().Send({number, work, duty, user}, other.get()));
  return StandIn(user, number, std::move(own));
}

Result<StandIn> StandIn::Start(uid_t user, Work work) { return Start(user, work, nullptr); }

Result<StandIn> StandIn::Start(uid_t user, Duty duty) { return Start(user, &AnswerQuestions, duty); }

std::span<std::atomic<uint64_t>> StandIn::Board() { return Nursery::The().board(); }

Result<std::string> StandIn::AskOnce(uid_t user, Duty duty, std::string_view request) {
  PROFD_ASSIGN_OR_RETURN(StandIn stand_in, Start(user, duty));
  stand_in.Say(request);
  return stand_in.Await();
}

Result<std::string> StandIn::Await() {
  uint64_t end_ns = base::MonotonicNs() + kOnceNs;
  for (bool again = false;;) {
    PROFD_ASSIGN_OR_RETURN(std::optional<std::string> answer, Hear());
    if (answer) return std::move(*answer);
    const uint64_t now_ns = base::MonotonicNs();
    if (now_ns >= end_ns) {
      // Where profd itself comes so late, the whole machine stood still, and the stand-in with it.
      if (now_ns - end_ns < kStoodStillNs || std::exchange(again, true)) return GiveUp();
      end_ns = now_ns + kOnceNs;
    }
    channel_.Wait(end_ns - now_ns);
  }
}

void StandIn::Say(std::string_view text) { channel_.Put(text); }

Result<std::optional<std::string>> StandIn::Hear() {
  channel_.Flush();
  std::optional<std::string> text = channel_.Next();
  if (text) g_cpu_ns += channel_.peer_cpu_ns() - std::exchange(cpu_ns_, channel_.peer_cpu_ns());
  if (!text && channel_.gone()) {
    Nursery::The().SendEnd(number_);  // what it has read may have become its master
    return Status(Code::kInternal, "the process that reads the memory of user " + std::to_string(user_) +
                                       "'s processes was killed: by somebody, or is memory short?");
  }
  return text;
}

Status StandIn::GiveUp() {
  Nursery::The().SendEnd(number_);
  Leave(true);
  return {Code::kDeadlineExceeded,
          "the memory of processes of user " + std::to_string(user_) + " does not answer"};
}

StandIn::~StandIn() {
  if (channel_.fd() >= 0) Leave(false);
}

void StandIn::Leave(bool hung) {
  UniqueFd channel = channel_.Release();
  ::shutdown(channel.get(), SHUT_WR);  // its end
  const std::lock_guard lock(TheHanging().mutex);
  TheHanging().by_user[user_].push_back({std::move(channel), number_, base::MonotonicNs(), hung});
  TheHanging().Prune();
}

uint64_t StandIn::CpuNs() { return g_cpu_ns; }

}  // namespace profd::host
