#include "format/texts.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace profd::format {
namespace {

constexpr size_t kChunkBytes = 64 << 10;
constexpr std::string_view kNoRoom = "(no room for this text)";

}  // namespace

Texts::Texts(size_t max_bytes) : max_bytes_(max_bytes), slots_(1024) { no_room_ = Intern(kNoRoom); }

// Where `text` is, or would be.
size_t Texts::Slot(std::string_view text) const {
  size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>()(text) & mask;
  while (slots_[slot] != 0 && texts_[slots_[slot]] != text) slot = (slot + 1) & mask;
  return slot;
}

TextId Texts::Find(std::string_view text) const { return text.empty() ? 0 : slots_[Slot(text)]; }

TextId Texts::Intern(std::string_view text) {
  if (text.empty()) return 0;
  size_t slot = Slot(text);
  if (slots_[slot] != 0) return slots_[slot];
  // What a text costs: its bytes, its view, and up to four slots.
  size_t cost = text.size() + sizeof(std::string_view) + 4 * sizeof(TextId);
  if (no_room_ != 0 && used_bytes_ + cost > max_bytes_) {
    ++dropped_;
    return no_room_;
  }
  used_bytes_ += cost;
  if (chunk_left_ < text.size()) {
    size_t bytes = std::max(kChunkBytes, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    chunk_at_ = chunks_.back().get();
    chunk_left_ = bytes;
  }
  std::memcpy(chunk_at_, text.data(), text.size());
  TextId id = static_cast<TextId>(texts_.size());
  texts_.emplace_back(chunk_at_, text.size());
  chunk_at_ += text.size();
  chunk_left_ -= text.size();
  slots_[slot] = id;
  if (texts_.size() * 2 > slots_.size()) Grow();
  return id;
}

void Texts::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (TextId id = 1; id < texts_.size(); ++id) slots_[Slot(texts_[id])] = id;
}

}  // namespace profd::format
