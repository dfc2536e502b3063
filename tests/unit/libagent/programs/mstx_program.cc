// A program instrumented with mstx that knows nothing of profd. Waits for a line before and after its work.
// With an argument it loads that library (the vendor's libprofapi.so) half way through.
#include <cstdio>
#include <thread>

#include "tests/unit/libagent/programs/mstx_api.h"

namespace {

void Hear() {
  char line[64];
  if (std::fgets(line, sizeof(line), stdin) == nullptr) std::exit(0);
}

int g_failures = 0;
void Expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("FAILED %s\n", what);
  ++g_failures;
}

void Work() {
  mstx::Mark("host mark", nullptr);
  mstx::Mark("device mark", reinterpret_cast<void*>(0x1234));
  mstx::Mark(nullptr, nullptr);
  const uint64_t first = mstx::RangeStart("overlap one", nullptr);
  const uint64_t second = mstx::RangeStart("overlap two", nullptr);
  Expect(first != 0 && second != 0 && first != second, "range ids are unique");
  // The first ends while the second is open, on another thread.
  std::thread([first] { mstx::RangeEnd(first); }).join();
  mstx::RangeEnd(second);
  void* domain = mstx::DomainCreate("communication");
  Expect(domain != nullptr, "a domain is never NULL");
  Expect(mstx::DomainCreate("communication") == domain, "the same name is the same domain");
  Expect(mstx::DomainCreate("comm") != domain, "another name is another domain");
  Expect(mstx::DomainCreate(nullptr) != nullptr, "nor without a name");
  mstx::DomainMark(domain, "in domain", nullptr);
  mstx::DomainRangeEnd(domain, mstx::DomainRangeStart(domain, "all reduce", nullptr));
  mstx::DomainMark(nullptr, "default domain", nullptr);
  mstx::DomainMark(reinterpret_cast<void*>(0x42), "a handle that is none", nullptr);
  mstx::DomainDestroy(domain);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("tool %llx\n", static_cast<unsigned long long>(mstx::ToolId()));
  std::fflush(stdout);
  Hear();
  Work();
  if (argc > 1) {
    Expect(dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) != nullptr, "load the vendor's library");
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // it is looked for once a second
    Work();
  }
  std::printf("worked %d\n", g_failures);
  std::fflush(stdout);
  Hear();
  return g_failures;
}
