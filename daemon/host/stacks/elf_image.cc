#include "daemon/host/stacks/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace profd::host {

namespace {

constexpr size_t kMaxSegments = 64, kMaxDynamic = 256, kMaxChain = 4096, kMaxName = 128, kMaxVersions = 8;

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_X86_64;
#endif

uint32_t GnuHash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

std::optional<ElfImage> ElfImage::Read(ProcessMemory& memory, uint64_t at) {
  const auto header = memory.Get<Elf64_Ehdr>(at);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != kMachine ||
      header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > 1 << 20)
    return std::nullopt;
  ElfImage image;
  for (size_t i = 0; i < std::min<size_t>(header->e_phnum, kMaxSegments); ++i) {
    const auto part = memory.Get<Elf64_Phdr>(at + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!part) return std::nullopt;
    switch (part->p_type) {
      case PT_LOAD:
        if (part->p_vaddr > UINT64_MAX - part->p_memsz) return std::nullopt;
        if ((part->p_flags & PF_X) != 0)
          image.code_.push_back({part->p_offset, part->p_vaddr, part->p_filesz});
        image.end_ = std::max(image.end_, part->p_vaddr + part->p_memsz);
        break;
      case PT_GNU_EH_FRAME:
        image.frame_index_ = part->p_vaddr;
        break;
      case PT_DYNAMIC:
        image.dynamic_ = part->p_vaddr;
        break;
      default:
        break;
    }
  }
  return image;
}

std::optional<uint64_t> ElfImage::AddressOf(uint64_t file_offset) const {
  for (const Segment& segment : code_) {
    // Mappings are of whole pages, and begin in front of what they are for.
    const uint64_t page = segment.file_offset & ~uint64_t{0xfff};
    if (file_offset >= page && file_offset - page < segment.bytes + (segment.file_offset - page))
      return segment.address - segment.file_offset + file_offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfImage::OffsetOf(uint64_t address) const {
  for (const Segment& segment : code_) {
    if (address >= segment.address && address - segment.address < segment.bytes)
      return segment.file_offset + (address - segment.address);
  }
  return std::nullopt;
}

std::optional<ElfImage::Symbol> ElfImage::Find(ProcessMemory& memory, uint64_t bias,
                                               std::string_view name) const {
  const std::vector<Symbol> all = FindAll(memory, bias, name);
  if (all.empty()) return std::nullopt;
  return all.front();
}

std::vector<ElfImage::Symbol> ElfImage::FindAll(ProcessMemory& memory, uint64_t bias,
                                                std::string_view name) const {
  std::vector<Symbol> found;
  if (dynamic_ == 0) return found;
  uint64_t symbols = 0, texts = 0, hashes = 0;
  for (size_t i = 0; i < kMaxDynamic; ++i) {
    const auto entry = memory.Get<Elf64_Dyn>(bias + dynamic_ + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    // The loader has made addresses of memory of them, as a rule.
    const uint64_t value = entry->d_un.d_ptr < bias ? entry->d_un.d_ptr + bias : entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = value;
    if (entry->d_tag == DT_STRTAB) texts = value;
    if (entry->d_tag == DT_GNU_HASH) hashes = value;
  }
  if (symbols == 0 || texts == 0 || hashes == 0) return found;
  struct Head {
    uint32_t buckets, first, bloom_words, shift;
  };
  const auto head = memory.Get<Head>(hashes);
  if (!head || head->buckets == 0) return found;
  const uint32_t hash = GnuHash(name);
  const uint64_t buckets = hashes + sizeof(Head) + uint64_t{head->bloom_words} * 8;
  const uint64_t chains = buckets + uint64_t{head->buckets} * 4;
  const auto first = memory.Get<uint32_t>(buckets + uint64_t{hash % head->buckets} * 4);
  if (!first || *first < head->first) return found;
  for (uint64_t i = *first; i < uint64_t{*first} + kMaxChain; ++i) {
    const auto link = memory.Get<uint32_t>(chains + (i - head->first) * 4);
    if (!link) return found;
    if ((*link | 1) == (hash | 1)) {
      const auto symbol = memory.Get<Elf64_Sym>(symbols + i * sizeof(Elf64_Sym));
      if (!symbol) return found;
      char text[kMaxName] = {};
      memory.Read(texts + symbol->st_name, std::as_writable_bytes(std::span(text)));
      if (symbol->st_shndx != SHN_UNDEF && name == std::string_view(text, ::strnlen(text, sizeof text)))
        if (std::ranges::none_of(found,
                                 [&](const Symbol& known) { return known.address == symbol->st_value; }))
          found.push_back({symbol->st_value, symbol->st_size});
    }
    if ((*link & 1) != 0 || found.size() == kMaxVersions) break;
  }
  return found;
}

}  // namespace profd::host
