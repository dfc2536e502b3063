// profctl export, which msprof --export is, too.
#pragma once

#include <string>
#include <vector>

#include "client/node/context.h"
#include "client/words/exit_code.h"

namespace profd::client {

struct ExportArguments {
  std::vector<std::string> directories;
  std::string format, layout, out, from, to, devices, kinds, split, jobs, iteration, model;
  bool vendor_compatible = false;
  bool gzip = false;
  bool resume = false;
  bool repair = false;      // of killed jobs
  bool recursive = false;   // into all that are found below a folder, too
  bool per_device = false;  // a directory of its own for each
  bool cluster = false;     // of all ranks together, for the vendor's analyser of many
  bool dry_run = false;     // only says what would be written
  // A folder stands for the PROF directories right in it: `msprof --export` of the vendor's.
  bool is_vendors = false;
  std::string without;  // a table that is not made
};

// The first option given that an export of one PROF directory alone obeys; nullptr: none. With
// `is_framework` without those that one of a framework's folder obeys, too.
const char* OptionOfOneDirectory(const ExportArguments& arguments, bool is_framework);

ExitCode RunExport(const Context& context, const ExportArguments& arguments);

}  // namespace profd::client
