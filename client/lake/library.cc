#include "client/lake/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace profd::lake {
namespace {

using base::Code;
using base::Status;

#ifdef __aarch64__
constexpr char kBuilt[] = "/lake/node_modules/@duckdb/node-bindings-linux-arm64/libduckdb.so";
#else
constexpr char kBuilt[] = "/lake/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so";
#endif
constexpr char kInstalled[] = "/usr/lib/profd/libduckdb.so";

// Of a checkout: build/lake, beside build/bin, where this program is.
std::string Built() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t folder = program.rfind('/');
  const size_t above = folder == 0 || folder == std::string::npos ? folder : program.rfind('/', folder - 1);
  return above == std::string::npos ? kInstalled : program.substr(0, above) + kBuilt;
}

base::Result<const Library*> Load() {
  const std::string path = access(kInstalled, R_OK) == 0 ? kInstalled : Built();
  if (access(path.c_str(), R_OK) != 0)
    return Status(Code::kUnavailable,
                  "SQL needs the library DuckDB, which is not there: install the package profd-lake; in a "
                  "checkout run scripts/lake.sh");
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Status(Code::kUnavailable, "cannot load " + path + ": " + dlerror());
  static Library library;
#define PROFD_FIND(name, returns, takes)                                                   \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "duckdb_" #name)); \
  if (library.name == nullptr)                                                             \
    return Status(Code::kUnavailable,                                                      \
                  path + " has no function duckdb_" #name ": install the profd-lake of this version");
  PROFD_DUCKDB_FUNCTIONS(PROFD_FIND)
#undef PROFD_FIND
  if (std::string_view(library.library_version()) != kDuckdbVersion)
    return Status(Code::kUnavailable, path + " is DuckDB " + library.library_version() + ", expected " +
                                          kDuckdbVersion + ": install the profd-lake of this version");
  return &library;
}

}  // namespace

base::Result<const Library*> LoadLibrary() {
  static const base::Result<const Library*> loaded = Load();
  return loaded;
}

}  // namespace profd::lake
