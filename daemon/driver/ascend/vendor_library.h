// Libraries of the vendor's beside the driver's: found in the places where they are installed, loaded for the
// life of the process, asked for their functions by name.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace profd::driver {

// "/usr/lib64" of "/usr/lib64/libascend_hal.so"; "" of a name alone.
std::string FolderOf(const std::string& path);
// Of the first folder that has it; "" = none does.
std::string FindLibrary(const std::vector<std::string>& folders, const std::string& name);

// **Thread:** any.
class VendorLibrary {
 public:
  explicit VendorLibrary(void* handle) : handle_(handle) {}
  static base::Result<VendorLibrary> Load(const std::string& path);

  // nullptr where the library has no such function.
  template <typename Function>
  void Bind(Function*& target, const char* name) const {
    target = reinterpret_cast<Function*>(Symbol(name));
  }

 private:
  void* Symbol(const char* name) const;

  void* handle_;
};

}  // namespace profd::driver
