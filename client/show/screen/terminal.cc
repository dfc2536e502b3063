#include "client/show/screen/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace profd::client {

namespace {

// The second screen with the cursor hidden, and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l";
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;  // the terminal has gone: a SIGHUP says so
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Terminal::Terminal() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC));
  PROFD_CHECK(signals_);
}

bool Terminal::IsThere() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

void Terminal::Enter() {
  if (std::exchange(entered_, true)) return;
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // signals stay
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  WriteAll(kEnter);
}

void Terminal::Leave() {
  if (!std::exchange(entered_, false)) return;
  WriteAll(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

Terminal::Size Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void Terminal::Show(const std::string& text) {
  // In one write, each line cleared behind its end: nothing flickers.
  std::string screen = "\033[H";
  for (const char c : text) {
    if (c == '\n') screen += "\033[K\r";
    screen += c;
  }
  screen += "\033[J";
  WriteAll(screen);
}

Terminal::Event Terminal::Wait(int other, char* key) {
  pollfd fds[] = {{signals_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(fds, 3, -1) < 0) {
  }
  if (fds[0].revents != 0) return OnSignal();
  if (fds[1].revents != 0) return OnInput(key);
  return Event::kOther;
}

Terminal::Event Terminal::OnSignal() {
  signalfd_siginfo signal{};
  if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) return Event::kQuit;
  if (signal.ssi_signo == SIGWINCH) return Event::kResize;
  if (signal.ssi_signo != SIGTSTP) return Event::kQuit;
  Leave();
  ::kill(::getpid(), SIGSTOP);  // until `fg`
  Enter();
  return Event::kResize;
}

Terminal::Event Terminal::OnInput(char* key) const {
  char bytes[64];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (got <= 0) return Event::kQuit;  // nobody is there any more
  // What begins with ESC is a key without a meaning here.
  *key = bytes[0] == '\033' ? '\0' : bytes[got - 1];
  return Event::kKey;
}

}  // namespace profd::client
