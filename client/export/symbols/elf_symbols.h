// The functions of an ELF file, found by where their code lies in the file. Not elfutils: what libelf would
// save is the walk over a section table; file identity, debug files and order by place stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace profd::client {

// What a file must be for its symbols to be those of the program that ran.
struct FileIdentity {
  uint32_t major = 0, minor = 0;  // of the device it lies on
  uint64_t inode = 0;
  uint64_t unchanged_since_ns = 0;  // wall clock
};

// **Thread:** any, once read. Everything in the file is checked: it may be anything.
class ElfSymbols {
 public:
  // .symtab and .dynsym, or those of the debug file of the same build id below `debug_root`.
  static base::Result<ElfSymbols> Read(const std::string& path, const FileIdentity& identity,
                                       const std::string& debug_root = "/usr/lib/debug");
  // Of this process's own vdso, which is every process's of this kernel.
  static base::Result<ElfSymbols> ReadVdso();

  // As it stands there, mangled; "" when no function is there.
  std::string_view Find(uint64_t file_offset) const;
  const std::string& build_id() const { return build_id_; }  // hex
  size_t size() const { return functions_.size(); }

 private:
  struct Segment {
    uint64_t offset, bytes, address;
  };
  struct Function {
    uint64_t address, bytes;
    uint32_t name;  // in names_
  };
  class Image;

  base::Status Take(const Image& image, const std::string& what);
  void TakeBuildId(const Image& image, uint64_t offset, uint64_t bytes);
  void TakeSymbols(const Image& image);
  void Sort();

  std::vector<Segment> segments_;
  std::vector<Function> functions_;  // by address
  std::string names_;                // with a NUL behind each
  std::string build_id_;
  bool has_symtab_ = false;
};

// "std::vector<int>::push_back(int&&)" of what the compiler made of it; anything else stays as it is.
std::string Demangled(std::string_view name);

}  // namespace profd::client
