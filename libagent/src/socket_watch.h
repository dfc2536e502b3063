// Wakes the attach thread when profd's sockets appear; without a timer, unless the user's inotify instances
// are used up (128 by default, for all processes of a user).
#pragma once

#include <stdint.h>

namespace profd::agent {

// **Thread:** the attach thread. **Owns:** the inotify descriptor (as kInotifyFd).
class SocketWatch {
 public:
  // `socket` is an absolute path and outlives this. False: its folder doesn't exist (or can't be watched).
  bool Start(const char* socket);
  // After Stop; waits for a folder that is gone to come back.
  bool StartAgain();
  void Stop();

  // The watch has to be asked every second.
  bool is_blind() const { return blind_; }
  // Call before knocking: a blind watch compares with it.
  void Look();

  // Reads what has happened. True: something with the socket's or the door's name has appeared, or the folder
  // has.
  bool SocketAppeared();

 private:
  // Which file the door is; 0 when there is none.
  struct Door {
    uint64_t inode = 0;
    int64_t changed_s = 0;
    uint32_t changed_ns = 0;
    bool operator==(const Door&) const = default;
  };

  Door DoorNow() const;
  bool BeBlind();
  bool Open();
  bool WatchFolder();
  bool WatchParent();

  const char* socket_ = nullptr;
  const char* base_ = nullptr;  // the socket's name in its folder
  char folder_[256] = {};
  int watch_ = -1;
  bool blind_ = false;
  Door seen_;
  bool on_parent_ = false;  // the folder is gone (a service manager removes it); waiting for the next one
};

}  // namespace profd::agent
