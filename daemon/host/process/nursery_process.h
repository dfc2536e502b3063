// The process that stand-ins are forked from, and what it is told.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "daemon/host/process/text_channel.h"

namespace profd::host {

using StandInAnswer = std::function<std::string(std::string_view request)>;
using StandInDuty = StandInAnswer (*)();
using StandInWork = void (*)(TextChannel& channel, StandInDuty nothing);

// A new one, for the socket that comes along, or with no work, the end of an old one.
struct NurseryOrder {
  uint64_t number = 0;
  StandInWork work = nullptr;
  StandInDuty duty = nullptr;
  uid_t user = 0;  // whose processes it looks at

  // `passed`: the socket, -1: none. Waits while the nursery has not taken earlier ones, as long as the
  // channel says.
  bool Send(int channel, int passed) const;
};

// In the new process, which has no thread but this one: obeys until the other end of `orders` is gone.
[[noreturn]] void RunNursery(base::UniqueFd orders);

}  // namespace profd::host
