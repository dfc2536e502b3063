#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace profd::base {

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

// of[0][b]: what the byte b does to an empty register; of[n][b]: the same with n zero bytes behind it.
struct ByteTables {
  uint32_t of[8][256];
};
constexpr ByteTables MakeByteTables() {
  ByteTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables.of[0][byte] = crc;
  }
  for (int n = 1; n < 8; ++n) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables.of[n - 1][byte];
      tables.of[n][byte] = tables.of[0][crc & 0xff] ^ (crc >> 8);
    }
  }
  return tables;
}
constexpr ByteTables kBytes = MakeByteTables();

uint64_t Load8(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// All functions below work on the register itself, which is the complement of the CRC.
uint32_t TableRegister(const uint8_t* at, size_t bytes, uint32_t crc) {
  for (; bytes >= 8; at += 8, bytes -= 8) {
    const uint64_t word = Load8(at) ^ crc;
    crc = 0;
    for (int i = 0; i < 8; ++i) crc ^= kBytes.of[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; bytes > 0; ++at, --bytes) crc = kBytes.of[0][(crc ^ *at) & 0xff] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__) || defined(__aarch64__)

// What 2^n zero bytes do to a register: linear, so the register's bytes can be looked up one by one. With it
// the parts of a block are computed side by side and joined, since the instruction takes three cycles but can
// start in each.
struct ZerosTables {
  uint32_t of[4][256];
};
constexpr ZerosTables MakeZerosTables(int log2_bytes) {
  std::array<uint32_t, 32> columns{};  // what becomes of each bit
  for (int bit = 0; bit < 32; ++bit) {
    const uint32_t crc = uint32_t{1} << bit;
    columns[bit] = kBytes.of[0][crc & 0xff] ^ (crc >> 8);
  }
  const auto apply = [](const std::array<uint32_t, 32>& matrix, uint32_t crc) {
    uint32_t result = 0;
    for (int bit = 0; bit < 32; ++bit) result ^= (crc >> bit & 1) != 0 ? matrix[bit] : 0;
    return result;
  };
  for (int i = 0; i < log2_bytes; ++i) {
    std::array<uint32_t, 32> squared{};
    for (int bit = 0; bit < 32; ++bit) squared[bit] = apply(columns, columns[bit]);
    columns = squared;
  }
  ZerosTables tables{};
  for (int part = 0; part < 4; ++part) {
    for (uint32_t byte = 0; byte < 256; ++byte) tables.of[part][byte] = apply(columns, byte << (8 * part));
  }
  return tables;
}
template <int kLog2Bytes>
constexpr ZerosTables kZeros = MakeZerosTables(kLog2Bytes);

template <int kLog2Bytes>
uint32_t AppendZeros(uint32_t crc) {
  const auto& of = kZeros<kLog2Bytes>.of;
  return of[0][crc & 0xff] ^ of[1][crc >> 8 & 0xff] ^ of[2][crc >> 16 & 0xff] ^ of[3][crc >> 24];
}

#if defined(__x86_64__)
#define PROFD_CRC_TARGET __attribute__((target("sse4.2")))
PROFD_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint64_t word) {
  return static_cast<uint32_t>(_mm_crc32_u64(crc, word));
}
PROFD_CRC_TARGET inline uint32_t Step1(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
bool HasInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#else
#define PROFD_CRC_TARGET
inline uint32_t Step8(uint32_t crc, uint64_t word) {
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  return crc;
}
inline uint32_t Step1(uint32_t crc, uint8_t byte) {
  asm(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(static_cast<uint32_t>(byte)));
  return crc;
}
bool HasInstruction() { return (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

// Takes as many blocks of 3 × 2^n bytes as there are.
template <int kLog2Bytes>
PROFD_CRC_TARGET uint32_t ThreeAbreast(const uint8_t*& at, size_t& bytes, uint32_t crc) {
  constexpr size_t kPart = size_t{1} << kLog2Bytes;
  for (; bytes >= 3 * kPart; at += 3 * kPart, bytes -= 3 * kPart) {
    uint32_t second = 0;
    uint32_t third = 0;
    for (size_t i = 0; i < kPart; i += 8) {
      crc = Step8(crc, Load8(at + i));
      second = Step8(second, Load8(at + kPart + i));
      third = Step8(third, Load8(at + 2 * kPart + i));
    }
    crc = AppendZeros<kLog2Bytes>(AppendZeros<kLog2Bytes>(crc) ^ second) ^ third;
  }
  return crc;
}

PROFD_CRC_TARGET uint32_t InstructionRegister(const uint8_t* at, size_t bytes, uint32_t crc) {
  crc = ThreeAbreast<12>(at, bytes, crc);
  crc = ThreeAbreast<8>(at, bytes, crc);
  for (; bytes >= 8; at += 8, bytes -= 8) crc = Step8(crc, Load8(at));
  for (; bytes > 0; ++at, --bytes) crc = Step1(crc, *at);
  return crc;
}

uint32_t Register(const uint8_t* at, size_t bytes, uint32_t crc) {
  static const bool has_instruction = HasInstruction();
  return has_instruction ? InstructionRegister(at, bytes, crc) : TableRegister(at, bytes, crc);
}

#else
uint32_t Register(const uint8_t* at, size_t bytes, uint32_t crc) { return TableRegister(at, bytes, crc); }
#endif

}  // namespace

uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc) {
  return ~Register(static_cast<const uint8_t*>(data), bytes, ~crc);
}

uint32_t Crc32cByTable(const void* data, size_t bytes, uint32_t crc) {
  return ~TableRegister(static_cast<const uint8_t*>(data), bytes, ~crc);
}

}  // namespace profd::base
