// The library of an "old driver": before measured oscillator frequencies, process channels and flush.
#include "sim/hal/variant.h"

const uint32_t profd::sim::kLibraryApiVersion = 0x071904;
