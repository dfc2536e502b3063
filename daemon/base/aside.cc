#include "daemon/base/aside.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/threads/thread.h"

namespace profd::base {

namespace {

constexpr size_t kAtOnce = 4;  // threads of a user's
constexpr size_t kMostWaiting = 64;

}  // namespace

// Of RunFor(). Answered once: by its end, or because it takes too long.
struct Aside::Errand {
  Work work;
  GivenUp given_up;
  std::atomic<bool> answered{false};
  Executor::TimerId timer = 0;  // ctl's
};

struct Aside::Box {
  struct User {
    size_t running = 0;
    std::deque<std::shared_ptr<Errand>> waiting;
  };
  std::mutex mutex;
  Executor* ctl = nullptr;
  std::map<uid_t, User> users;  // those with something under way
};

Aside::Aside(Executor& ctl, uint64_t patience_ns)
    : ctl_(ctl), patience_ns_(patience_ns), box_(std::make_shared<Box>()) {
  box_->ctl = &ctl;
}
Aside::~Aside() {
  const std::lock_guard lock(box_->mutex);
  box_->ctl = nullptr;
}

void Aside::Run(Work work) {
  StartThread("arm", [box = box_, work = std::move(work)] {
    auto done = work();
    const std::lock_guard lock(box->mutex);
    if (box->ctl != nullptr) box->ctl->Post(std::move(done));
  }).detach();
}

void Aside::RunInParts(std::function<void(const Answer&)> work) {
  StartThread("arm", [box = box_, work = std::move(work)] {
    work([&box](std::function<void()> part) {
      const std::lock_guard lock(box->mutex);
      if (box->ctl != nullptr) box->ctl->Post(std::move(part));
    });
  }).detach();
}

void Aside::RunFor(uid_t user, Work work, GivenUp given_up, uint64_t patience_ns) {
  if (patience_ns == 0) patience_ns = patience_ns_;
  if (IsStuck(user)) {
    ctl_.Post([user, given_up = std::move(given_up)] {
      given_up({Code::kResourceExhausted,
                "user " + std::to_string(user) + " has " + std::to_string(kAtOnce + kMostWaiting) +
                    " calls that wait for files which do not answer: see to their mounts"});
    });
    return;
  }
  auto errand = std::make_shared<Errand>();
  errand->work = std::move(work);
  errand->given_up = std::move(given_up);
  errand->timer = ctl_.After(patience_ns, [errand, patience_ns] {
    if (errand->answered.exchange(true)) return;
    std::exchange(errand->given_up, nullptr)(
        {Code::kDeadlineExceeded, "no answer from the file system for " +
                                      std::to_string(patience_ns / 1'000'000'000) +
                                      " s: is the server of a mount gone? Choose another directory"});
  });
  {
    const std::lock_guard lock(box_->mutex);
    Box::User& of = box_->users[user];
    if (of.running == kAtOnce) {
      of.waiting.push_back(std::move(errand));
      return;
    }
    ++of.running;
  }
  StartThread("arm", [box = box_, user, errand = std::move(errand)] { Serve(box, user, errand); }).detach();
}

bool Aside::IsStuck(uid_t user) const {
  const std::lock_guard lock(box_->mutex);
  const auto found = box_->users.find(user);
  return found != box_->users.end() && found->second.waiting.size() >= kMostWaiting;
}

void Aside::Serve(const std::shared_ptr<Box>& box, uid_t user, std::shared_ptr<Errand> errand) {
  for (;;) {
    std::function<void()> done;
    if (!errand->answered) done = errand->work();
    errand->work = nullptr;  // what it holds is given back here: that may hang, too
    const std::lock_guard lock(box->mutex);
    if (box->ctl != nullptr) {
      box->ctl->Post([ctl = box->ctl, errand, done = std::move(done)] {
        if (errand->answered.exchange(true)) return;
        ctl->Cancel(errand->timer);
        done();
      });
    }
    const auto of = box->users.find(user);
    if (of->second.waiting.empty()) {
      if (--of->second.running == 0) box->users.erase(of);
      return;
    }
    errand = std::move(of->second.waiting.front());
    of->second.waiting.pop_front();
  }
}

}  // namespace profd::base
