// The table in words for people.
#pragma once

#include <string>

#include "client/options/table.h"

namespace profd::options {

// For --help: "samples of it a second: 1 to 100; default 50 (chips: 910B 950)".
// `with_default`: where no value is given the vendor's holds.
std::string Help(const Option& option, bool with_default);

// Every option and every other row of the feature list with its standing, in Markdown.
std::string StatusTables();

}  // namespace profd::options
