#include "base/files/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"

namespace profd::base {

namespace {

constexpr size_t kPiece = 64 << 10;

Status TooLong(size_t most) {
  return {Code::kInvalidArgument, "holds more than " + std::to_string(most >> 20) +
                                      " MiB: expected a text of at most that, so another file must be meant"};
}

// `more(to, bytes)` reads so many bytes at most; 0 at the end, < 0 for what errno says.
template <typename More>
Result<std::string> Collect(size_t most, More more) {
  std::string text;
  for (size_t got = 0;;) {
    text.resize(std::min(got + kPiece, most + 1));
    const ssize_t bytes = more(text.data() + got, text.size() - got);
    if (bytes < 0) return Status::FromErrno("cannot be read");
    got += static_cast<size_t>(bytes);
    if (got > most) return TooLong(most);
    if (bytes > 0) continue;
    text.resize(got);
    return text;
  }
}

}  // namespace

Result<std::string> ReadWhole(const std::string& path, size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Status::FromErrno(OneLine(path));
  Result<std::string> text = ReadWhole(file.get(), most);
  if (!text.ok()) return text.status().In(OneLine(path));
  return text;
}

Result<std::string> ReadWhole(int file, size_t most) {
  return Collect(most, [file](char* to, size_t bytes) {
    ssize_t got = 0;
    do got = ::read(file, to, bytes);
    while (got < 0 && errno == EINTR);
    return got;
  });
}

Result<std::string> ReadWhole(std::istream& from, size_t most) {
  return Collect(most, [&from](char* to, size_t bytes) {
    from.read(to, static_cast<std::streamsize>(bytes));
    return static_cast<ssize_t>(from.gcount());
  });
}

std::string ReadWholeOrNothing(const std::string& path) {
  Result<std::string> text = ReadWhole(path);
  return text.ok() ? std::move(*text) : std::string();
}

}  // namespace profd::base
