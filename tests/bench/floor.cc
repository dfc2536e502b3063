// The yardstick of the throughput bench: what this machine needs to copy bytes out of one buffer and append
// them to files, and nothing else. Usage: floor DIRECTORY MEGABYTES; prints CPU seconds and bytes.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DIRECTORY MEGABYTES\n", argv[0]);
    return 2;
  }
  constexpr size_t kRing = 4u << 20;
  constexpr size_t kChunk = 256u << 10;
  constexpr size_t kSlice = 2u << 20;
  const size_t total = static_cast<size_t>(std::strtoull(argv[2], nullptr, 10)) << 20;
  std::vector<char> ring(kRing, 'x');
  std::vector<char> chunk(kChunk);
  const double before = CpuSeconds();
  int fd = -1;
  for (size_t done = 0; done < total; done += kChunk) {
    if (done % kSlice == 0) {
      if (fd >= 0) ::close(fd);
      const std::string name = std::string(argv[1]) + "/floor." + std::to_string(done / kSlice);
      fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
      if (fd < 0) {
        std::perror(name.c_str());
        return 1;
      }
    }
    std::memcpy(chunk.data(), ring.data() + done % kRing, kChunk);
    if (::write(fd, chunk.data(), kChunk) != static_cast<ssize_t>(kChunk)) {
      std::perror("write");
      return 1;
    }
  }
  ::close(fd);
  std::printf("{\"cpu_s\": %.6f, \"bytes\": %zu}\n", CpuSeconds() - before, total);
  return 0;
}
