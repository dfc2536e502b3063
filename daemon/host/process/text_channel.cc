#include "daemon/host/process/text_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "daemon/host/process/values.h"

namespace profd::host {

namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr uint64_t kSecondNs = 1'000'000'000;

struct Head {
  uint64_t bytes = 0, cpu_ns = 0;
};

}  // namespace

void TextChannel::Put(std::string_view text) {
  if (idle()) {
    out_.clear();
    sent_ = 0;
  }
  const Head head{text.size(), base::ReadClockNs(CLOCK_PROCESS_CPUTIME_ID)};
  AppendValue(out_, head);
  out_ += text;
  Flush();
}

void TextChannel::Flush() {
  while (!idle() && !gone_) {
    const ssize_t put =
        ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
      sent_ += static_cast<size_t>(put);
    } else if (errno != EINTR) {
      gone_ = errno != EAGAIN;
      return;
    }
  }
}

bool TextChannel::Receive() {
  if (taken_ == in_.size() || taken_ > kPieceBytes) in_.erase(0, std::exchange(taken_, 0));
  const size_t before = in_.size();
  in_.resize(before + kPieceBytes);
  const ssize_t got = ::recv(socket_.get(), in_.data() + before, kPieceBytes, MSG_DONTWAIT);
  const int error = got < 0 ? errno : 0;
  in_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got == 0 || (got < 0 && error != EAGAIN && error != EINTR)) gone_ = true;
  return got > 0;
}

std::optional<std::string> TextChannel::Next() {
  for (;;) {
    Head head;
    if (in_.size() - taken_ >= sizeof head) {
      std::memcpy(&head, in_.data() + taken_, sizeof head);
      if (head.bytes > kMostBytes) {
        gone_ = true;
        return std::nullopt;
      }
      if (in_.size() - taken_ - sizeof head >= head.bytes) {
        std::string text = in_.substr(taken_ + sizeof head, head.bytes);
        taken_ += sizeof head + head.bytes;
        peer_cpu_ns_ = head.cpu_ns;
        return text;
      }
    }
    if (gone_ || !Receive()) return std::nullopt;
  }
}

void TextChannel::Wait(uint64_t timeout_ns) const {
  pollfd waits{socket_.get(), static_cast<short>(idle() ? POLLIN : POLLIN | POLLOUT), 0};
  const timespec timeout{static_cast<time_t>(timeout_ns / kSecondNs),
                         static_cast<long>(timeout_ns % kSecondNs)};
  ::ppoll(&waits, 1, &timeout, nullptr);
}

}  // namespace profd::host
