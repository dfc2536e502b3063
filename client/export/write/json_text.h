// Texts from anywhere as JSON strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/texts.h"

namespace profd::client {

// Appends `text` in quotes; what is no UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& to, std::string_view text);
// A copy in which what is no UTF-8 is U+FFFD.
std::string ValidUtf8(std::string_view text);

// The JSON forms of a capture's texts, made once each. **Thread:** one. **Owns:** up to 32 MiB of them.
class JsonTexts {
 public:
  // Good until the next call.
  std::string_view Get(const format::Texts& texts, format::TextId id);

 private:
  static constexpr size_t kMostBytes = 32u << 20;
  const format::Texts* of_ = nullptr;
  std::vector<std::string> known_;
  size_t bytes_ = 0;
};

}  // namespace profd::client
