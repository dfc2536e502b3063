// The way to a folder, of which a part may be somebody else's: links that he plants lead where he likes.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::base {

enum class IfMissing : bool { kFail, kMake };  // made: mode 0750

enum class Trust : uint8_t {
  kLinks,    // no link but root's and the caller's own leads on
  kFolders,  // nor does any folder in which somebody else could put another in the place of the next
};

// The folder that `path` leads to. For calls of its entries, not to read it. A group of root's that may write
// to a folder of root's is believed.
Result<UniqueFd> OpenWay(const std::string& path, IfMissing missing, Trust trust);

// The same for the folder of a file that is opened by its name, now and later: nobody else may write there,
// and `file` itself is no link.
Status CheckPlaceOf(const std::string& file);

}  // namespace profd::base
