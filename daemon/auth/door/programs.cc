#include "daemon/auth/door/programs.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

#include "base/thread.h"

namespace profd::auth {

namespace {

constexpr uint64_t kPatienceNs = 1'000'000'000;
constexpr size_t kMostHanging = 8, kMostHangingOfUser = 2;
constexpr std::chrono::seconds kIdle(2);  // then a thread goes

std::string InProc(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + '/' + file; }

std::string PathOf(pid_t pid) {
  char path[4096];
  const ssize_t size = ::readlink(InProc(pid, "exe").c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

// Nobody can keep its reader waiting.
std::string NameOf(pid_t pid) {
  std::ifstream file(InProc(pid, "comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

struct Programs::Question {
  uid_t user = 0;
  pid_t pid = 0;
  std::function<void(std::string)> then;  // ctl's; empty once it was answered
  base::Executor::TimerId timer = 0;      // ctl's
};

struct Programs::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Question>> questions;
  size_t idle = 0;
  base::Executor* ctl = nullptr;  // changed by ctl; nullptr: nobody asks any more
  // ctl's.
  std::map<uid_t, size_t> hanging;
  size_t all_hanging = 0;
};

Programs::Programs(base::Executor& ctl) : ctl_(ctl), shared_(std::make_shared<Shared>()) {
  shared_->ctl = &ctl;
}

Programs::~Programs() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ctl = nullptr;
  shared_->questions.clear();
  shared_->changed.notify_all();
}

void Programs::Ask(uid_t user, pid_t pid, std::function<void(std::string)> then) {
  const auto hanging = shared_->hanging.find(user);
  if ((hanging != shared_->hanging.end() && hanging->second >= kMostHangingOfUser) ||
      shared_->all_hanging >= kMostHanging || !base::RoomForThreads().ok())
    return then(NameOf(pid));
  auto question = std::make_shared<Question>();
  question->user = user;
  question->pid = pid;
  question->then = std::move(then);
  question->timer = ctl_.After(kPatienceNs, [weak = std::weak_ptr(shared_), question] {
    const auto shared = weak.lock();
    if (!shared || !question->then) return;
    ++shared->hanging[question->user];
    ++shared->all_hanging;
    std::exchange(question->then, nullptr)(NameOf(question->pid));
  });
  const std::lock_guard lock(shared_->mutex);
  shared_->questions.push_back(std::move(question));
  if (shared_->idle >= shared_->questions.size()) {
    shared_->changed.notify_one();
  } else {
    base::StartThread("programs", [shared = shared_] { Serve(shared); }).detach();
  }
}

void Programs::Serve(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (shared->ctl != nullptr) {
    if (shared->questions.empty()) {
      ++shared->idle;
      const bool asked = shared->changed.wait_for(
          lock, kIdle, [&] { return shared->ctl == nullptr || !shared->questions.empty(); });
      --shared->idle;
      if (!asked) return;
      continue;
    }
    const std::shared_ptr<Question> question = std::move(shared->questions.front());
    shared->questions.pop_front();
    lock.unlock();
    std::string path = PathOf(question->pid);
    lock.lock();
    if (shared->ctl == nullptr) return;
    shared->ctl->Post([weak = std::weak_ptr(shared), question, path = std::move(path)] {
      const auto here = weak.lock();
      if (!here || here->ctl == nullptr) return;
      if (!question->then) {  // it was not waited for
        if (--here->hanging[question->user] == 0) here->hanging.erase(question->user);
        --here->all_hanging;
        return;
      }
      here->ctl->Cancel(question->timer);
      std::exchange(question->then, nullptr)(path);
    });
  }
}

}  // namespace profd::auth
