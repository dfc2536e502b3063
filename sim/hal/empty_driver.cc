// A library of the right name that is no driver.
#include "sim/hal/export.h"

PROFD_SIM_EXPORT int halNothing() { return 0; }
