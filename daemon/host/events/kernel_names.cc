#include "daemon/host/events/kernel_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <mutex>

#include "base/unique_fd.h"

namespace profd::host {

namespace {

constexpr char kFile[] = "/proc/kallsyms";

base::UniqueFd& Held() {
  static base::UniqueFd fd;
  return fd;
}

}  // namespace

void KernelNames::Hold() {
  if (!Readable()) Held().Reset(::open(kFile, O_RDONLY | O_CLOEXEC));
}

bool KernelNames::Readable() {
  constexpr std::string_view kHidden = "0000000000000000";
  char address[kHidden.size()];
  return Held() && ::pread(Held().get(), address, sizeof address, 0) == sizeof address &&
         std::string_view(address, sizeof address) != kHidden;
}

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
  std::string text;
  char buffer[1 << 16];
  off_t at = 0;
  size_t begin = 0;
  for (ssize_t got; (got = ::pread(Held().get(), buffer, sizeof buffer, at)) > 0; at += got) {
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
