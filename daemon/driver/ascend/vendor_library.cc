#include "daemon/driver/ascend/vendor_library.h"

#include <dlfcn.h>
#include <unistd.h>

namespace profd::driver {

using base::Code;
using base::Result;
using base::Status;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string FindLibrary(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders) {
    std::string path = folder;
    path.append("/").append(name);
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

Result<VendorLibrary> VendorLibrary::Load(const std::string& path) {
  // NODELETE: the library's own threads outlive any close.
  void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NODELETE);
  if (handle != nullptr) return VendorLibrary(handle);
  const char* error = ::dlerror();
  return Status(Code::kUnavailable, std::string("cannot load ") + (error == nullptr ? path : error));
}

void* VendorLibrary::Symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace profd::driver
