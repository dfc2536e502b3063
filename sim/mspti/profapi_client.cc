#include "sim/mspti/profapi_client.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace profd::sim::mspti {

constinit std::atomic<uint64_t> Profapi::switches_{0};

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
  // The job is a module, too, if the router knows modules: it keeps the latest command only.
  constexpr uint32_t kLauncher = 61, kSwitch = 1, kStart = 1, kStop = 2;
  using ModuleFn = int (*)(uint32_t, void*, uint32_t);
  const auto be_module =
      reinterpret_cast<int (*)(uint32_t, ModuleFn)>(::dlsym(library, "MsprofRegisterCallback"));
  report_ = reinterpret_cast<decltype(report_)>(::dlsym(library, "MsprofReportAdditionalInfo"));
  if (be_module == nullptr) return;
  be_module(kLauncher, [](uint32_t type, void* data, uint32_t bytes) {
    if (type != kSwitch || bytes != sizeof(Command)) return 0;
    const auto& command = *static_cast<const Command*>(data);
    if (command.type == kStart) switches_ = command.switches;
    if (command.type == kStop) switches_ = 0;
    return 0;
  });
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
