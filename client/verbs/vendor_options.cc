#include "client/verbs/vendor_options.h"

#include <string>

#include "client/options/describe.h"
#include "client/options/table.h"

namespace profd::client {

namespace {

constexpr char kGroup[] = "In the words of the vendor's msprof";

}  // namespace

void AddVendorOptions(cli::Arguments arguments, bool for_start, options::Given* given) {
  for (const options::Option& option : options::Table()) {
    if (for_start && !options::IsForStart(option)) continue;
    const std::string name(option.name);
    const std::string old_name(option.old_name.empty() ? "" : ",--" + std::string(option.old_name));
    const bool offered = option.standing < options::Standing::kMissing;
    arguments
        .Each(
            "--" + name + old_name, [given, name](const std::string& value) { (*given)[name] = value; },
            options::Help(option, !for_start))
        .Newest()
        .InGroup(offered ? kGroup : "");
  }
  const auto show_all = [arguments]() mutable {
    for (const options::Option& option : options::Table())
      arguments.Regroup("--" + std::string(option.name), kGroup);
  };
  arguments.HelpFlag("--help-all", show_all,
                     for_start ? "also what profd does not collect"
                               : "also what profd does not collect, and what other chips have");
}

void HideOtherChips(cli::Arguments arguments, options::Chips chips) {
  for (const options::Option& option : options::Table()) {
    if ((option.chips & chips).empty()) arguments.Regroup("--" + std::string(option.name), "");
  }
}

}  // namespace profd::client
