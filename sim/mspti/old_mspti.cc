#include "sim/mspti/variant.h"

const bool profd::sim::mspti::kOldLibrary = true;
