// Where an export finds names of functions: any bytes as an ELF file, and as what a JIT says of its code.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "client/export/symbols/elf_symbols.h"
#include "client/export/symbols/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::client;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PerfMap map = PerfMap::Parse(text);
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1000}, uint64_t{0x1fff}, UINT64_MAX})
    PROFD_CHECK(map.Find(address).size() <= size);

  const profd::base::UniqueFd file(::memfd_create("symbols_fuzz", MFD_CLOEXEC));
  PROFD_CHECK(::write(file.get(), data, size) == static_cast<ssize_t>(size));
  struct stat facts {};
  PROFD_CHECK(::fstat(file.get(), &facts) == 0);
  const FileIdentity identity{major(facts.st_dev), minor(facts.st_dev), facts.st_ino, UINT64_MAX};
  const auto symbols = ElfSymbols::Read("/proc/self/fd/" + std::to_string(file.get()), identity, "/nowhere");
  if (!symbols.ok()) return 0;
  for (const uint64_t offset : {uint64_t{0}, uint64_t{0x100}, uint64_t{0x1000}, uint64_t{size}, UINT64_MAX}) {
    const std::string_view name = symbols->Find(offset);
    PROFD_CHECK(name.size() <= size);
    (void)Demangled(name);
  }
  return 0;
}
