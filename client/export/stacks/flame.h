// Collapsed stacks as a picture: one file of SVG without a script, for any browser.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace profd::client {

struct FlameWords {
  std::string title;
  std::string_view unit;  // of the counts: "samples", "µs"
};

// `collapsed`: "process;main;work 12", a line each; the same stack may come again. kNotFound: there is none.
// Names are foreign text and come out as text.
base::Result<std::string> FlameSvg(std::string_view collapsed, const FlameWords& words);

}  // namespace profd::client
