// What the numbers of a profile's samples stand for: the lines of its names (docs/formats.md), and the
// functions of the files that they point at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/export/read/profile.h"
#include "client/export/symbols/elf_symbols.h"
#include "client/export/symbols/perf_map.h"
#include "format/decode/host/cpu_profile.h"
#include "format/texts.h"

namespace profd::client {

// **Thread:** one. Every line may say anything.
class ProfileNames {
 public:
  // `begin_wall_ns`: of the recording; `unchanged_since_ns`: a file that has changed later is not the one
  // that ran.
  ProfileNames(format::Texts& texts, uint64_t begin_wall_ns, uint64_t unchanged_since_ns)
      : texts_(texts), begin_wall_ns_(begin_wall_ns), unchanged_since_ns_(unchanged_since_ns) {}

  // False: it says nothing known.
  bool Take(std::string_view line);
  // The innermost first; nullopt: no such stack has been named.
  std::optional<std::span<const ProfileFrame>> Frames(uint32_t stack);
  format::TextId Process(int64_t pid) const;
  // Samples whose callers are by frame pointers only.
  uint64_t spared() const { return spared_; }
  // Files that have no symbols, and why not.
  std::vector<std::string> WithoutSymbols() const;

 private:
  struct Python {
    std::string name;  // "work", in train.py, begins at 12: "work (train.py:12)"
    format::TextId file = 0;
    uint32_t line = 0;
    bool installed = false;
  };
  struct Module {
    FileIdentity identity;
    std::string path;
    format::TextId name = 0;
    bool read = false;
    std::optional<ElfSymbols> symbols;
    std::string why;  // there are none
  };
  struct Stack {
    int64_t pid = 0;
    std::string text;  // until its names are known
    std::vector<ProfileFrame> frames;
  };

  bool TakeModule(uint32_t number, std::string_view rest);
  bool TakePython(uint32_t number, std::string_view rest);
  void Resolve(Stack& stack);
  ProfileFrame FrameOf(const format::CpuFrame& frame, int64_t pid);
  ProfileFrame FrameOfModule(const format::CpuFrame& frame);
  ProfileFrame PythonFrame(const Python& python, uint32_t line);
  ProfileFrame Unnamed(const std::string& what, format::TextId module);

  format::Texts& texts_;
  const uint64_t begin_wall_ns_, unchanged_since_ns_;
  uint64_t spared_ = 0;
  std::unordered_map<uint32_t, Stack> stacks_;
  std::map<uint32_t, Module> modules_;
  std::unordered_map<uint32_t, format::TextId> functions_;
  std::unordered_map<uint32_t, Python> python_;
  std::unordered_map<int64_t, format::TextId> processes_;
  std::unordered_map<int64_t, PerfMap> maps_;
};

}  // namespace profd::client
