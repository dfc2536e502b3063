// What a stand-in answers that reads files of processes: profd believes nothing of it.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "daemon/host/scouts/file_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::host;
  FileTexts texts({reinterpret_cast<const char*>(data), size});
  size_t taken = 0;
  while (const auto said = texts.Next()) {
    taken += sizeof(FileText) + said->text.size();
    PROFD_CHECK(taken <= size);
    PROFD_CHECK(said->error >= 0 && said->error <= EHWPOISON);
    PROFD_CHECK(said->error == 0 || said->text.empty());
  }
  PROFD_CHECK(!texts.Next());
  return 0;
}
