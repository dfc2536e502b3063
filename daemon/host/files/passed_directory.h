// What a process has passed to profd and profd has not received: looked at in a stand-in.
#pragma once

#include <sys/types.h>

#include "base/files/passed.h"
#include "base/status.h"

namespace profd::host {

// Of the next message of `socket`. May take some seconds. **Thread:** any but ctl.
base::Result<base::Comes> LookAtPassed(uid_t user, int socket);

}  // namespace profd::host
