#include "client/verify.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/unique_fd.h"
#include "client/text.h"
#include "client/verify_parts.h"
#include "format/manifest.h"
#include "format/prof_dir.h"
#include "format/stream_check.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using format::FileShape;
using format::StreamCheck;

constexpr size_t kPiece = 1u << 20;
constexpr size_t kMaxPiece = 64u << 20;
constexpr size_t kMaxSmall = 64u << 20;

UniqueFd OpenDir(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::set<std::string> Names(int dir) {
  std::set<std::string> names;
  UniqueFd own(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return names;
  own.Release();
  while (const dirent* entry = ::readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.insert(name);
  }
  return names;
}

// A regular file; `why` says what is in its place.
UniqueFd OpenFile(int dir, const std::string& name, uint64_t* bytes, std::string* why) {
  UniqueFd fd(::openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) {
    *why = errno == ELOOP ? "is a symbolic link" : Status::FromErrno("cannot be opened").message();
    return {};
  }
  if (!S_ISREG(facts.st_mode)) {
    *why = "is no regular file";
    return {};
  }
  *bytes = static_cast<uint64_t>(facts.st_size);
  return fd;
}

// -1: an error, with errno.
ssize_t ReadSome(int fd, std::byte* into, size_t bytes) {
  for (;;) {
    const ssize_t got = ::read(fd, into, bytes);
    if (got >= 0 || errno != EINTR) return got;
  }
}

class Verifier {
 public:
  Verifier(int dir, VerifyReport& report) : dir_(dir), report_(report) {}

  // False: no PROF directory.
  bool Run() {
    const std::set<std::string> names = Names(dir_);
    std::vector<std::string> sides;
    for (const std::string& name : names) {
      if (name == "host" || format::DeviceOfFolder(name)) sides.push_back(name);
    }
    if (sides.empty()) return false;
    if (names.contains("profd")) ReadManifest();
    for (const std::string& side : sides) Side(side);
    if (names.contains("profd")) Data("profd", OpenDir(dir_, "profd"), UINT32_MAX);
    if (manifest_) {
      for (const std::string& what : CheckCounts(*manifest_, found_)) Complain("profd/manifest.json", what);
      for (const std::string& what : CheckClocks(manifest_->clocks)) Complain("profd/manifest.json", what);
    }
    return true;
  }

 private:
  void Complain(const std::string& file, const std::string& what, std::optional<uint64_t> offset = {}) {
    if (report_.complaints.size() < VerifyReport::kMaxComplaints) {
      report_.complaints.push_back({OneLine(file), offset, OneLine(what)});
    } else {
      ++report_.more_complaints;
    }
  }

  std::optional<std::string> ReadSmall(int dir, const std::string& name, const std::string& path) {
    uint64_t bytes = 0;
    std::string why;
    const UniqueFd fd = OpenFile(dir, name, &bytes, &why);
    if (fd && bytes > kMaxSmall) why = "is too large: " + std::to_string(bytes) + " bytes";
    if (!why.empty()) {
      Complain(path, why);
      return std::nullopt;
    }
    std::string text(static_cast<size_t>(bytes), '\0');
    size_t got = 0;
    while (got < text.size()) {
      const ssize_t count =
          ReadSome(fd.get(), reinterpret_cast<std::byte*>(text.data()) + got, text.size() - got);
      if (count < 0) Complain(path, Status::FromErrno("cannot be read").message());
      if (count <= 0) break;
      got += static_cast<size_t>(count);
    }
    text.resize(got);
    return text;
  }

  void ReadManifest() {
    const std::string path = "profd/manifest.json";
    const UniqueFd own = OpenDir(dir_, "profd");
    const auto text = ReadSmall(own.get(), "manifest.json", path);
    report_.by_profd = true;
    if (!text) return;
    auto manifest = format::ParseManifest(*text);
    if (!manifest.ok()) return Complain(path, manifest.status().message());
    manifest_ = std::move(manifest).value();
    report_.session = manifest_->session;
    report_.state = manifest_->state;
    report_.end_reason = manifest_->end_reason;
    for (const format::ManifestStream& stream : manifest_->streams)
      report_.lost_records += stream.lost_records;
    if (manifest_->state != "sealed") {
      Complain(
          path,
          "not sealed: it is being recorded, or was interrupted (a directory in profd's spool is mended when "
          "profd starts again)");
    }
  }

  bool sealed() const { return manifest_ && manifest_->state == "sealed"; }

  void Side(const std::string& side) {
    const UniqueFd folder = OpenDir(dir_, side);
    if (!folder) return Complain(side, "is no directory");
    const auto device = format::DeviceOfFolder(side);
    const std::string tag = device ? "." + std::to_string(*device) : "";
    const std::set<std::string> names = Names(folder.get());
    std::vector<std::string> wanted = {"info.json" + tag, "sample.json", "start_info" + tag,
                                       "host_start.log" + tag};
    if (device) wanted.push_back("dev_start.log" + tag);
    if (sealed() || !manifest_) wanted.push_back("end_info" + tag);
    uint32_t chip = UINT32_MAX;
    for (const std::string& name : wanted) {
      const std::string path = side + "/" + name;
      if (!names.contains(name)) {
        Complain(path, "is missing");
        continue;
      }
      const auto text = ReadSmall(folder.get(), name, path);
      if (!text) continue;
      for (const std::string& what : CheckControlFile(name, *text, device)) Complain(path, what);
      if (name.starts_with("info.json")) chip = format::ChipOf(*text).value_or(UINT32_MAX);
    }
    for (const std::string& name : names) {
      if (name.starts_with(".")) Complain(side + "/" + name, "was left over by a write that did not end");
      if (name.starts_with(".") || name == "data" || name.ends_with(".done")) continue;
      Marker(folder.get(), side + "/", name, names);
    }
    const UniqueFd data = OpenDir(folder.get(), "data");
    if (!data) return Complain(side + "/data", "is no directory");
    Data(side, UniqueFd(::dup(data.get())), chip);
  }

  // The `.done` of a file says its size.
  void Marker(int dir, const std::string& folder, const std::string& name,
              const std::set<std::string>& names) {
    const std::string done = name + ".done";
    if (!names.contains(done)) {
      if (sealed()) Complain(folder + name, "has no .done marker");
      return;
    }
    uint64_t bytes = 0;
    std::string why;
    if (!OpenFile(dir, name, &bytes, &why)) return Complain(folder + name, why);
    const auto text = ReadSmall(dir, done, folder + done);
    if (!text) return;
    const auto says = format::DoneBytes(*text);
    if (!says) return Complain(folder + done, "does not begin with 'filesize:' and a number");
    if (*says != bytes) {
      Complain(folder + done,
               "says " + std::to_string(*says) + " bytes, the file has " + std::to_string(bytes));
    }
  }

  void Data(const std::string& side, UniqueFd data, uint32_t chip) {
    if (!data) return Complain(side, "is no directory");
    const std::string folder = side == "profd" ? "profd/" : side + "/data/";
    const std::set<std::string> names = Names(data.get());
    std::map<std::string, std::set<uint64_t>> streams;
    for (const std::string& name : names) {
      const bool marker = name.ends_with(".done");
      const std::string target = marker ? name.substr(0, name.size() - 5) : name;
      const auto parsed = format::ParseSliceName(target);
      if (name.starts_with(".")) {
        Complain(folder + name, "was left over by a write that did not end");
      } else if (marker && !names.contains(target)) {
        Complain(folder + name, "marks a file that is not there");
      } else if (!marker && parsed) {
        streams[target.substr(0, target.rfind(".slice_"))].insert(parsed->slice);
        Marker(data.get(), folder, name, names);
      }
    }
    for (const auto& [file, numbers] : streams) Stream(side, data.get(), folder, file, numbers, chip);
  }

  void Stream(const std::string& side, int data, const std::string& folder, const std::string& file,
              const std::set<uint64_t>& numbers, uint32_t chip) {
    const auto device = format::DeviceOfFolder(side);
    const std::string tag = device ? "." + std::to_string(*device) : "";
    std::string kind = file;
    if (!tag.empty() && kind.ends_with(tag)) kind.resize(kind.size() - tag.size());
    const FileShape shape = format::ShapeOf(side, kind, chip);
    if (shape.what == FileShape::What::kUnknown && std::ranges::count(report_.unchecked, kind) == 0) {
      report_.unchecked.push_back(OneLine(kind));
    }

    // Which slice an offset of the stream is in.
    std::vector<std::pair<uint64_t, std::string>> begins;
    StreamCheck check(shape, *numbers.begin() == 0);
    size_t reported = 0;
    Buffer buffer;
    uint64_t total = 0;
    uint64_t previous = *numbers.begin();
    for (const uint64_t number : numbers) {
      const std::string name = format::SliceName(file, -1, number);
      if (number > previous + 1) {
        Complain(folder + name, "slices " + std::to_string(previous + 1) + " to " +
                                    std::to_string(number - 1) + " before it are missing");
      }
      previous = number;
      begins.emplace_back(total, folder + name);
      // The vendor's collector cuts slices anywhere; only the end of the stream is a record's.
      total +=
          Slice(data, folder + name, name, check, buffer, report_.by_profd || number == *numbers.rbegin());
      ++report_.slices;
      for (; reported < check.findings().size(); ++reported) {
        const format::Finding& finding = check.findings()[reported];
        auto in =
            std::prev(std::upper_bound(begins.begin(), begins.end(), finding.offset,
                                       [](uint64_t at, const auto& begin) { return at < begin.first; }));
        Complain(in->second, finding.what, finding.offset - in->first);
      }
    }
    if (check.more_findings() > 0) {
      Complain(folder + file, "and " + std::to_string(check.more_findings()) + " more places of this stream");
    }
    report_.bytes += total;
    found_[side + "/" + file] = {.bytes = total - check.header_bytes(),
                                 .records = check.records(),
                                 .first_slice = *numbers.begin(),
                                 .next_slice = *numbers.rbegin() + 1,
                                 .lane_records = check.lane_records()};
  }

  // Bytes that were read and not yet taken.
  struct Buffer {
    std::vector<std::byte> bytes = std::vector<std::byte>(kPiece);
    size_t held = 0;
  };

  // How many bytes the slice has.
  uint64_t Slice(int data, const std::string& path, const std::string& name, StreamCheck& check,
                 Buffer& buffer, bool ends_whole) {
    uint64_t size = 0;
    std::string why;
    const UniqueFd fd = OpenFile(data, name, &size, &why);
    if (!fd) {
      Complain(path, why);
      return 0;
    }
    if (size == 0) Complain(path, "is empty");
    uint64_t read = 0;
    while (read < size) {
      if (buffer.held == buffer.bytes.size()) {
        if (buffer.held >= kMaxPiece) {  // no line or block is that long
          Complain(path, "no end of a record in " + FormatBytes(static_cast<double>(buffer.held)),
                   check.offset());
          check.Skip(buffer.held);
          buffer.held = 0;
        } else {
          buffer.bytes.resize(buffer.bytes.size() * 2);
        }
      }
      const size_t room =
          static_cast<size_t>(std::min<uint64_t>(buffer.bytes.size() - buffer.held, size - read));
      const ssize_t got = ReadSome(fd.get(), buffer.bytes.data() + buffer.held, room);
      if (got <= 0) {
        Complain(path, got < 0 ? Status::FromErrno("cannot be read").message() : "became shorter meanwhile",
                 read);
        break;
      }
      read += static_cast<uint64_t>(got);
      buffer.held += static_cast<size_t>(got);
      const size_t taken = check.Take(std::span(buffer.bytes).first(buffer.held), ends_whole && read == size);
      std::copy(buffer.bytes.begin() + static_cast<ptrdiff_t>(taken),
                buffer.bytes.begin() + static_cast<ptrdiff_t>(buffer.held), buffer.bytes.begin());
      buffer.held -= taken;
    }
    if (ends_whole && buffer.held > 0) {  // after an error
      check.Skip(buffer.held);
      buffer.held = 0;
    }
    return read;
  }

  const int dir_;
  VerifyReport& report_;
  std::optional<format::Manifest> manifest_;
  FoundStreams found_;
};

}  // namespace

Result<VerifyReport> Verify(const std::string& directory) {
  VerifyReport report;
  report.directory = directory;
  const UniqueFd dir(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) {
    if (errno == ENOTDIR) return Status(Code::kInvalidArgument, directory + " is no directory");
    return Status::FromErrno("verify " + directory);
  }
  if (Verifier(dir.get(), report).Run()) return report;
  return Status(Code::kInvalidArgument,
                directory + " is no PROF directory: it has neither host/ nor device_<N>/");
}

}  // namespace profd::client
