// What we use of libcurl: names and numbers of curl.h (curl.se/libcurl/c). libcurl.so.4 has kept them since
// 2006, and every distribution has it; it is loaded when something is sent.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/status.h"

namespace profd::lake::s3 {

struct Sent {
  std::string method, url;
  std::map<std::string, std::string> headers;
  int body = -1;  // a file that is open, from where it is; -1: none
  uint64_t body_bytes = 0;
  int into = -1;          // the answer's body of a 2xx goes to this file; -1: it is kept
  std::string authority;  // a file with certificates; "": the system's
};
struct Answer {
  long code = 0;     // 0: no answer
  std::string body;  // as much as an error or a list may have
  std::string why;   // of no answer: as libcurl says it
};

// To one host, as long as both like. **Thread:** one at a time. **Owns:** the connection.
class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();
  // Sends it and waits: at most 10 s for the connection, and 30 s in which nothing moves. kUnavailable:
  // libcurl cannot be loaded.
  base::Result<Answer> Send(const Sent& sent);

 private:
  void* easy_ = nullptr;
};

}  // namespace profd::lake::s3
