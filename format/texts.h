// Names and other texts of a capture, each kept once and known by a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace profd::format {

using TextId = uint32_t;  // 0 = no text

// Table of texts. When `max_bytes` are used up every new text becomes kNoRoom, and is counted.
// **Thread:** one. **Owns:** the bytes; views stay good as long as the table.
class Texts {
 public:
  static constexpr size_t kMaxBytes = 48u << 20;
  explicit Texts(size_t max_bytes = kMaxBytes);

  TextId Intern(std::string_view text);
  // 0 when it was never interned.
  TextId Find(std::string_view text) const;
  // "" for 0 and for numbers never given out.
  std::string_view Get(TextId id) const { return id < texts_.size() ? texts_[id] : std::string_view(); }

  size_t size() const { return texts_.size(); }
  uint64_t dropped() const { return dropped_; }

 private:
  size_t Slot(std::string_view text) const;
  void Grow();

  size_t max_bytes_, used_bytes_ = 0;
  std::vector<std::string_view> texts_{std::string_view()};
  std::vector<TextId> slots_;  // open addressing, a power of two
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_left_ = 0;
  char* chunk_at_ = nullptr;
  TextId no_room_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace profd::format
