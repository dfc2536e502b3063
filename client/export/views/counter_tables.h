// How the rows of a series appear in a timeline: as counters, in which process, named how, scaled how. Data
// only; chrome and perfetto read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/export/views/layers.h"
#include "format/series.h"

namespace profd::client {

// Names may hold "{key}": the key's label, or its number. "{key:A|B}": by number, from 0. "{key%3}": three
// digits at least. "{key? Die #}": the text with the number for #, nothing if the number is negative.
// "{key!Avg}": the number, the text if it is negative.
struct CounterArg {
  std::string_view name;
  std::string_view source;  // a column, "@key", or "a+b": the sum of two columns
  double scale = 1;         // base unit × scale
  enum class Form : uint8_t { kNumber, kRounded, kInteger } form = Form::kNumber;  // kRounded: to 3 decimals
  double vendor_scale = 0;            // the vendor's factor, where it's a fault; 0 = the same
  std::string_view older_name = {};   // of the older exporter, "" = the same
  std::string_view vendor_name = {};  // what the vendor calls it, "" = the same
};

struct CounterEvent {
  std::string_view name;
  std::vector<CounterArg> args;
  uint32_t thread = 0;
  std::string_view when = {};    // "key=number", "key!=number": only rows with that key, or another
  uint8_t vendor_copies = 1;     // how often the vendor writes it
  bool copies_of_older = false;  // only its older exporter does
  uint8_t vendor_ends = 0;       // how often more the first and the last
  bool joined = false;  // the rows of a moment make one event; of arguments with one name the largest
};

struct CounterTable {
  std::string_view series;
  Layer layer = Layer::kOther;
  std::vector<CounterEvent> events;
  bool extra = false;  // the vendor's timeline doesn't have it
};

std::span<const CounterTable> CounterTables();
// None: no timeline shows it. `all`: with the extra ones.
std::vector<const CounterTable*> FindCounterTables(std::string_view series, bool all);

// `name` with its "{…}" filled in. `labels[i]`: what keys[i] is called, "" = as a number.
std::string FillName(std::string_view name, const format::Series& series, std::span<const int64_t> keys,
                     std::span<const std::string_view> labels);

}  // namespace profd::client
