// What there is to read at and below the directories that somebody named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/model/columns.h"

namespace profd::analyze {

struct Source {
  enum class Form : uint8_t { kDatabase, kCapture } form = Form::kDatabase;
  std::string path;
  int64_t rank = -1;  // as the name of its file or of its folder's says
  auto operator<=>(const Source&) const = default;
};

// By path, each once; links are not followed, and no deeper than eight levels is looked. What is there but
// cannot be read is a note, and so are recordings in several folders. kNotFound: `path` is not there.
// kInvalidArgument: they lie in several folders, deeper than those of a job do; not if `recursive`.
base::Status FindSources(const std::string& path, bool recursive, std::vector<Source>& sources,
                         std::vector<Note>& notes);

}  // namespace profd::analyze
