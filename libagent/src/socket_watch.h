// Wakes the attach thread when profd's sockets appear, without a timer.
#pragma once

namespace profd::agent {

// **Thread:** the attach thread. **Owns:** the inotify descriptor (as kInotifyFd).
class SocketWatch {
 public:
  // `socket` is an absolute path and outlives this. False: its folder doesn't exist (or can't be watched).
  bool Start(const char* socket);
  // After Stop; waits for a folder that is gone to come back.
  bool StartAgain();
  void Stop();

  // Reads what has happened. True: something with the socket's or the door's name has appeared, or the folder
  // has.
  bool SocketAppeared();

 private:
  bool Open();
  bool WatchFolder();
  bool WatchParent();

  const char* base_ = nullptr;  // the socket's name in its folder
  char folder_[256] = {};
  int watch_ = -1;
  bool on_parent_ = false;  // the folder is gone (a service manager removes it); waiting for the next one
};

}  // namespace profd::agent
