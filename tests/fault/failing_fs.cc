// A file system that shows another directory and fails when told to: failing_fs FAULT_FILE SOURCE
// MOUNT_POINT. FAULT_FILE holds what happens to every change from now on: nothing when it is empty, "error N"
// (an errno), or "delay N" (milliseconds). "stall": no call of any kind is answered until it holds something
// else.
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

std::string fault_file;
std::string source;

bool Stalls() {
  char text[8] = {};
  FILE* file = std::fopen(fault_file.c_str(), "re");
  if (file == nullptr) return false;
  [[maybe_unused]] const size_t got = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  return std::strncmp(text, "stall", 5) == 0;
}

// Every call asks for its place in the source, or has a file.
void WaitWhileItStalls() {
  // The test writes a file, which tells nobody.
  while (Stalls()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}
std::string At(const char* path) {
  WaitWhileItStalls();
  return source + path;
}
int Answer(long result) { return result < 0 ? -errno : static_cast<int>(result); }

// What happens to a change: 0, or the error.
int Fault() {
  char text[64] = {};
  FILE* file = std::fopen(fault_file.c_str(), "re");
  if (file == nullptr) return 0;
  const size_t got = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  int number = 0;
  if (got > 0 && std::sscanf(text, "error %d", &number) == 1) return -number;
  if (got > 0 && std::sscanf(text, "delay %d", &number) == 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(number));  // how long the file system is to take
  return 0;
}

int GetAttributes(const char* path, struct stat* out, fuse_file_info* /*file*/) {
  return Answer(::lstat(At(path).c_str(), out));
}
int ReadDirectory(const char* path, void* into, fuse_fill_dir_t fill, off_t /*offset*/,
                  fuse_file_info* /*file*/, fuse_readdir_flags /*flags*/) {
  DIR* dir = ::opendir(At(path).c_str());
  if (dir == nullptr) return -errno;
  while (const dirent* entry = ::readdir(dir)) fill(into, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
  ::closedir(dir);
  return 0;
}
int MakeDirectory(const char* path, mode_t mode) {
  const int fault = Fault();
  return fault != 0 ? fault : Answer(::mkdir(At(path).c_str(), mode));
}
int Unlink(const char* path) { return Answer(::unlink(At(path).c_str())); }
int RemoveDirectory(const char* path) { return Answer(::rmdir(At(path).c_str())); }
int Rename(const char* from, const char* to, unsigned flags) {
  const int fault = Fault();
  return fault != 0 ? fault
                    : Answer(::renameat2(AT_FDCWD, At(from).c_str(), AT_FDCWD, At(to).c_str(), flags));
}
int ChangeMode(const char* path, mode_t mode, fuse_file_info* /*file*/) {
  return Answer(::chmod(At(path).c_str(), mode));
}
int ChangeOwner(const char* path, uid_t uid, gid_t gid, fuse_file_info* /*file*/) {
  return Answer(::lchown(At(path).c_str(), uid, gid));
}
int Truncate(const char* path, off_t size, fuse_file_info* /*file*/) {
  return Answer(::truncate(At(path).c_str(), size));
}
int Hold(int fd, fuse_file_info* file) {
  if (fd < 0) return -errno;
  file->fh = static_cast<uint64_t>(fd);
  return 0;
}
int Create(const char* path, mode_t mode, fuse_file_info* file) {
  const int fault = Fault();
  return fault != 0 ? fault : Hold(::open(At(path).c_str(), file->flags, mode), file);
}
int Open(const char* path, fuse_file_info* file) { return Hold(::open(At(path).c_str(), file->flags), file); }
int Flush(const char* path, fuse_file_info* /*file*/) {
  At(path == nullptr ? "" : path);
  return 0;
}
int Release(const char* /*path*/, fuse_file_info* file) {
  return Answer(::close(static_cast<int>(file->fh)));
}
int Read(const char* /*path*/, char* into, size_t bytes, off_t offset, fuse_file_info* file) {
  WaitWhileItStalls();
  return Answer(::pread(static_cast<int>(file->fh), into, bytes, offset));
}
int Write(const char* /*path*/, const char* data, size_t bytes, off_t offset, fuse_file_info* file) {
  const int fault = Fault();
  return fault != 0 ? fault : Answer(::pwrite(static_cast<int>(file->fh), data, bytes, offset));
}
int StatFs(const char* path, struct statvfs* out) { return Answer(::statvfs(At(path).c_str(), out)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "failing_fs FAULT_FILE SOURCE MOUNT_POINT\n");
    return 2;
  }
  fault_file = argv[1];
  source = argv[2];
  fuse_operations operations{};
  operations.getattr = GetAttributes;
  operations.readdir = ReadDirectory;
  operations.mkdir = MakeDirectory;
  operations.unlink = Unlink;
  operations.rmdir = RemoveDirectory;
  operations.rename = Rename;
  operations.chmod = ChangeMode;
  operations.chown = ChangeOwner;
  operations.truncate = Truncate;
  operations.create = Create;
  operations.open = Open;
  operations.flush = Flush;
  operations.release = Release;
  operations.read = Read;
  operations.write = Write;
  operations.statfs = StatFs;
  char allow[] = "-oallow_other,default_permissions,attr_timeout=0,entry_timeout=0";
  char foreground[] = "-f";
  char* arguments[] = {argv[0], foreground, allow, argv[3], nullptr};
  return fuse_main(4, arguments, &operations, nullptr);
}
