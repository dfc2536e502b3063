#include "format/directory/bounded_json.h"

namespace profd::format {

bool IsBounded(std::string_view json, size_t most_values, size_t most_depth) {
  size_t values = 1, depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most_depth || ++values > most_values) return false;
    } else if (c == '}' || c == ']') {
      if (depth > 0) --depth;
    } else if (c == ',') {
      if (++values > most_values) return false;
    }
  }
  return true;
}

}  // namespace profd::format
