#include "sim/mspti/profapi_client.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace profd::sim::mspti {

Profapi::Profapi() noexcept {
  void* library = nullptr;
  if (const char* home = std::getenv("ASCEND_HOME_PATH")) {
    library = ::dlopen((std::string(home) + "/lib64/libprofapi.so").c_str(), RTLD_LAZY);
  }
  if (library == nullptr) library = ::dlopen("libprofapi.so", RTLD_LAZY);
  const auto find = [library]<typename F>(F& function, const char* name) {
    if (library != nullptr) function = reinterpret_cast<F>(::dlsym(library, name));
    // Thrown through noexcept on purpose: nothing catches it.
    if (function == nullptr) throw std::runtime_error(std::string("mspti simulator: no ") + name);
  };
  find(set_callback_, "MsprofRegisterProfileCallback");
  find(set_command_, "profSetProfCommand");
  find(register_mstx_, "ProfRegisterMstxFunc");
  find(enable_mstx_, "ProfEnableMstxFunc");
}

void Profapi::Switch(bool on, uint64_t switches, const std::vector<uint32_t>& devices) const {
  constexpr uint32_t kStart = 1, kStop = 2, kNoModel = 0xFFFFFFFF;
  Command command{};
  command.switches = switches;
  command.device_count = static_cast<uint32_t>(std::min<size_t>(devices.size(), 64));
  std::copy_n(devices.begin(), command.device_count, command.devices);
  command.model = kNoModel;
  command.type = on ? kStart : kStop;
  set_command_(&command, sizeof command);
}

const Profapi& TheProfapi() {
  static const Profapi& profapi = *new Profapi;
  return profapi;
}

}  // namespace profd::sim::mspti
