// The rights that a root profd keeps. docs/operations.md says what each is for.
#pragma once

#include "base/status.h"

namespace profd::base {

// Takes from the calling thread, and from those it starts later, every capability that profd does not use,
// the way back to them, and system calls that it never makes. Of rights it does not have nothing is said: a
// profd of an ordinary user gives up none.
Status GiveUpRights();

}  // namespace profd::base
