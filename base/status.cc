#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace profd::base {

Status Status::FromErrno(std::string_view what, int error) {
  Code code = Code::kInternal;
  switch (error) {
    case ENOENT:
    case ESRCH:
    case ENODEV:
      code = Code::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Code::kPermissionDenied;
      break;
    case EEXIST:
      code = Code::kAlreadyExists;
      break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = Code::kResourceExhausted;
      break;
    case ENOTDIR:
    case ELOOP:
    case EINVAL:
    case ENAMETOOLONG:
      code = Code::kInvalidArgument;
      break;
    case ECONNREFUSED:
      code = Code::kUnavailable;
      break;
    default:
      break;
  }
  std::string message(what);
  message += ": ";
  message += std::strerror(error);  // NOLINT(concurrency-mt-unsafe): glibc's is thread-safe
  Status status(code, std::move(message));
  status.error_ = error;
  return status;
}

Status Status::In(std::string_view what) const {
  Status status = *this;
  status.message_ = std::string(what) + ": " + message_;
  return status;
}

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnknown:
      return "unknown";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kDeadlineExceeded:
      return "deadline exceeded";
    case Code::kNotFound:
      return "not found";
    case Code::kAlreadyExists:
      return "already exists";
    case Code::kPermissionDenied:
      return "permission denied";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kFailedPrecondition:
      return "failed precondition";
    case Code::kAborted:
      return "aborted";
    case Code::kOutOfRange:
      return "out of range";
    case Code::kUnimplemented:
      return "not implemented";
    case Code::kInternal:
      return "internal error";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDataLoss:
      return "data loss";
    case Code::kUnauthenticated:
      return "unauthenticated";
  }
  return "unknown";
}

void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "profd: broken invariant: %s at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace profd::base
