// profctl(1), beside what its command line says about itself.
#pragma once

#include "base/cli/manual.h"

namespace profd::client {

cli::ManText Manual();

}  // namespace profd::client
