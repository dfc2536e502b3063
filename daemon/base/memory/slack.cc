#include "daemon/base/memory/slack.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "base/threads/thread.h"

namespace profd::base {

namespace {

constexpr uint64_t kLastNs = 16'000'000'000;  // between two times: some thirty seconds in all
constexpr uint64_t kLookEveryNs = 10'000'000'000;
constexpr uint64_t kMuchBytes = 16 << 20;

// The one that there is. Whoever has something to tell may do so while it ends.
struct Here {
  std::mutex mutex;
  Executor* ctl = nullptr;
  Slack* slack = nullptr;
  bool told = false;
};
Here& TheOne() {
  static auto* here = new Here;
  return *here;
}

uint64_t ResidentBytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                             &std::fclose);
  unsigned long all = 0, resident = 0;
  // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
  if (!file || std::fscanf(file.get(), "%lu %lu", &all, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Slack::Slack(Executor& ctl, uint64_t first_ns) : ctl_(ctl), first_ns_(first_ns) {
  const std::lock_guard lock(TheOne().mutex);
  TheOne().ctl = &ctl;
  TheOne().slack = this;
}

Slack::~Slack() {
  ctl_.Cancel(timer_);
  ctl_.Cancel(look_);
  const std::lock_guard lock(TheOne().mutex);
  TheOne().slack = nullptr;
}

void Slack::Comes() {
  const std::lock_guard lock(TheOne().mutex);
  if (TheOne().slack == nullptr || std::exchange(TheOne().told, true)) return;
  TheOne().ctl->Post([] {
    Slack* slack = nullptr;
    {
      const std::lock_guard inner(TheOne().mutex);
      TheOne().told = false;
      slack = TheOne().slack;
    }
    if (slack != nullptr) slack->Begin();
  });
}

void Slack::Begin() {
  ctl_.Cancel(timer_);
  GiveBack(first_ns_);
}

void Slack::GiveBack(uint64_t after_ns) {
  timer_ = ctl_.After(after_ns, [this, after_ns] {
    // Not on ctl: of much memory it takes its time.
    StartThread("trim", [] { ::malloc_trim(0); }).detach();
    if (after_ns < kLastNs) GiveBack(2 * after_ns);
  });
}

void Slack::Watch() { Look(); }

void Slack::Look() {
  const uint64_t now_bytes = ResidentBytes();
  if (least_bytes_ < now_bytes && now_bytes - least_bytes_ > kMuchBytes) {
    Comes();
    least_bytes_ = now_bytes;  // what stays is in use
  }
  least_bytes_ = std::min(least_bytes_, now_bytes);
  look_ = ctl_.After(kLookEveryNs, [this] { Look(); });
}

}  // namespace profd::base
