#include "daemon/host/stacks/call_frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace profd::host {

namespace {

constexpr size_t kMaxRows = 4096;
constexpr size_t kMaxRemembered = 16;

// Bytes that end where they end: what lies behind them is 0, and ok() says so.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, uint64_t at) : bytes_(bytes), at_(at) {}

  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }
  uint64_t at() const { return at_; }
  std::span<const std::byte> rest() const { return bytes_; }

  std::span<const std::byte> Take(uint64_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      size = bytes_.size();
    }
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    at_ += size;
    return taken;
  }
  template <typename T>
  T Get() {
    T value{};
    const auto taken = Take(sizeof value);
    if (taken.size() == sizeof value) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  uint64_t Unsigned() {  // LEB128
    uint64_t value = 0;
    for (unsigned shift = 0; ok_; shift += 7) {
      const auto byte = Get<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  int64_t Signed() {
    uint64_t value = 0;
    for (unsigned shift = 0; ok_;) {
      const auto byte = Get<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      break;
    }
    return static_cast<int64_t>(value);
  }
  // A pointer as DW_EH_PE_… says; of the places it may count from: nothing, and itself.
  uint64_t Pointer(uint8_t encoding) {
    const uint64_t base = (encoding & 0x70) == 0x10 ? at_ : 0;
    if ((encoding & 0x70) > 0x10 || (encoding & 0x80) != 0) ok_ = false;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return base + Get<uint64_t>();
      case 0x02:
        return base + Get<uint16_t>();
      case 0x03:
        return base + Get<uint32_t>();
      case 0x0a:
        return base + static_cast<uint64_t>(int64_t{Get<int16_t>()});
      case 0x0b:
        return base + static_cast<uint64_t>(int64_t{Get<int32_t>()});
      default:
        ok_ = false;
        return 0;
    }
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t at_;
  bool ok_ = true;
};

struct Cie {
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t pointers = 0;
  bool sized = false, signal = false;
  std::span<const std::byte> program;
};

std::optional<Cie> ReadCie(std::span<const std::byte> bytes, const UnwindMachine& machine) {
  Cursor cursor(bytes, 0);
  cursor.Take(kEntryHeadBytes);
  const auto version = cursor.Get<uint8_t>();
  if (version != 1 && version != 3) return std::nullopt;
  const auto rest = cursor.rest();
  const auto end = std::ranges::find(rest, std::byte{0});
  if (end == rest.end()) return std::nullopt;
  const std::string_view augmentation(reinterpret_cast<const char*>(rest.data()),
                                      static_cast<size_t>(end - rest.begin()));
  cursor.Take(augmentation.size() + 1);
  Cie cie;
  cie.code_factor = cursor.Unsigned();
  cie.data_factor = cursor.Signed();
  const uint64_t returns = version == 1 ? cursor.Get<uint8_t>() : cursor.Unsigned();
  if (!cursor.ok() || returns != machine.returns) return std::nullopt;
  if (augmentation.empty()) {
    cie.program = cursor.rest();
    return cie;
  }
  if (!augmentation.starts_with('z')) return std::nullopt;
  cie.sized = true;
  Cursor data(cursor.Take(cursor.Unsigned()), 0);
  for (const char letter : augmentation.substr(1)) {
    switch (letter) {
      case 'R':
        cie.pointers = data.Get<uint8_t>();
        break;
      case 'P': {
        const auto encoding = static_cast<uint8_t>(data.Get<uint8_t>() & 0x7f);
        data.Pointer(encoding & 0x0f);
        break;
      }
      case 'L':
        data.Get<uint8_t>();
        break;
      case 'S':
        cie.signal = true;
        break;
      case 'B':  // return addresses are signed with the other key
        break;
      default:
        return std::nullopt;
    }
  }
  if (!cursor.ok() || !data.ok()) return std::nullopt;
  cie.program = cursor.rest();
  return cie;
}

int32_t Offset(int64_t wide, bool& fits) {
  if (wide != static_cast<int32_t>(wide)) fits = false;
  return static_cast<int32_t>(wide);
}

class Program {
 public:
  Program(const Cie& cie, const UnwindMachine& machine) : cie_(cie), machine_(machine) {}

  bool Run(std::span<const std::byte> program, uint64_t end, std::vector<FrameRow>* rows) {
    Cursor cursor(program, 0);
    while (!cursor.empty()) {
      const auto code = cursor.Get<uint8_t>();
      const uint64_t low = code & 0x3f;
      switch (code & 0xc0) {
        case 0x40:
          if (!Advance(low, end, rows)) return true;
          break;
        case 0x80:
          Save(low, Saved::kAtCfa, Product(cursor.Unsigned()));
          break;
        case 0xc0:
          Restore(low);
          break;
        default:
          if (!Extended(code, cursor, end, rows)) return false;
          if (done_) return true;
      }
      if (!cursor.ok() || !fits_) return false;
    }
    if (rows != nullptr) rows->push_back(row_);
    return true;
  }
  void Begin(uint64_t at) { row_.begin = at; }
  // What the CIE says holds until something else is said.
  void Keep() { initial_ = row_; }
  FrameRow& row() { return row_; }

 private:
  using Cfa = FrameRow::Cfa;
  using Saved = FrameRow::Saved;

  // False: that is behind the function.
  bool Advance(uint64_t factor, uint64_t end, std::vector<FrameRow>* rows) {
    if (rows == nullptr) return true;
    if (factor == 0) return true;
    if (rows->size() >= kMaxRows) return !(done_ = true);
    rows->push_back(row_);
    const uint64_t next = row_.begin + factor * cie_.code_factor;
    if (next <= row_.begin || next >= end) return !(done_ = true);
    row_.begin = next;
    return true;
  }

  void Save(uint64_t reg, Saved where, int64_t offset) {
    if (reg == machine_.frame) {
      row_.frame = where;
      row_.frame_offset = Offset(offset, fits_);
    } else if (reg == machine_.returns) {
      row_.returns = where;
      row_.outermost = false;
      row_.returns_offset = Offset(offset, fits_);
    } else if (const auto kept = Kept(reg)) {
      row_.kept[*kept] = where == Saved::kSame                  ? FrameRow::kStays
                         : where == Saved::kAtCfa && offset < 0 ? Offset(offset, fits_)
                                                                : FrameRow::kGone;
    }
  }
  std::optional<size_t> Kept(uint64_t reg) const {
    for (size_t i = 0; i < kKeptRegisters; ++i)
      if (reg == machine_.kept[i]) return i;
    return std::nullopt;
  }
  void Restore(uint64_t reg) {
    if (const auto kept = Kept(reg)) row_.kept[*kept] = initial_.kept[*kept];
    if (reg == machine_.frame) {
      row_.frame = initial_.frame;
      row_.frame_offset = initial_.frame_offset;
    } else if (reg == machine_.returns) {
      row_.returns = initial_.returns;
      row_.returns_offset = initial_.returns_offset;
      row_.outermost = initial_.outermost;
    }
  }
  void Define(uint64_t reg, int64_t offset) {
    row_.cfa = reg == machine_.stack ? Cfa::kStack : reg == machine_.frame ? Cfa::kFrame : Cfa::kUnknown;
    row_.cfa_offset = Offset(offset, fits_);
  }

  // "what register + offset is", and perhaps "what lies there"; the others that compilers make are those of
  // procedure linkage tables.
  void DefineByExpression(std::span<const std::byte> expression) {
    static constexpr std::array<uint8_t, 11> kLinkage = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
                                                         0x3b, 0x2a, 0x33, 0x24, 0x22};
    row_.cfa = Cfa::kUnknown;
    if (expression.size() == kLinkage.size() && machine_.stack == kX86Machine.stack) {
      std::array<uint8_t, kLinkage.size()> bytes;
      std::memcpy(bytes.data(), expression.data(), bytes.size());
      const uint8_t threshold = std::exchange(bytes[6], kLinkage[6]);
      if (bytes == kLinkage && threshold >= 0x30 && threshold <= 0x3f) {
        row_.cfa = Cfa::kLinkage;
        row_.cfa_offset = threshold - 0x30;
        return;
      }
    }
    Cursor cursor(expression, 0);
    if (cursor.Get<uint8_t>() != 0x70 + machine_.frame) return;
    const int64_t offset = cursor.Signed();
    if (!cursor.ok() || cursor.Get<uint8_t>() != 0x06 || !cursor.ok() || !cursor.empty()) return;
    row_.cfa = Cfa::kAtFrame;
    row_.cfa_offset = Offset(offset, fits_);
  }
  void SaveByExpression(uint64_t reg, std::span<const std::byte> expression) {
    Cursor cursor(expression, 0);
    const bool by_frame = cursor.Get<uint8_t>() == 0x70 + machine_.frame;
    const int64_t offset = cursor.Signed();
    if (by_frame && cursor.ok() && cursor.empty()) {
      Save(reg, Saved::kAtFrame, offset);
    } else {
      Save(reg, Saved::kLost, 0);
    }
  }

  bool Extended(uint8_t code, Cursor& cursor, uint64_t end, std::vector<FrameRow>* rows) {
    switch (code) {
      case 0x00:  // nop
        return true;
      case 0x02:
        Advance(cursor.Get<uint8_t>(), end, rows);
        return true;
      case 0x03:
        Advance(cursor.Get<uint16_t>(), end, rows);
        return true;
      case 0x04:
        Advance(cursor.Get<uint32_t>(), end, rows);
        return true;
      case 0x05: {  // offset_extended
        const uint64_t reg = cursor.Unsigned();
        Save(reg, Saved::kAtCfa, Product(cursor.Unsigned()));
        return true;
      }
      case 0x06:
        Restore(cursor.Unsigned());
        return true;
      case 0x07: {  // undefined
        const uint64_t reg = cursor.Unsigned();
        Save(reg, Saved::kLost, 0);
        if (reg == machine_.returns) row_.outermost = true;
        return true;
      }
      case 0x08:
        Save(cursor.Unsigned(), Saved::kSame, 0);
        return true;
      case 0x09: {  // in another register
        const uint64_t reg = cursor.Unsigned();
        cursor.Unsigned();
        Save(reg, Saved::kLost, 0);
        return true;
      }
      case 0x0a:
        if (remembered_.size() >= kMaxRemembered) return false;
        remembered_.push_back(row_);
        return true;
      case 0x0b: {
        if (remembered_.empty()) return false;
        const uint64_t begin = row_.begin;
        row_ = remembered_.back();
        row_.begin = begin;
        remembered_.pop_back();
        return true;
      }
      case 0x0c: {
        const uint64_t reg = cursor.Unsigned();
        Define(reg, static_cast<int64_t>(cursor.Unsigned()));
        return true;
      }
      case 0x0d: {  // another register, the same offset
        Define(cursor.Unsigned(), row_.cfa_offset);
        return true;
      }
      case 0x0e:
        row_.cfa_offset = Offset(static_cast<int64_t>(cursor.Unsigned()), fits_);
        return true;
      case 0x0f:
        DefineByExpression(cursor.Take(cursor.Unsigned()));
        return true;
      case 0x10: {
        const uint64_t reg = cursor.Unsigned();
        SaveByExpression(reg, cursor.Take(cursor.Unsigned()));
        return true;
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t reg = cursor.Unsigned();
        Save(reg, Saved::kAtCfa, Product(cursor.Signed()));
        return true;
      }
      case 0x12: {
        const uint64_t reg = cursor.Unsigned();
        Define(reg, Product(cursor.Signed()));
        return true;
      }
      case 0x13:
        row_.cfa_offset = Offset(Product(cursor.Signed()), fits_);
        return true;
      case 0x14:
      case 0x15: {  // its value is CFA + offset
        const uint64_t reg = cursor.Unsigned();
        cursor.Unsigned();
        Save(reg, Saved::kLost, 0);
        return true;
      }
      case 0x16: {
        const uint64_t reg = cursor.Unsigned();
        cursor.Take(cursor.Unsigned());
        Save(reg, Saved::kLost, 0);
        return true;
      }
      case 0x2d:  // the return address is signed from here on, or not
        return true;
      case 0x2e:  // GNU_args_size
        cursor.Unsigned();
        return true;
      default:  // set_loc, which nobody makes, and what is not known
        return false;
    }
  }
  template <typename Number>
  int64_t Product(Number value) const {
    int64_t product = 0;
    return __builtin_mul_overflow(value, cie_.data_factor, &product) ? INT64_MAX : product;
  }

  const Cie& cie_;
  const UnwindMachine& machine_;
  FrameRow row_, initial_;
  std::vector<FrameRow> remembered_;
  bool fits_ = true, done_ = false;
};

}  // namespace

