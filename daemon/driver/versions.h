// Versions of what the vendor installs on a node, out of the files its packages leave, and whether they
// belong together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace profd::driver {

struct Versions {
  std::map<std::string, std::string> of;  // driver, firmware, cann: those that are known
  std::string note;  // what does not belong together; "" = nothing, as far as the files tell
};

// "Key=value" lines of a version.info. Values that are no plain short text are left out: anybody may have
// written them.
std::map<std::string, std::string> ParseVersionInfo(std::string_view text);

// Of the three files' lines.
Versions VersionsOf(const std::map<std::string, std::string>& driver,
                    const std::map<std::string, std::string>& firmware,
                    const std::map<std::string, std::string>& cann);

// Where CANN may be: in `toolkit`, or, where that is "", where the environment says and where it is usually
// installed.
std::vector<std::string> Toolkits(const std::string& toolkit);

// `install_info`: the file that says where the driver is, /etc/ascend_install.info. `toolkits`: folders of
// CANN, the first that has a version counts.
Versions ReadVersions(const std::string& install_info, const std::vector<std::string>& toolkits);

}  // namespace profd::driver
