// A job of many ranks on disk, as the framework's profiler leaves it, with one slow rank; and what a part of
// a bench uses.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace profd::bench {

struct Shape {
  int64_t ranks = 16, kernels = 200'000, collectives = 510, steps = 10;
  int64_t SlowRank() const { return std::min<int64_t>(5, ranks - 1); }
};
// What a bench was asked for: --ranks N, --kernels N, --collectives N, --steps N, --gate, --jobs N, --dir
// FOLDER.
struct Asked {
  Shape shape;
  bool gate = false;
  unsigned jobs = 1;
  std::filesystem::path folder;  // of this run alone, in FOLDER
};
Asked Read(int argc, char** argv, std::string_view bench);

std::filesystem::path RankFolder(const std::filesystem::path& root, int64_t rank);
// All its ranks, below `folder`.
void MakeJob(const Shape& shape, const std::filesystem::path& folder);

// What a part of the bench has used, in a process of its own.
struct Used {
  bool is_right = false;
  double cpu_s = 0, mib = 0;
};
template <typename Body>
Used InChild(const Body& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  return {status == 0,
          static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
              static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
          static_cast<double>(used.ru_maxrss) / 1024};
}

}  // namespace profd::bench
