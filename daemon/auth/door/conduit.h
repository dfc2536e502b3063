// Carries bytes between local clients and gRPC, no faster than the frames of a user may come. gRPC begins a
// call for every HEADERS it reads, also before a client has heard how many there may be and when the call is
// cancelled at once, and has no limit on what that takes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::auth {

// **Thread:** any. **Owns:** a thread, the clients' connections.
class Conduit {
 public:
  struct Options {
    // Of each user; as many at once. Of acknowledgements and window updates a hundred times as many.
    double frames_per_s = 1000;
    // A connection that would open one more is ended. A client may open some before it hears gRPC's limit.
    size_t max_calls_per_connection = 128;
    size_t max_calls_per_uid = 2048;
    // Of messages that are not whole yet, and large ones of open calls, which gRPC keeps: it has one memory
    // for all users, and where that is full it ends connections and calls of whoever it likes.
    size_t max_unfinished_per_uid = 2 << 20;
  };

  static base::Result<std::unique_ptr<Conduit>> Start(Options options);
  // What gRPC has said by now still goes out.
  ~Conduit();
  Conduit(const Conduit&) = delete;
  Conduit& operator=(const Conduit&) = delete;

  // gRPC's end of a connection to `client`, which is nonblocking. When either end is closed, so is the other.
  base::Result<base::UniqueFd> Carry(base::UniqueFd client, uid_t uid);
  // Ends the youngest connection of this user's that has no call open.
  void Relieve(uid_t uid);
  // Whose connection it is, of what gRPC calls its peer. None: of nobody that was carried.
  static std::optional<uid_t> UserOf(std::string_view peer);

 private:
  class Impl;
  explicit Conduit(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::auth
