// What only a current libmspti.so has.
#include "sim/hal/exports/export.h"
#include "sim/mspti/library.h"
#include "sim/mspti/variant.h"

const bool profd::sim::mspti::kOldLibrary = false;

PROFD_SIM_EXPORT bool msptiActivityIsEnabled(uint32_t kind) {
  return profd::sim::mspti::Library::Get().IsEnabled(kind);
}
