// The attack: costly_target HOW UID. A process of that user that is dear to look at. Says "ready".
//   mappings  maps code and takes it away again, without end, on every processor
//   crowd     very many threads that sleep
//   births    threads that are born and die without end, on every processor
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

constexpr int kMappings = 60'000, kCrowd = 1000;
constexpr size_t kPage = 4096;

void* Map(int protection) { return ::mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

[[noreturn]] void Mappings() {
  for (int i = 0; i < kMappings; ++i) Map(i % 2 == 0 ? PROT_READ | PROT_EXEC : PROT_READ);
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) {
    if (::fork() == 0) break;
  }
  for (;;) {
    void* page = Map(PROT_READ | PROT_EXEC);
    if (page != MAP_FAILED) ::munmap(page, kPage);
  }
}

[[noreturn]] void Crowd() {
  for (int i = 0; i < kCrowd; ++i) std::thread([] { ::pause(); }).detach();
  for (;;) ::pause();
}

[[noreturn]] void Births() {
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) {
    if (::fork() == 0) break;
  }
  for (;;) std::thread([] {}).join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto user = static_cast<uid_t>(std::strtoul(argv[2], nullptr, 10));
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
      ::setresuid(user, user, user) != 0)
    return 1;
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as if it had always been that user's
  std::puts("ready");
  std::fflush(stdout);
  if (const std::string_view how = argv[1]; how == "mappings") {
    Mappings();
  } else if (how == "crowd") {
    Crowd();
  } else if (how == "births") {
    Births();
  }
  return 2;
}
