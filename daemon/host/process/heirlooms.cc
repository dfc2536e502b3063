#include "daemon/host/process/heirlooms.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <charconv>
#include <utility>

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

struct Files {
  std::map<std::string, int> told, left;
};
Files& TheFiles() {
  static auto* files = new Files;  // threads may still want them while profd ends
  return *files;
}

}  // namespace

Status Heirlooms::Read(std::string_view told) {
  while (!told.empty()) {
    const std::string_view entry = told.substr(0, told.find(','));
    told.remove_prefix(std::min(entry.size() + 1, told.size()));
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view number = entry.substr(std::min(equals + 1, entry.size()));
    int fd = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fd);
    if (error != std::errc() || end != number.data() + number.size() ||
        ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return {Code::kInvalidArgument,
              "'" + std::string(entry) + "' is no NAME=FILE that a profd has left: only profd starts this"};
    }
    TheFiles().told[std::string(entry.substr(0, equals))] = fd;
  }
  return Status::Ok();
}

Result<UniqueFd> Heirlooms::File(const std::string& name, const std::function<Result<UniqueFd>()>& make) {
  Files& files = TheFiles();
  UniqueFd file;
  if (const auto told = files.told.find(name); told != files.told.end()) {
    file.Reset(told->second);
    files.told.erase(told);
  } else {
    PROFD_ASSIGN_OR_RETURN(file, make());
  }
  files.left[name] = file.get();
  return file;
}

Heirlooms::Memory Heirlooms::Shared(const std::string& name, size_t bytes) {
  Memory memory;
  auto file = File(name, [&]() -> Result<UniqueFd> {
    memory.is_new = true;
    UniqueFd made(::memfd_create(("profd-" + name).c_str(), MFD_CLOEXEC));
    if (!made || ::ftruncate(made.get(), static_cast<off_t>(bytes)) != 0)
      return Status::FromErrno("make memory that processes share");
    return made;
  });
  if (!file.ok()) return {};
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->Release(), 0);
  memory.at = at == MAP_FAILED ? nullptr : at;
  return memory;
}

const std::map<std::string, int>& Heirlooms::left() { return TheFiles().left; }

}  // namespace profd::host
