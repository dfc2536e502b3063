// Loads and unloads the agent named by its argument, as a host of plugins would.
#include <dirent.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

int main(int, char** argv) {
  for (int i = 0; i < 10; ++i) {
    void* agent = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (agent == nullptr) return 1;
    reinterpret_cast<void (*)(uint32_t)>(dlsym(agent, "profd_mark"))(0);
    dlclose(agent);
  }
  int threads = 0;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) threads += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  std::printf("threads %d\n", threads);
  std::fflush(stdout);
  std::getchar();
  return 0;
}
