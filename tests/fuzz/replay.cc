// Runs a fuzz target without a fuzzer: every file of a corpus as it is, then N mutations of them, the same
// ones in every run. The input of a run that dies is left behind in "<corpus name>.input".
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Mutator {
 public:
  explicit Mutator(std::vector<Bytes> corpus) : corpus_(std::move(corpus)) {}

  Bytes Next() {
    Bytes input = corpus_[Below(corpus_.size())];
    for (size_t changes = 1 + Below(8); changes > 0; --changes) Change(input);
    return input;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void Change(Bytes& input) {
    const size_t at = Below(input.size() + 1);
    const size_t length = std::min(input.size() - at, Below(16) + 1);
    const auto from = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = from + static_cast<std::ptrdiff_t>(length);
    switch (Below(6)) {
      case 0:
        if (length > 0) *from ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 1:
        std::generate(from, to, [this] { return static_cast<uint8_t>(random_()); });
        break;
      case 2:
        input.erase(from, to);
        break;
      case 3: {
        const Bytes copy(from, to);
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(Below(input.size() + 1)), copy.begin(),
                     copy.end());
        break;
      }
      case 4: {
        constexpr uint8_t kTelling[] = {0,   1,   0x7f, 0x80, 0xff, '"', '\\', '{',
                                        '[', ':', '.',  '-',  '\n', '9', '%'};
        input.insert(from, kTelling[Below(std::size(kTelling))]);
        break;
      }
      default: {
        // The head of this one, the tail of another.
        const Bytes& other = corpus_[Below(corpus_.size())];
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(Below(other.size() + 1)),
                     other.end());
      }
    }
  }

  std::vector<Bytes> corpus_;
  std::mt19937_64 random_{20231114};
};

// Keeps the input of the current run in a file.
class Trail {
 public:
  explicit Trail(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) {}
  ~Trail() { ::close(fd_); }
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  bool Set(const Bytes& input) {
    const auto size = static_cast<off_t>(input.size());
    return ::ftruncate(fd_, size) == 0 && ::pwrite(fd_, input.data(), input.size(), 0) == size;
  }

 private:
  int fd_;
};

void Run(const Bytes& input, Trail& trail) {
  if (!trail.Set(input)) std::perror("trail");
  // A copy of exactly this size, so that a sanitizer sees a read beyond it.
  const Bytes exact(input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY MUTATIONS\n", argv[0]);
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 1;
  }
  const std::string trail_path = folder.filename().string() + ".input";
  Trail trail(trail_path);
  std::vector<Bytes> corpus;
  for (const auto& path : paths) corpus.push_back(ReadFile(path));
  Run({}, trail);
  for (const Bytes& input : corpus) Run(input, trail);
  Mutator mutator(std::move(corpus));
  for (long left = std::strtol(argv[2], nullptr, 10); left > 0; --left) Run(mutator.Next(), trail);
  std::filesystem::remove(trail_path);
  return 0;
}
