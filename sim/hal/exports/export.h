// How a function gets out of the library: under its C name, everything else stays hidden.
#pragma once

#define PROFD_SIM_EXPORT extern "C" __attribute__((visibility("default")))
