#include "client/export/symbols/elf_symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "base/unique_fd.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr uint64_t kMaxTable = 512u << 20;
constexpr int kMaxTables = 2;  // .symtab and .dynsym
constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kMaxHeaders = 1 << 16;

}  // namespace

// Reads pieces of a file, or of memory.
class ElfSymbols::Image {
 public:
  using ReadAt = std::function<bool(void* to, size_t bytes, uint64_t offset)>;
  explicit Image(ReadAt read_at) : read_at_(std::move(read_at)) {}

  template <typename T>
  bool Read(uint64_t offset, T& value) const {
    return read_at_(&value, sizeof value, offset);
  }
  // False when it is not all there.
  bool Read(uint64_t offset, uint64_t bytes, std::string& text) const {
    if (bytes > kMaxTable) return false;
    text.resize(bytes);
    return read_at_(text.data(), bytes, offset);
  }

 private:
  ReadAt read_at_;
};

namespace {

Result<base::UniqueFd> OpenRegular(const std::string& path, struct stat& facts) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd || ::fstat(fd.get(), &facts) != 0) return Status::FromErrno("open " + path);
  if (!S_ISREG(facts.st_mode)) return Status(Code::kInvalidArgument, path + ": is not a file");
  return fd;
}

auto FileReader(int fd) {
  return [fd](void* to, size_t bytes, uint64_t offset) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(fd, at, bytes, static_cast<off_t>(offset));
      if (got <= 0) return false;
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<size_t>(got);
    }
    return true;
  };
}

}  // namespace

Result<ElfSymbols> ElfSymbols::Read(const std::string& path, const FileIdentity& identity,
                                    const std::string& debug_root) {
  struct stat facts {};
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd fd, OpenRegular(path, facts));
  const auto changed_ns =
      static_cast<uint64_t>(facts.st_mtim.tv_sec) * kSecond + static_cast<uint64_t>(facts.st_mtim.tv_nsec);
  if (facts.st_ino != identity.inode || ::major(facts.st_dev) != identity.major ||
      ::minor(facts.st_dev) != identity.minor || changed_ns > identity.unchanged_since_ns) {
    return Status(Code::kFailedPrecondition, path + ": is not the file any more that ran");
  }
  ElfSymbols symbols;
  PROFD_RETURN_IF_ERROR(symbols.Take(Image(FileReader(fd.get())), path));
  if (!symbols.has_symtab_ && symbols.build_id_.size() > 2) {
    const std::string debug = debug_root + "/.build-id/" + symbols.build_id_.substr(0, 2) + "/" +
                              symbols.build_id_.substr(2) + ".debug";
    ElfSymbols more;
    if (auto file = OpenRegular(debug, facts); file.ok() &&
                                               more.Take(Image(FileReader(file->get())), debug).ok() &&
                                               more.build_id_ == symbols.build_id_ && more.has_symtab_) {
      symbols.functions_ = std::move(more.functions_);
      symbols.names_ = std::move(more.names_);
    }
  }
  return symbols;
}

Result<ElfSymbols> ElfSymbols::ReadVdso() {
  uint64_t begin = 0, end = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[vdso]")) continue;
    const char* last = line.data() + line.size();
    const auto parsed = std::from_chars(line.data(), last, begin, 16);
    if (parsed.ptr < last) std::from_chars(parsed.ptr + 1, last, end, 16);
  }
  if (begin >= end) return Status(Code::kNotFound, "this kernel has no vdso");
  ElfSymbols symbols;
  const Image image([begin, size = end - begin](void* to, size_t bytes, uint64_t offset) {
    if (bytes > size || offset > size - bytes) return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel says where it lies as a number
    std::memcpy(to, reinterpret_cast<const char*>(begin) + offset, bytes);
    return true;
  });
  PROFD_RETURN_IF_ERROR(symbols.Take(image, "[vdso]"));
  return symbols;
}

