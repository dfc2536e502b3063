#include "client/lake/s3/curl.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace profd::lake::s3 {
namespace {

using base::Code;
using base::Result;
using base::Status;

struct List;  // curl_slist

enum Option : int {
  kWriteData = 10001,
  kUrl = 10002,
  kReadData = 10009,
  kWriteFunction = 20011,
  kReadFunction = 20012,
  kLowSpeedLimit = 19,
  kLowSpeedTime = 20,
  kHttpHeader = 10023,
  kUserAgent = 10018,
  kCustomRequest = 10036,
  kUpload = 46,
  kCaInfo = 10065,
  kNoSignal = 99,
  kConnectTimeoutMs = 156,
  kProtocols = 181,
  kBodyBytes = 30115,
  kPathAsIs = 234
};
constexpr int kResponseCode = 0x200002;
constexpr long kHttpAndHttps = 3;
constexpr size_t kMostOfAnswer = 8 << 20;  // a list of 1000 names has 1 MB at most

struct Library {
  void* (*begin)();
  void (*end)(void*);
  void (*reset)(void*);
  int (*set)(void*, int, ...);
  int (*perform)(void*);
  int (*ask)(void*, int, ...);
  const char* (*error)(int);
  List* (*append)(List*, const char*);
  void (*free)(List*);
};

Result<const Library*> Load() {
  void* const handle = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Status(Code::kUnavailable,
                  "a lake in a bucket needs the library libcurl, which is not there: install the package "
                  "libcurl4 (libcurl on openEuler)");
  static Library library;
  const auto find = [handle](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    return function != nullptr;
  };
  const bool whole = find(library.begin, "curl_easy_init") && find(library.end, "curl_easy_cleanup") &&
                     find(library.reset, "curl_easy_reset") && find(library.set, "curl_easy_setopt") &&
                     find(library.perform, "curl_easy_perform") && find(library.ask, "curl_easy_getinfo") &&
                     find(library.error, "curl_easy_strerror") && find(library.append, "curl_slist_append") &&
                     find(library.free, "curl_slist_free_all");
  if (!whole) return Status(Code::kUnavailable, "this libcurl.so.4 lacks a function that every libcurl has");
  return &library;
}

const Result<const Library*>& Loaded() {
  static const Result<const Library*> loaded = Load();
  return loaded;
}

size_t ReadBody(char* to, size_t size, size_t count, void* of) {
  constexpr size_t kAbort = 0x10000000;
  const ssize_t got = ::read(static_cast<const Sent*>(of)->body, to, size * count);
  return got < 0 ? kAbort : static_cast<size_t>(got);
}

struct Taking {
  const Library& curl;
  void* easy;
  const Sent& sent;
  Answer& answer;
};

size_t TakeBody(const char* from, size_t size, size_t count, void* of) {
  const auto& taking = *static_cast<const Taking*>(of);
  const size_t bytes = size * count;
  long code = 0;
  taking.curl.ask(taking.easy, kResponseCode, &code);
  if (taking.sent.into >= 0 && code >= 200 && code < 300) {
    size_t at = 0;
    while (at < bytes) {
      const ssize_t put = ::write(taking.sent.into, from + at, bytes - at);
      if (put <= 0) return 0;  // libcurl ends with that error
      at += static_cast<size_t>(put);
    }
    return bytes;
  }
  std::string& body = taking.answer.body;
  if (body.size() + bytes > kMostOfAnswer) return 0;
  body.append(from, bytes);
  return bytes;
}

}  // namespace

Connection::~Connection() {
  if (easy_ != nullptr) (*Loaded())->end(easy_);
}

Result<Answer> Connection::Send(const Sent& sent) {
  PROFD_RETURN_IF_ERROR(Loaded().status());
  const Library& curl = **Loaded();
  if (easy_ == nullptr) easy_ = curl.begin();
  if (easy_ == nullptr) return Status(Code::kInternal, "libcurl does not begin");
  curl.reset(easy_);  // but for the connection
  List* list = nullptr;
  for (const auto& [name, value] : sent.headers) list = curl.append(list, (name + ": " + value).c_str());
  const std::unique_ptr<List, void (*)(List*)> headers(list, curl.free);

  Answer answer;
  const Taking taking{curl, easy_, sent, answer};
  const auto set = [&](Option option, auto value) { curl.set(easy_, option, value); };
  set(kUrl, sent.url.c_str());
  set(kPathAsIs, 1L);
  set(kProtocols, kHttpAndHttps);
  set(kNoSignal, 1L);
  set(kUserAgent, "profctl");
  set(kHttpHeader, headers.get());
  set(kConnectTimeoutMs, 10'000L);
  set(kLowSpeedLimit, 1L);
  set(kLowSpeedTime, 30L);
  if (!sent.authority.empty()) set(kCaInfo, sent.authority.c_str());
  set(kWriteFunction, &TakeBody);
  set(kWriteData, &taking);
  if (sent.body >= 0) {
    set(kUpload, 1L);
    set(kReadFunction, &ReadBody);
    set(kReadData, &sent);
    set(kBodyBytes, static_cast<int64_t>(sent.body_bytes));
  } else if (sent.method != "GET") {
    set(kCustomRequest, sent.method.c_str());
  }
  const int error = curl.perform(easy_);
  curl.ask(easy_, kResponseCode, &answer.code);
  if (error != 0) {
    answer.code = 0;
    answer.why = curl.error(error);
  }
  return answer;
}

}  // namespace profd::lake::s3
