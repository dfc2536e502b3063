#include "client/export/read/sources/profile_names.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "format/decode/line_decoder.h"

namespace profd::client {

using format::CpuFrame;
using format::TextId;
using format::ToNumber;
using format::Words;

namespace {

constexpr size_t kMaxStacks = 1 << 20;

std::string Hex(uint64_t number) {
  char digits[16];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What is left of a line, without the blank before it.
std::string_view RestOf(const Words& words) {
  std::string_view text = words.rest();
  if (!text.empty()) text.remove_prefix(1);
  return text;
}

ProfileFrame Named(TextId function, TextId module) { return {function, module, function, 0, false, false}; }

// Python's library is in lib/python3.N, and what is installed below it; modules that it has in itself are
// <frozen …>.
bool IsInstalled(std::string_view path) {
  for (const std::string_view folder :
       {"/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3."}) {
    if (path.find(folder) != path.npos) return true;
  }
  return path.starts_with("<frozen ");
}

}  // namespace

bool ProfileNames::Take(std::string_view line) {
  Words words(line);
  const std::string_view what = words.Next();
  const auto number = ToNumber<uint32_t>(words.Next());
  if (!number) return false;
  if (what == "stack") {
    const auto pid = ToNumber<int64_t>(words.Next());
    if (!pid || stacks_.size() >= kMaxStacks) return false;
    stacks_[*number] = {*pid, std::string(words.Next()), {}};
    return true;
  }
  if (what == "module") return TakeModule(*number, RestOf(words));
  if (what == "python") return TakePython(*number, RestOf(words));
  if (what == "kernel") {
    functions_[*number] = texts_.Intern(RestOf(words));
  } else if (what == "process") {
    processes_[*number] = texts_.Intern(RestOf(words));
  } else if (what == "spared") {
    spared_ += *number;
  } else {
    return what == "thread" && ToNumber<int64_t>(words.Next());
  }
  return true;
}

bool ProfileNames::TakeModule(uint32_t number, std::string_view rest) {
  Words words(rest);
  const std::string_view device = words.Next();
  const size_t colon = std::min(device.find(':'), device.size());
  const auto major = ToNumber<uint32_t>(device.substr(0, colon));
  const auto minor = ToNumber<uint32_t>(device.substr(std::min(colon + 1, device.size())));
  const auto inode = ToNumber<uint64_t>(words.Next());
  if (!major || !minor || !inode) return false;
  Module& module = modules_[number];
  module.path = RestOf(words);
  module.name = texts_.Intern(BaseName(module.path));
  module.identity = {*major, *minor, *inode, unchanged_since_ns_};
  return true;
}

bool ProfileNames::TakePython(uint32_t number, std::string_view rest) {
  Words words(rest);
  const auto line = ToNumber<uint32_t>(words.Next());
  const std::string_view name_and_file = RestOf(words);
  const size_t tab = name_and_file.find('\t');
  if (!line || tab == std::string_view::npos) return false;
  const std::string_view path = name_and_file.substr(tab + 1);
  python_[number] = {std::string(name_and_file.substr(0, tab)), texts_.Intern(BaseName(path)), *line,
                     IsInstalled(path)};
  return true;
}

std::optional<std::span<const ProfileFrame>> ProfileNames::Frames(uint32_t stack) {
  const auto found = stacks_.find(stack);
  if (found == stacks_.end()) return std::nullopt;
  if (!found->second.text.empty()) Resolve(found->second);
  return found->second.frames;
}

TextId ProfileNames::Process(int64_t pid) const {
  const auto known = processes_.find(pid);
  return known == processes_.end() ? 0 : known->second;
}

std::vector<std::string> ProfileNames::WithoutSymbols() const {
  std::vector<std::string> all;
  for (const auto& [number, module] : modules_) {
    if (!module.why.empty()) all.push_back(module.why);
  }
  return all;
}

void ProfileNames::Resolve(Stack& stack) {
  std::string_view text = stack.text;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto frame = format::ParseCpuFrame(one);
    stack.frames.push_back(frame ? FrameOf(*frame, stack.pid) : Unnamed("[unknown]", 0));
  }
  stack.text.clear();
}

ProfileFrame ProfileNames::Unnamed(const std::string& what, TextId module) {
  return Named(texts_.Intern(what), module);
}

ProfileFrame ProfileNames::PythonFrame(const Python& python, uint32_t line) {
  const auto shown = [&](uint32_t at) {
    return texts_.Intern(python.name + " (" + std::string(texts_.Get(python.file)) + ':' +
                         std::to_string(at) + ')');
  };
  ProfileFrame frame = Named(shown(python.line), python.file);
  frame.line = line;
  frame.installed = python.installed;
  if (line != 0) frame.place = shown(line);
  return frame;
}

ProfileFrame ProfileNames::FrameOf(const CpuFrame& frame, int64_t pid) {
  switch (frame.what) {
    case CpuFrame::What::kKernel: {
      const auto known = functions_.find(frame.number);
      const TextId name = known == functions_.end() ? texts_.Intern("[kernel]") : known->second;
      return {name, texts_.Intern("[kernel]"), name, 0, true, false};
    }
    case CpuFrame::What::kPython: {
      const auto known = python_.find(frame.number);
      return known == python_.end() ? Unnamed("[python]", 0)
                                    : PythonFrame(known->second, static_cast<uint32_t>(frame.offset));
    }
    case CpuFrame::What::kAddress: {
      auto map = maps_.find(pid);
      if (map == maps_.end())
        map = maps_.emplace(pid, PerfMap::Of(static_cast<pid_t>(pid), begin_wall_ns_)).first;
      const std::string_view name = map->second.Find(frame.offset);
      return name.empty() ? Unnamed("[unknown]", 0) : Named(texts_.Intern(name), texts_.Intern("[jit]"));
    }
    case CpuFrame::What::kModule:
      return FrameOfModule(frame);
  }
  return Unnamed("[unknown]", 0);
}

ProfileFrame ProfileNames::FrameOfModule(const CpuFrame& frame) {
  const auto found = modules_.find(frame.number);
  if (found == modules_.end()) return Unnamed("[unknown]", 0);
  Module& module = found->second;
  if (!std::exchange(module.read, true)) {
    auto symbols =
        module.path == "[vdso]" ? ElfSymbols::ReadVdso() : ElfSymbols::Read(module.path, module.identity);
    if (symbols.ok()) {
      module.symbols = std::move(symbols).value();
    } else {
      module.why = symbols.status().message();
    }
  }
  const std::string_view name = module.symbols ? module.symbols->Find(frame.offset) : std::string_view();
  if (!name.empty()) return Named(texts_.Intern(Demangled(name)), module.name);
  return Unnamed("[" + std::string(texts_.Get(module.name)) + "+0x" + Hex(frame.offset) + "]", module.name);
}

}  // namespace profd::client