const FrameRow* CallFrames::Find(uint64_t address) const {
  if (address < begin || address >= end) return nullptr;
  const auto after = std::ranges::upper_bound(rows, address, {}, &FrameRow::begin);
  return after == rows.begin() ? nullptr : &*std::prev(after);
}

std::optional<EntryHead> ReadEntryHead(std::span<const std::byte> bytes, uint64_t at) {
  Cursor cursor(bytes, at);
  const auto length = cursor.Get<uint32_t>();
  const uint64_t from = cursor.at();
  const auto back = cursor.Get<uint32_t>();
  // 0 ends the table; of 4 GiB and more there is none.
  if (!cursor.ok() || length < 4 || length >= 0xfffffff0U) return std::nullopt;
  return EntryHead{uint64_t{length} + 4, back == 0 ? 0 : from - back};
}

std::optional<CallFrames> ReadCallFrames(std::span<const std::byte> cie_bytes, std::span<const std::byte> fde,
                                         uint64_t fde_at, const UnwindMachine& machine) {
  const auto cie = ReadCie(cie_bytes, machine);
  if (!cie) return std::nullopt;
  Cursor cursor(fde, fde_at);
  cursor.Take(kEntryHeadBytes);
  CallFrames frames;
  frames.begin = cursor.Pointer(cie->pointers);
  const uint64_t length = cursor.Pointer(cie->pointers & 0x0f);
  if (cie->sized) cursor.Take(cursor.Unsigned());
  if (!cursor.ok() || length == 0 || length > UINT32_MAX || frames.begin > UINT64_MAX - length)
    return std::nullopt;
  frames.end = frames.begin + length;

  Program program(*cie, machine);
  if (cie->signal) {
    program.row().cfa = FrameRow::Cfa::kSignal;
    program.Begin(frames.begin);
    frames.rows.push_back(program.row());
    return frames;
  }
  if (!program.Run(cie->program, 0, nullptr)) return std::nullopt;
  program.Keep();
  program.Begin(frames.begin);
  if (!program.Run(cursor.rest(), frames.end, &frames.rows)) return std::nullopt;
  return frames;
}

}  // namespace profd::host
