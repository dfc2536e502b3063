// Numbers on their way to the page's script: arrays, deflated and as base64. The script unpacks a block when
// it first needs it, so that a page of a big job opens at once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace profd::report {

// **Thread:** one.
class Pack {
 public:
  explicit Pack(std::string_view name) : name_(name) {}

  // Little endian, each array at a multiple of eight bytes. Names are the script's: "heat.late".
  void Add(std::string name, std::span<const uint8_t> values) { AddBytes(std::move(name), "u8", values); }
  void Add(std::string name, std::span<const uint16_t> values) { AddBytes(std::move(name), "u16", values); }
  void Add(std::string name, std::span<const float> values) { AddBytes(std::move(name), "f32", values); }
  void Add(std::string name, std::span<const double> values) { AddBytes(std::move(name), "f64", values); }

  const std::string& name() const { return name_; }
  // Makes base64 of the deflated bytes; arrays cannot be added any more.
  void Close();
  const std::string& text() const { return text_; }

  struct Array {
    std::string name;
    const char* type;
    size_t offset, count;
  };
  const std::vector<Array>& arrays() const { return arrays_; }

 private:
  template <typename Value>
  void AddBytes(std::string name, const char* type, std::span<const Value> values) {
    static_assert(std::endian::native == std::endian::little);
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    arrays_.push_back({std::move(name), type, bytes_.size(), values.size()});
    const auto raw = std::as_bytes(values);
    const size_t at = bytes_.size();
    bytes_.resize(at + raw.size());
    if (!raw.empty()) std::memcpy(bytes_.data() + at, raw.data(), raw.size());
  }

  const std::string name_;
  std::vector<unsigned char> bytes_;
  std::vector<Array> arrays_;
  std::string text_;
};

// Appends `value` in groups of seven bits, the lowest first.
inline void AppendVarint(std::vector<uint8_t>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}
std::string Base64(std::span<const unsigned char> bytes);
// Of `text`, in base64: what a Content Security Policy names a script by.
std::string Sha256(std::string_view text);

}  // namespace profd::report
