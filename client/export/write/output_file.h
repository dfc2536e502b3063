// A file that an export writes: from start to end, in pieces that fit a core's cache, perhaps compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

// Written as `path`.part; Finish() renames it, a file not finished is removed. What fails is kept in status()
// and later writes do nothing. **Thread:** one. **Owns:** the file, 256 KiB of buffer.
class OutputFile {
 public:
  static constexpr size_t kBuffer = 256u << 10;
  static constexpr size_t kMaxReserve = 64u << 10;

  static base::Result<std::unique_ptr<OutputFile>> Create(const std::string& path, bool gzip = false);
  // The file that somebody names (-o): on the way to it no link serves that is another user's.
  static base::Result<std::unique_ptr<OutputFile>> CreateNamed(const std::string& path);
  // No file: `take` gets what is written, piece by piece.
  static std::unique_ptr<OutputFile> Into(std::function<void(std::string_view)> take);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Room for `bytes` (≤ kMaxReserve) at the end of what is written; Advance() says how far it was used.
  char* Reserve(size_t bytes) {
    if (kBuffer - used_ < bytes) Flush();
    return buffer_.get() + used_;
  }
  void Advance(const char* end) { used_ = static_cast<size_t>(end - buffer_.get()); }
  void Append(std::string_view text);

  uint64_t bytes() const { return flushed_ + used_; }  // before compression
  const base::Status& status() const { return status_; }
  const std::string& path() const { return path_; }
  base::Status Finish();

 private:
  struct Deflater;
  static base::Result<std::unique_ptr<OutputFile>> Make(const std::string& path, base::UniqueFd folder,
                                                        bool gzip);
  OutputFile(std::string path, std::string part, base::UniqueFd folder, base::UniqueFd fd, bool gzip);
  void Flush();
  void Write(const char* bytes, size_t size);
  void Compress(bool last);

  std::string path_, part_;
  base::UniqueFd folder_;  // of CreateNamed: `part_` and what it becomes are reached through it
  base::UniqueFd fd_;
  base::Status status_;
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  uint64_t flushed_ = 0;
  std::unique_ptr<Deflater> deflater_;
  bool finished_ = false;
  std::function<void(std::string_view)> take_;  // of Into
};

}  // namespace profd::client
