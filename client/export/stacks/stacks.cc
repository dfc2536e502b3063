// Stacks and how often they were seen, or how long waited in: collapsed, a line each, and pprof.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/write/output.h"
#include "client/export/write/output_file.h"
#include "client/export/write/proto_text.h"
#include "format/decode/host/cpu_profile.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

// Sums up the samples by stack. **Thread:** one. **Owns:** the files.
class StackOutput : public ExportOutput {
 public:
  // What was on a CPU, and what waited.
  StackOutput(std::unique_ptr<OutputFile> on_cpu, std::unique_ptr<OutputFile> off_cpu)
      : sums_{Sums{std::move(on_cpu)}, Sums{std::move(off_cpu)}} {}

  void Rows(const format::RowBatch&) override {}
  void Spans(const format::SpanBatch&) override {}
  void Sample(const ProfileSample& sample) override {
    texts_ = sample.texts;
    Sums& sums = sums_[sample.off_cpu ? 1 : 0];
    sums.cycles = sample.cycles;
    sums.off_cpu = sample.off_cpu;
    Stack& stack = sums.stacks[{sample.pid, sample.stack}];
    if (stack.samples++ == 0) {
      stack.process = sample.process;
      stack.frames.assign(sample.frames.begin(), sample.frames.end());
    }
    stack.period += sample.period;
    sums.first_ns = std::min(sums.first_ns, sample.wall_ns);
    sums.last_ns = std::max(sums.last_ns, sample.wall_ns);
  }
  Status status() const override {
    return sums_[0].file->status().ok() ? sums_[1].file->status() : sums_[0].file->status();
  }
  uint64_t bytes() const override { return sums_[0].file->bytes() + sums_[1].file->bytes(); }
  std::vector<std::string> files() const override { return files_; }
  Status Finish() override {
    for (Sums& sums : sums_) {
      if (sums.stacks.empty()) continue;
      Write(sums);
      PROFD_RETURN_IF_ERROR(sums.file->Finish());
      files_.push_back(sums.file->path());
    }
    if (!files_.empty()) return Status::Ok();
    return {Code::kNotFound,
            "export of stacks: no host-cpu-profile is in it; collect one with --pid and --collect "
            "host-cpu-profile"};
  }

 protected:
  struct Stack {
    format::TextId process = 0;
    std::vector<ProfileFrame> frames;
    uint64_t samples = 0, period = 0;
  };
  struct Sums {
    std::unique_ptr<OutputFile> file;
    bool cycles = false, off_cpu = false;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    std::map<std::pair<int64_t, uint32_t>, Stack> stacks = {};  // by process and number
  };
  virtual void Write(const Sums& sums) = 0;
  std::string_view Text(format::TextId id) const { return texts_->Get(id); }

  const format::Texts* texts_ = nullptr;

 private:
  std::array<Sums, 2> sums_;
  std::vector<std::string> files_;
};

// "process;main;work;do_syscall_64_[k] 12": samples, or us.
class CollapsedOutput final : public StackOutput {
 public:
  using StackOutput::StackOutput;

 private:
  void Write(const Sums& sums) override {
    std::map<std::string, uint64_t> lines;  // processes of one name are one
    for (const auto& [key, stack] : sums.stacks) {
      std::string line = Plain(Text(stack.process));
      for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
        line += ';' + Plain(Text(frame->place));
        if (frame->kernel && Text(frame->place) != format::kWaitsForCpu) line += "_[k]";
      }
      lines[line] += sums.off_cpu ? stack.period / 1000 : stack.samples;
    }
    for (const auto& [line, count] : lines) sums.file->Append(line + ' ' + std::to_string(count) + '\n');
  }
  // Readers split at semicolons, and take what is behind the last blank for the number.
  static std::string Plain(std::string_view text) {
    std::string plain(text.empty() ? std::string_view("[unknown]") : text);
    std::replace(plain.begin(), plain.end(), ';', ':');
    return plain;
  }
};

// profile.proto of google/pprof.
class PprofOutput final : public StackOutput {
 public:
  using StackOutput::StackOutput;

