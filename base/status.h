// Status and Result<T>: how every function that may fail says so. Nothing of ours throws.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace profd::base {

// gRPC's canonical codes, number for number, so that the wire needs no table.
enum class Code : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// A code and one line for a person: what was attempted, on what, why it failed, what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  // `what` names the attempt and its object; the errno's text is appended.
  static Status FromErrno(std::string_view what, int error = errno);

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same with the object or the attempt in front: "`what`: message".
  Status In(std::string_view what) const;
  // What FromErrno() was made of, 0 for any other: to tell a full disk from too many files.
  int error() const { return error_; }

 private:
  Code code_ = Code::kOk;
  int error_ = 0;
  std::string message_;
};

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status::Ok() : std::get<Status>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

// The name of a code as users see it, e.g. "invalid argument".
std::string_view CodeName(Code code);

[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);

}  // namespace profd::base

// A broken invariant of ours: stop, restart, recover. Never on input from outside.
#define PROFD_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::profd::base::CheckFailed(#condition, __FILE__, __LINE__))

#define PROFD_CONCAT_INNER(a, b) a##b
#define PROFD_CONCAT(a, b) PROFD_CONCAT_INNER(a, b)
#define PROFD_RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                              \
    if (::profd::base::Status profd_status = (expression); !profd_status.ok()) return profd_status; \
  } while (false)
// PROFD_ASSIGN_OR_RETURN(auto x, Compute());
#define PROFD_ASSIGN_OR_RETURN(target, expression) \
  PROFD_ASSIGN_OR_RETURN_INNER(PROFD_CONCAT(profd_result_, __LINE__), target, expression)
#define PROFD_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) return result.status();                      \
  target = std::move(result).value()
