// A terminal taken over for a screen: keys come one by one, what was there before comes back at the end. Not
// ncurses: every verb would load it, for a screen that is written as whole lines and needs a few sequences.
#pragma once

#include <termios.h>

#include <string>

#include "base/unique_fd.h"

namespace profd::client {

// **Thread:** one; construct it before any other exists, they inherit the blocked signals (SIGINT, SIGTERM,
// SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH). **Owns:** the terminal until it is destroyed.
class Terminal {
 public:
  struct Size {
    size_t columns = 80, rows = 24;
  };
  enum class Event : uint8_t { kKey, kResize, kQuit, kOther };

  // Blocks the signals; Enter() takes the screen.
  Terminal();
  ~Terminal() { Leave(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // stdin and stdout are a terminal.
  static bool IsThere();
  void Enter();
  void Leave();
  Size size() const;
  // Lines that fit the size, one below the other.
  void Show(const std::string& text);
  // Waits for a key (in `key`), a signal, or `other` to become readable. SIGTSTP is done with inside:
  // kResize.
  Event Wait(int other, char* key);

 private:
  Event OnSignal();
  Event OnInput(char* key) const;

  base::UniqueFd signals_;
  termios before_{};
  bool entered_ = false;
};

}  // namespace profd::client
