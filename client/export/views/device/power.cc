// Frequencies and voltages of a device.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

#include "client/export/views/views.h"

namespace profd::client {

namespace {

const CounterTable kCounters[] = {
    {"core_freq",
     Layer::kCoreFrequency,
     {{.name = "AI Core Freq{die? Die #}",
       .args = {{"MHz", "freq", kMhz, kInteger}},
       .vendor_copies = 4,
       .vendor_ends = 2}}},
    {"voltage",
     Layer::kVoltage,
     {{"{type:|Aicore Voltage|Bus Voltage}", {{"mV", "millivolts", 1, kInteger}}}}},
};

const DbTable kDbTables[] = {
    {.name = "AICORE_FREQ",
     .series = "core_freq",
     .columns = {kDevice,
                 kStampNumeric,
                 {"freq", "INTEGER", "freq", kMhz, kWhole},
                 {"dieId", "NUMERIC", "@key:die"}},
     .vendor_copies = 2,
     .vendor_ends = 1},
    {"VOLTAGE",
     "voltage",
     {kDevice,
      kStamp,
      {"type", "INTEGER", "@text:{type:|core|bus}"},
      {"millivolts", "NUMERIC", "millivolts"}},
     false},
};

}  // namespace

namespace views {
Views Power() { return {.counters = kCounters, .tables = kDbTables}; }
}  // namespace views

}  // namespace profd::client