Status ElfSymbols::Take(const Image& image, const std::string& what) {
  Elf64_Ehdr header;
  if (!image.Read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {Code::kInvalidArgument, what + ": is not an ELF file of 64 bits"};
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!image.Read(header.e_phoff + i * sizeof segment, segment)) break;
    if (segment.p_type == PT_LOAD) segments_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    if (segment.p_type == PT_NOTE) TakeBuildId(image, segment.p_offset, segment.p_filesz);
  }
  TakeSymbols(image);
  Sort();
  return Status::Ok();
}

void ElfSymbols::TakeBuildId(const Image& image, uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kMaxNotes = 1 << 16;
  constexpr uint32_t kMaxId = 64;
  std::string notes;
  if (bytes > kMaxNotes || !image.Read(offset, bytes, notes)) return;
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t id = name + ((size_t{note.n_namesz} + 3) & ~size_t{3});
    const size_t next = id + ((size_t{note.n_descsz} + 3) & ~size_t{3});
    if (id > notes.size() || next > notes.size()) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && notes.compare(name, 3, "GNU") == 0 &&
        note.n_descsz <= kMaxId) {
      constexpr char kDigits[] = "0123456789abcdef";
      build_id_.clear();
      for (size_t i = 0; i < note.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(notes[id + i]);
        build_id_ += kDigits[byte >> 4];
        build_id_ += kDigits[byte & 15];
      }
      return;
    }
    at = next;
  }
}

void ElfSymbols::TakeSymbols(const Image& image) {
  Elf64_Ehdr header;
  if (!image.Read(0, header) || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  std::vector<Elf64_Shdr> sections;
  for (size_t i = 0; i < std::min<size_t>(header.e_shnum, kMaxHeaders); ++i) {
    Elf64_Shdr section;
    if (!image.Read(header.e_shoff + i * sizeof section, section)) return;
    sections.push_back(section);
  }
  int taken = 0;
  for (const Elf64_Shdr& table : sections) {
    if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) || table.sh_link >= sections.size())
      continue;
    const Elf64_Shdr& texts = sections[table.sh_link];
    std::string symbols, names;
    if (!image.Read(table.sh_offset, table.sh_size, symbols) ||
        !image.Read(texts.sh_offset, texts.sh_size, names) || names.empty() || names.back() != '\0' ||
        taken == kMaxTables) {
      continue;
    }
    ++taken;
    has_symtab_ = has_symtab_ || table.sh_type == SHT_SYMTAB;
    const auto base = static_cast<uint32_t>(names_.size());
    names_ += names;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
          symbol.st_value == 0 || symbol.st_name >= names.size()) {
        continue;
      }
      functions_.push_back({symbol.st_value, symbol.st_size, base + symbol.st_name});
    }
  }
}

// One function for each address: that of the widest symbol, of these the first.
void ElfSymbols::Sort() {
  std::ranges::stable_sort(functions_, [](const Function& a, const Function& b) {
    return a.address != b.address ? a.address < b.address : a.bytes > b.bytes;
  });
  functions_.erase(std::unique(functions_.begin(), functions_.end(),
                               [](const Function& a, const Function& b) { return a.address == b.address; }),
                   functions_.end());
}

std::string_view ElfSymbols::Find(uint64_t file_offset) const {
  const auto segment = std::ranges::find_if(segments_, [file_offset](const Segment& one) {
    return file_offset >= one.offset && file_offset - one.offset < one.bytes;
  });
  if (segment == segments_.end()) return {};
  const uint64_t address = file_offset - segment->offset + segment->address;
  auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (after == functions_.begin()) return {};
  const Function& function = *--after;
  // One written in assembler may have no size: it reaches up to the next.
  if (function.bytes != 0 && address - function.address >= function.bytes) return {};
  return names_.c_str() + function.name;
}

std::string Demangled(std::string_view name) {
  std::string mangled(name);
  if (!mangled.starts_with("_Z")) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      ::abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : mangled;
}

}  // namespace profd::client
