#include "daemon/auth/door/programs.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

#include "base/threads/thread.h"

namespace profd::auth {

namespace {

constexpr uint64_t kPatienceNs = 1'000'000'000;
constexpr size_t kMostHanging = 8, kMostHangingOfUser = 2;
constexpr size_t kMostAsking = 4;         // threads, beside those that hang
constexpr std::chrono::seconds kIdle(2);  // then a thread goes

std::string InProc(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + '/' + file; }

// Nobody can keep its reader waiting.
std::string NameOf(pid_t pid) {
  std::ifstream file(InProc(pid, "comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::string Programs::ExecutableOf(pid_t pid) {
  char path[4096];
  const ssize_t size = ::readlink(InProc(pid, "exe").c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

struct Programs::Question {
  uid_t user = 0;
  pid_t pid = 0;
  std::function<void(std::string)> then;  // ctl's; empty once it was answered
  base::Executor::TimerId timer = 0;      // ctl's
  // Under the mutex. An answer is on its way to ctl.
  enum class State : uint8_t { kWaits, kIsAsked, kAnswered, kHangs, kGivenUp } state = State::kWaits;
};

struct Programs::Shared {
  explicit Shared(PathOf path_of) : path_of(std::move(path_of)) {}
  struct User {
    std::deque<std::shared_ptr<Question>> questions;  // the first of them is asked, or will be
    size_t hanging = 0;                               // that nobody waits for any more
  };

  const PathOf path_of;
  std::mutex mutex;
  std::condition_variable changed;
  base::Executor* ctl = nullptr;  // changed by ctl; nullptr: nobody asks any more
  std::map<uid_t, User> users;    // with something under way
  std::deque<uid_t> turns;        // whose first question nobody asks yet
  size_t idle = 0, asking = 0;    // threads
  size_t hanging = 0;             // threads, and questions

  // The first question of this user's is answered, or hangs: the next has its turn.
  void Next(uid_t user) {
    User& of = users[user];
    of.questions.pop_front();
    if (!of.questions.empty()) {
      turns.push_back(user);
    } else if (of.hanging == 0) {
      users.erase(user);
    }
  }
};

Programs::Programs(base::Executor& ctl, PathOf path_of)
    : ctl_(ctl), shared_(std::make_shared<Shared>(std::move(path_of))) {
  shared_->ctl = &ctl;
}

Programs::~Programs() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ctl = nullptr;
  shared_->users.clear();
  shared_->turns.clear();
  shared_->changed.notify_all();
}

void Programs::Ask(uid_t user, pid_t pid, std::function<void(std::string)> then) {
  const std::lock_guard lock(shared_->mutex);
  const auto known = shared_->users.find(user);
  const size_t hanging = known == shared_->users.end() ? 0 : known->second.hanging;
  const bool may_start = shared_->idle + shared_->asking > 0 || base::RoomForThreads().ok();
  if (hanging >= kMostHangingOfUser || shared_->hanging >= kMostHanging || !may_start) {
    ctl_.Post([then = std::move(then), pid] { then(NameOf(pid)); });
    return;
  }
  auto question = std::make_shared<Question>();
  question->user = user;
  question->pid = pid;
  question->then = std::move(then);
  question->timer = ctl_.After(kPatienceNs, [weak = std::weak_ptr(shared_), question] {
    if (const auto shared = weak.lock()) GiveUp(shared, *question);
  });
  Shared::User& of = shared_->users[user];
  of.questions.push_back(std::move(question));
  if (of.questions.size() > 1) return;
  shared_->turns.push_back(user);
  Wake(shared_);
}

// With the mutex.
void Programs::Wake(const std::shared_ptr<Shared>& shared) {
  if (shared->idle > 0) {
    shared->changed.notify_one();
  } else if (shared->asking < kMostAsking) {
    ++shared->asking;
    base::StartThread("programs", [shared] { Serve(shared); }).detach();
  }
}

void Programs::GiveUp(const std::shared_ptr<Shared>& shared, Question& question) {
  if (!question.then) return;
  {
    const std::lock_guard lock(shared->mutex);
    if (question.state == Question::State::kAnswered) return;
    if (question.state == Question::State::kIsAsked) {
      question.state = Question::State::kHangs;
      ++shared->users[question.user].hanging;
      ++shared->hanging;
      --shared->asking;
      shared->Next(question.user);
      if (!shared->turns.empty()) Wake(shared);
    } else {
      question.state = Question::State::kGivenUp;
    }
  }
  std::exchange(question.then, nullptr)(NameOf(question.pid));
}

void Programs::Serve(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (shared->ctl != nullptr) {
    if (shared->turns.empty()) {
      ++shared->idle;
      --shared->asking;
      const bool asked = shared->changed.wait_for(
          lock, kIdle, [&] { return shared->ctl == nullptr || !shared->turns.empty(); });
      --shared->idle;
      if (!asked) return;
      ++shared->asking;
      continue;
    }
    const uid_t user = shared->turns.front();
    shared->turns.pop_front();
    const std::shared_ptr<Question> question = shared->users[user].questions.front();
    if (question->state == Question::State::kGivenUp) {
      shared->Next(user);
      continue;
    }
    question->state = Question::State::kIsAsked;
    lock.unlock();
    std::string path = shared->path_of(question->pid);
    lock.lock();
    if (shared->ctl == nullptr) return;
    if (question->state == Question::State::kHangs) {  // it was not waited for
      ++shared->asking;
      --shared->hanging;
      Shared::User& of = shared->users[user];
      if (--of.hanging == 0 && of.questions.empty()) shared->users.erase(user);
      continue;
    }
    question->state = Question::State::kAnswered;
    shared->Next(user);
    shared->ctl->Post([weak = std::weak_ptr(shared), question, path = std::move(path)] {
      const auto here = weak.lock();
      if (!here || here->ctl == nullptr || !question->then) return;
      here->ctl->Cancel(question->timer);
      std::exchange(question->then, nullptr)(path);
    });
  }
}

}  // namespace profd::auth
