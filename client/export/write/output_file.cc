#include "client/export/write/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "client/files/own_folder.h"

namespace profd::client {

namespace {

constexpr char kPart[] = ".part";

// Where the name of the file itself begins.
size_t NameAt(const std::string& path) { return path.rfind('/') + 1; }  // without a slash: 0

}  // namespace

struct OutputFile::Deflater {
  z_stream stream{};
  std::unique_ptr<char[]> out = std::make_unique_for_overwrite<char[]>(kOut);
  static constexpr size_t kOut = 256u << 10;
  ~Deflater() { deflateEnd(&stream); }
};

OutputFile::OutputFile(std::string path, std::string part, base::UniqueFd folder, base::UniqueFd fd,
                       bool gzip)
    : path_(std::move(path)),
      part_(std::move(part)),
      folder_(std::move(folder)),
      fd_(std::move(fd)),
      buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  if (!gzip) return;
  deflater_ = std::make_unique<Deflater>();
  constexpr int kGzip = 15 + 16;  // window bits, plus 16: with gzip's header
  if (deflateInit2(&deflater_->stream, 1, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    status_ = base::Status(base::Code::kResourceExhausted, "compressing " + path_ + ": no memory");
}

base::Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path, bool gzip) {
  return Make(path, {}, gzip);
}

base::Result<std::unique_ptr<OutputFile>> OutputFile::CreateNamed(const std::string& path) {
  const std::string way = path.substr(0, NameAt(path));
  base::Result<base::UniqueFd> folder = OpenWay(way, IfMissing::kFail);
  if (!folder.ok() && folder.status().error() == ENOENT)
    return base::Status(base::Code::kNotFound,
                        base::OneLine(way) + ": there is no such folder: create it first, or name another");
  PROFD_RETURN_IF_ERROR(folder.status());
  return Make(path, std::move(*folder), false);
}

std::unique_ptr<OutputFile> OutputFile::Into(std::function<void(std::string_view)> take) {
  std::unique_ptr<OutputFile> file(new OutputFile("", "", {}, {}, false));
  file->take_ = std::move(take);
  return file;
}

base::Result<std::unique_ptr<OutputFile>> OutputFile::Make(const std::string& path, base::UniqueFd folder,
                                                           bool gzip) {
  std::string part = (folder ? PathOf(folder) + "/" + path.substr(NameAt(path)) : path) + kPart;
  unlink(part.c_str());  // of a run that was killed
  base::UniqueFd fd(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!fd) return base::Status::FromErrno("creating " + path + kPart);
  return std::unique_ptr<OutputFile>(
      new OutputFile(path, std::move(part), std::move(folder), std::move(fd), gzip));
}

OutputFile::~OutputFile() {
  if (!finished_ && !part_.empty()) unlink(part_.c_str());
}

void OutputFile::Append(std::string_view text) {
  while (!text.empty()) {
    if (used_ == kBuffer) Flush();
    const size_t size = std::min(text.size(), kBuffer - used_);
    std::memcpy(buffer_.get() + used_, text.data(), size);
    used_ += size;
    text.remove_prefix(size);
  }
}

void OutputFile::Flush() {
  if (deflater_) {
    Compress(false);
  } else {
    Write(buffer_.get(), used_);
  }
  flushed_ += used_;
  used_ = 0;
}

void OutputFile::Compress(bool last) {
  z_stream& stream = deflater_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(buffer_.get());
  stream.avail_in = static_cast<uInt>(used_);
  do {
    stream.next_out = reinterpret_cast<Bytef*>(deflater_->out.get());
    stream.avail_out = Deflater::kOut;
    if (!status_.ok() || deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR) return;
    Write(deflater_->out.get(), Deflater::kOut - stream.avail_out);
  } while (stream.avail_out == 0);
}

void OutputFile::Write(const char* bytes, size_t size) {
  if (take_) return take_({bytes, size});
  while (status_.ok() && size > 0) {
    const ssize_t done = write(fd_.get(), bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      status_ = base::Status::FromErrno("writing " + path_ + kPart);
      return;
    }
    bytes += done;
    size -= static_cast<size_t>(done);
  }
}

base::Status OutputFile::Finish() {
  if (finished_) return status_;
  if (deflater_) {
    Compress(true);
    flushed_ += used_;
    used_ = 0;
  } else {
    Flush();
  }
  if (take_) {
    finished_ = true;
    return status_;
  }
  const std::string whole = part_.substr(0, part_.size() - std::strlen(kPart));
  if (status_.ok() && rename(part_.c_str(), whole.c_str()) != 0)
    status_ = base::Status::FromErrno("renaming " + path_ + kPart);
  finished_ = status_.ok();
  fd_.Reset();
  return status_;
}

}  // namespace profd::client
