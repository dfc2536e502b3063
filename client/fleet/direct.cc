#include "client/fleet/direct.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace profd::client {

namespace {

constexpr uint64_t kSilentNs = 1'000'000'000;

// Calls under way, by when they began.
class UnderWay {
 public:
  // Waits until fewer than `most` of those that are not silent yet are under way.
  void AwaitTurn(size_t most) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const uint64_t now_ns = base::MonotonicNs();
      const auto first = begun_.upper_bound(now_ns - kSilentNs);
      if (static_cast<size_t>(std::distance(first, begun_.end())) < most) return;
      changed_.wait_for(lock, std::chrono::nanoseconds(*first + kSilentNs - now_ns));
    }
  }
  uint64_t Begin() {
    const std::lock_guard lock(mutex_);
    return *begun_.insert(base::MonotonicNs());
  }
  void End(uint64_t begun_ns) {
    const std::lock_guard lock(mutex_);
    begun_.erase(begun_.find(begun_ns));
    changed_.notify_one();
  }
  void AwaitAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<uint64_t> begun_;
};

}  // namespace

void AskDirectly(const std::vector<Question>& questions, size_t parallel, uint64_t deadline_ns) {
  UnderWay under_way;
  for (const Question& question : questions) {
    under_way.AwaitTurn(parallel);
    Exchange::Call& call = *question.call;
    if (base::MonotonicNs() >= deadline_ns) {
      call = {.method = call.method,
              .request = call.request,
              .is_answered = true,
              .code = static_cast<uint32_t>(base::Code::kUnavailable),
              .message = "not asked: the time (--timeout) was over before its turn",
              .from_node = true};
      continue;
    }
    const uint64_t begun_ns = under_way.Begin();
    question.peer->Ask(call.method, call.request, deadline_ns,
                       [&call, &under_way, begun_ns](node::Reply reply) {
                         call.is_answered = true;
                         call.code = reply.code;
                         call.message = std::move(reply.message);
                         call.from_node = reply.from_node;
                         call.reply = std::move(reply.bytes);
                         under_way.End(begun_ns);
                       });
  }
  under_way.AwaitAll();
}

}  // namespace profd::client