 private:
  void Write(const Sums& sums) override {
    profile_.Clear();
    strings_.clear(), mappings_.clear(), strings_in_order_.clear(), locations_.clear(), functions_.clear();
    String("");
    proto::Message type, message;
    const auto value_type = [&](uint32_t field, std::string_view name, std::string_view unit) {
      type.Clear();
      type.Add(1, String(name)).Add(2, String(unit));
      profile_.Add(field, type);
    };
    const char* what = sums.off_cpu ? "off-cpu" : sums.cycles ? "cycles" : "cpu";
    const char* unit = sums.cycles ? "count" : "nanoseconds";
    value_type(1, sums.off_cpu ? "waits" : "samples", "count");
    value_type(1, what, unit);
    uint64_t period = 0;
    for (const auto& [key, stack] : sums.stacks) {
      proto::Message places, values, label;
      for (const ProfileFrame& frame : stack.frames) Packed(places, Location(frame));
      Packed(values, stack.samples);
      Packed(values, stack.period);
      message.Clear();
      message.Add(1, places).Add(2, values);
      label.Add(1, String("pid")).Add(3, static_cast<uint64_t>(key.first));
      message.Add(3, label);
      label.Clear();
      label.Add(1, String("process")).Add(2, String(Text(stack.process)));
      message.Add(3, label);
      profile_.Add(2, message);
      period = stack.period / stack.samples;
    }
    profile_.Add(9, sums.first_ns).Add(10, sums.last_ns - sums.first_ns);
    value_type(11, what, unit);
    profile_.Add(12, period);
    for (const std::string& text : strings_in_order_) profile_.Add(6, std::string_view(text));
    sums.file->Append(profile_.bytes());
  }

  static void Packed(proto::Message& message, uint64_t value) {
    char* at = message.Room(10);
    message.Advance(proto::WriteVarint(at, value));
  }
  uint64_t String(std::string_view text) {
    const auto [known, is_new] = strings_.try_emplace(std::string(text), strings_.size());
    if (is_new) strings_in_order_.emplace_back(text);
    return known->second;
  }
  // A place is a function here, or a line of one: addresses are not shown.
  uint64_t Location(const ProfileFrame& frame) {
    const auto [known, is_new] =
        locations_.try_emplace({frame.function, frame.module, frame.line}, locations_.size() + 1);
    const uint64_t id = known->second;
    if (!is_new) return id;
    proto::Message line, message;
    const std::string_view module = Text(frame.module);
    uint64_t& mapping = mappings_[std::string(module)];
    if (mapping == 0) {
      mapping = mappings_.size();
      message.Add(1, mapping).Add(5, String(module)).Add(7, uint64_t{1});
      profile_.Add(3, message);
      message.Clear();
    }
    uint64_t& function = functions_[{frame.function, frame.module}];
    if (function == 0) {
      function = functions_.size();
      const uint64_t name = String(Text(frame.function));
      message.Add(1, function).Add(2, name).Add(3, name).Add(4, String(module));
      profile_.Add(5, message);
    }
    line.Add(1, function);
    if (frame.line != 0) line.Add(2, uint64_t{frame.line});
    message.Clear();
    message.Add(1, id).Add(2, mapping).Add(4, line);
    profile_.Add(4, message);
    return id;
  }

  proto::Message profile_;
  std::unordered_map<std::string, uint64_t> strings_, mappings_;
  std::vector<std::string> strings_in_order_;
  std::map<std::tuple<format::TextId, format::TextId, uint32_t>, uint64_t> locations_;
  std::map<std::pair<format::TextId, format::TextId>, uint64_t> functions_;
};

}  // namespace

Result<std::unique_ptr<ExportOutput>> MakeCollapsedOutput(const std::string& path,
                                                          const std::string& waits_path) {
  PROFD_ASSIGN_OR_RETURN(auto file, OutputFile::Create(path));
  PROFD_ASSIGN_OR_RETURN(auto waits, OutputFile::Create(waits_path));
  return std::unique_ptr<ExportOutput>(std::make_unique<CollapsedOutput>(std::move(file), std::move(waits)));
}

Result<std::unique_ptr<ExportOutput>> MakePprofOutput(const std::string& path,
                                                      const std::string& waits_path) {
  PROFD_ASSIGN_OR_RETURN(auto file, OutputFile::Create(path, /*gzip=*/true));
  PROFD_ASSIGN_OR_RETURN(auto waits, OutputFile::Create(waits_path, /*gzip=*/true));
  return std::unique_ptr<ExportOutput>(std::make_unique<PprofOutput>(std::move(file), std::move(waits)));
}

}  // namespace profd::client
