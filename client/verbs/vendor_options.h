// The options of the vendor's msprof, as the table has them, among those of a verb.
#pragma once

#include "base/cli/arguments.h"
#include "client/options/check.h"

namespace profd::client {

// `for_start`: only those that say what to collect. And --help-all, which shows those that profd does not
// offer, too: they are taken, and refused with the reason. `given` must outlive the parser.
void AddVendorOptions(cli::Arguments arguments, bool for_start, options::Given* given);

// Takes what none of the chips has out of --help.
void HideOtherChips(cli::Arguments arguments, options::Chips chips);

}  // namespace profd::client
