#include "libagent/src/mspti/switches.h"

namespace profd::agent::mspti {

namespace {

constexpr uint32_t kBeginReporting = 1, kEndReporting = 2, kNoModel = 0xFFFFFFFF;

struct SwitchCommand {
  uint64_t switches, switches_high;
  uint32_t device_count, devices[64];
  uint32_t model, type, cache;
  char params[5136];
};
static_assert(sizeof(SwitchCommand) == 5424);

void Command(const Library& library, uint32_t type, uint32_t device, uint64_t switches) {
  static SwitchCommand command;  // large, and the worker is one
  command = {};
  command.switches = switches;
  command.device_count = 1;
  command.devices[0] = device;
  command.model = kNoModel;
  command.type = type;
  library.command(&command, sizeof(command));
}

}  // namespace

void SwitchOn(const Library& library, uint32_t device, uint64_t switches) {
  Command(library, kBeginReporting, device, switches);
}
void SwitchOff(const Library& library, uint32_t device, uint64_t switches) {
  Command(library, kEndReporting, device, switches);
}

}  // namespace profd::agent::mspti
