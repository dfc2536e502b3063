// --all, -o wide, --sort and --filter of the verbs that show tables.
#pragma once

#include <string>
#include <vector>

#include "base/cli/arguments.h"
#include "base/status.h"
#include "client/show/screen/table.h"

namespace profd::client {

struct Shown {
  bool all = false;
  std::string output;
  std::string sort;
  std::vector<std::string> filters;
};

void DefineShown(cli::Arguments arguments, Shown* shown);
void DefineChoice(cli::Arguments arguments, Shown* shown);
// What is to be seen of it on stdout.
base::Result<Look> LookFor(const Shown& shown);

// Of `items`, one for each row of `table`, those that are asked for, in the order that is asked for.
template <typename Item>
base::Result<std::vector<Item>> Choose(const Shown& shown, Table& table, const std::vector<Item>& items) {
  PROFD_ASSIGN_OR_RETURN(const std::vector<size_t> rows, table.Choose(shown.sort, shown.filters));
  std::vector<Item> chosen;
  chosen.reserve(rows.size());
  for (const size_t row : rows) chosen.push_back(items[row]);
  return chosen;
}

}  // namespace profd::client
