#include "client/fleet/direct.h"

#include <chrono>

#include "base/clock.h"
#include "base/status.h"

namespace profd::client {

namespace {

constexpr uint64_t kSilentNs = 1'000'000'000;

}  // namespace

void Direct::AwaitTurn() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t now_ns = base::MonotonicNs();
    const auto first = begun_.upper_bound(now_ns - kSilentNs);
    if (static_cast<size_t>(std::distance(first, begun_.end())) < parallel_) return;
    changed_.wait_for(lock, std::chrono::nanoseconds(*first + kSilentNs - now_ns));
  }
}

void Direct::Ask(const Question& question) {
  AwaitTurn();
  Exchange::Call& call = *question.call;
  const uint64_t now_ns = base::MonotonicNs();
  if (now_ns >= deadline_ns_) {
    call.is_answered = true;
    call.code = static_cast<uint32_t>(base::Code::kUnavailable);
    call.message = "not asked: the time (--timeout) was over before its turn";
    call.from_node = true;
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    begun_.insert(now_ns);
  }
  question.peer->Ask(call.method, call.request, deadline_ns_, [this, &call, now_ns](remote::Reply reply) {
    const std::lock_guard lock(mutex_);
    begun_.erase(begun_.find(now_ns));
    answers_.emplace_back(&call, std::move(reply));
    changed_.notify_one();
  });
}

void Direct::Await() {
  std::unique_lock lock(mutex_);
  while (!begun_.empty()) {
    const uint64_t now_ns = base::MonotonicNs(), silent_ns = *begun_.rbegin() + kSilentNs;
    if (answers_.empty()) {
      changed_.wait(lock);
    } else if (silent_ns > now_ns) {
      changed_.wait_for(lock, std::chrono::nanoseconds(silent_ns - now_ns));
    } else {
      break;
    }
  }
  for (auto& [call, reply] : answers_) {
    call->is_answered = true;
    call->code = reply.code;
    call->message = std::move(reply.message);
    call->from_node = reply.from_node;
    call->reply = std::move(reply.bytes);
  }
  answers_.clear();
}

}  // namespace profd::client
