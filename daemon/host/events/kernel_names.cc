#include "daemon/host/events/kernel_names.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <new>
#include <utility>

#include "base/unique_fd.h"
#include "daemon/host/process/heirlooms.h"

namespace profd::host {

namespace {

constexpr char kFile[] = "/proc/kallsyms";

struct HeldFile {
  base::UniqueFd fd;
  bool readable = false;
  pthread_mutex_t* turn = nullptr;
};
HeldFile& Held() {
  static HeldFile held;
  return held;
}

bool ShowsAddresses(int fd) {
  constexpr std::string_view kHidden = "0000000000000000";
  char address[kHidden.size()];
  return ::pread(fd, address, sizeof address, 0) == sizeof address &&
         std::string_view(address, sizeof address) != kHidden;
}

// All processes that have it from here read the same open file. The kernel makes its text as it is read, from
// the beginning for whoever reads elsewhere than the last one did: they read one after the other.
pthread_mutex_t* SharedMutex() {
  const auto [memory, is_new] = Heirlooms::Shared("kernel-names-turn", sizeof(pthread_mutex_t));
  if (memory == nullptr || !is_new) return static_cast<pthread_mutex_t*>(memory);
  auto* mutex = new (memory) pthread_mutex_t;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  return mutex;
}

// It passes on when a process is killed in the middle of its own.
class Turn {
 public:
  explicit Turn(pthread_mutex_t* mutex) : mutex_(mutex) {
    if (mutex_ == nullptr) return;
    const int error = ::pthread_mutex_lock(mutex_);
    if (error == EOWNERDEAD) {
      ::pthread_mutex_consistent(mutex_);
    } else if (error != 0) {
      mutex_ = nullptr;
    }
  }
  ~Turn() {
    if (mutex_ != nullptr) ::pthread_mutex_unlock(mutex_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

}  // namespace

void KernelNames::Hold() {
  HeldFile& held = Held();
  if (held.readable) return;
  auto file = Heirlooms::File("kernel-names", []() -> base::Result<base::UniqueFd> {
    base::UniqueFd own(::open(kFile, O_RDONLY | O_CLOEXEC));
    if (!own) return base::Status::FromErrno(kFile);
    return own;
  });
  if (file.ok()) held.fd = std::move(file).value();
  held.readable = held.fd && ShowsAddresses(held.fd.get());
  if (held.turn == nullptr) held.turn = SharedMutex();
}

bool KernelNames::Readable() { return Held().readable; }

std::shared_ptr<const KernelNames> KernelNames::Load() {
  static std::mutex mutex;
  static std::weak_ptr<const KernelNames> shared;
  const std::lock_guard lock(mutex);
  if (auto names = shared.lock()) return names;
  const auto names = std::make_shared<KernelNames>();
  names->Read();
  shared = names;
  return names;
}

void KernelNames::Read() {
  const Turn turn(Held().turn);
  std::string text;
  char buffer[1 << 16];
  off_t at = 0;
  size_t begin = 0;
  for (ssize_t got; (got = ::pread(Held().fd.get(), buffer, sizeof buffer, at)) > 0; at += got) {
    text.append(buffer, static_cast<size_t>(got));
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      Line(std::string_view(text).substr(begin, end - begin));
    text.erase(0, begin);
    begin = 0;
  }
  std::ranges::stable_sort(functions_, {}, &Function::address);
  names_.shrink_to_fit();
  functions_.shrink_to_fit();
}

// "ffffffff81000000 T _text", "ffffffffc0201000 t nvme_queue_rq\t[nvme]"
void KernelNames::Line(std::string_view line) {
  uint64_t address = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  const auto digits = static_cast<size_t>(end - line.data());
  if (error != std::errc() || address == 0 || line.size() < digits + 4) return;
  if (std::string_view("tTwW").find(line[digits + 1]) == std::string_view::npos) return;
  const auto begin = static_cast<uint32_t>(names_.size());
  names_ += line.substr(digits + 3);
  std::replace(names_.begin() + begin, names_.end(), '\t', ' ');
  functions_.push_back({address, begin, static_cast<uint32_t>(names_.size()) - begin});
}

std::string_view KernelNames::Find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (after == functions_.begin()) return "[kernel]";
  const Function& function = *(after - 1);
  return std::string_view(names_).substr(function.name, function.bytes);
}

}  // namespace profd::host
