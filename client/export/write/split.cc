// A timeline in several files, one after the other in time.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/export/write/output.h"

namespace profd::client {

namespace {

constexpr uint64_t kMostParts = 256;

// Makes a part when its first row or span comes; a span is in that part in which it begins. **Thread:** one.
// **Owns:** the parts.
class SplitOutput : public ExportOutput {
 public:
  SplitOutput(std::string folder, std::string stamp, uint64_t width_ns, const CaptureFacts& facts,
              const OutputOptions& options)
      : folder_(std::move(folder)),
        stamp_(std::move(stamp)),
        width_ns_(width_ns),
        facts_(facts),
        options_(options) {}

  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override {
    Tell([&series, device, key, value, text = std::string(text)](ExportOutput& part) {
      part.Label(series, device, key, value, text);
    });
  }
  void Process(const format::SpanProcess& process) override {
    Tell([pid = process.pid, name = std::string(process.name),
          label = std::string(process.label)](ExportOutput& part) {
      part.Process({pid, name, label});
    });
  }
  void Thread(const format::SpanThread& thread) override {
    Tell([pid = thread.pid, tid = thread.tid, name = std::string(thread.name)](ExportOutput& part) {
      part.Thread({pid, tid, name});
    });
  }

  void Rows(const format::RowBatch& batch) override {
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t begin = 0, end; begin < batch.rows(); begin = end) {
      const uint64_t number = NumberOf(batch.wall_ns[begin]);
      for (end = begin + 1; end < batch.rows() && NumberOf(batch.wall_ns[end]) == number;) ++end;
      ExportOutput* part = PartOf(number);
      if (part == nullptr) return;
      if (end - begin == batch.rows()) return part->Rows(batch);
      rows_.series = batch.series;
      rows_.device = batch.device;
      rows_.kind = batch.kind;
      const auto copy = [begin, end](auto& to, const auto& from, size_t each) {
        to.assign(from.begin() + static_cast<ptrdiff_t>(begin * each),
                  from.begin() + static_cast<ptrdiff_t>(end * each));
      };
      copy(rows_.wall_ns, batch.wall_ns, 1);
      copy(rows_.keys, batch.keys, keys);
      copy(rows_.values, batch.values, columns);
      part->Rows(rows_);
    }
  }

  void Spans(const format::SpanBatch& batch) override {
    std::map<uint64_t, std::vector<format::Span>> by_part;
    for (const format::Span& span : batch.spans) by_part[NumberOf(span.begin_ns)].push_back(span);
    if (by_part.empty()) return;
    spans_ = batch;
    for (auto& [number, spans] : by_part) {
      ExportOutput* part = PartOf(number);
      if (part == nullptr) return;
      spans_.spans = std::move(spans);
      part->Spans(spans_);
    }
  }

  base::Status status() const override {
    if (!status_.ok()) return status_;
    for (const auto& [number, part] : parts_) {
      if (!part->status().ok()) return part->status();
    }
    return base::Status::Ok();
  }
  base::Status Finish() override {
    if (base::Status now = status(); !now.ok()) return now;
    for (const auto& [number, part] : parts_) {
      if (base::Status done = part->Finish(); !done.ok()) return done;
    }
    RemoveOthers();
    return base::Status::Ok();
  }
  uint64_t bytes() const override { return Sum(&ExportOutput::bytes); }
  uint64_t left_out() const override { return Sum(&ExportOutput::left_out); }
  std::vector<std::string> files() const override {
    std::vector<std::string> files;
    for (const auto& [number, part] : parts_) files.push_back(folder_ + "/" + Name(number));
    return files;
  }

 private:
  // What all parts must know, also those that are made later.
  void Tell(std::function<void(ExportOutput&)> say) {
    for (const auto& [number, part] : parts_) say(*part);
    said_.push_back(std::move(say));
  }
  uint64_t NumberOf(uint64_t wall_ns) const {
    const uint64_t since = wall_ns - std::min(wall_ns, facts_.start_ns);
    return std::min(since / width_ns_, kMostParts - 1);
  }
  std::string Name(uint64_t number) const {
    return "msprof_slice_" + std::to_string(number) + "_" + stamp_ + (options_.gzip ? ".json.gz" : ".json");
  }
  // nullptr: it cannot be made; status() says why.
  ExportOutput* PartOf(uint64_t number) {
    const auto found = parts_.find(number);
    if (found != parts_.end()) return found->second.get();
    CaptureFacts facts = facts_;
    facts.start_ns += number * width_ns_;
    if (facts.end_ns != 0) facts.end_ns = std::min(facts.end_ns, facts.start_ns + width_ns_);
    auto part = MakeChromeOutput(folder_ + "/" + Name(number), facts, options_);
    if (!part.ok()) {
      if (status_.ok()) status_ = part.status();
      return nullptr;
    }
    for (const auto& say : said_) say(**part);
    return parts_.emplace(number, std::move(part).value()).first->second.get();
  }
  uint64_t Sum(uint64_t (ExportOutput::*of)() const) const {
    uint64_t sum = 0;
    for (const auto& [number, part] : parts_) sum += ((*part).*of)();
    return sum;
  }
  // Parts of an earlier export that was split otherwise.
  void RemoveOthers() const {
    std::set<std::string> ours, others;
    for (const auto& [number, part] : parts_) ours.insert(Name(number));
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), &::closedir);
    if (!folder) return;
    while (const dirent* entry = ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe): one thread
      const std::string name = entry->d_name;
      const bool part = name.starts_with("msprof_slice_") &&
                        (name.ends_with("_" + stamp_ + ".json") || name.ends_with("_" + stamp_ + ".json.gz"));
      if (part && !ours.contains(name)) others.insert(name);
    }
    for (const std::string& name : others) ::unlink((folder_ + "/" + name).c_str());
  }

  const std::string folder_, stamp_;
  const uint64_t width_ns_;
  const CaptureFacts facts_;
  const OutputOptions options_;
  std::map<uint64_t, std::unique_ptr<ExportOutput>> parts_;
  std::vector<std::function<void(ExportOutput&)>> said_;
  base::Status status_;
  format::RowBatch rows_;
  format::SpanBatch spans_;
};

}  // namespace

base::Result<std::unique_ptr<ExportOutput>> MakeSplitChromeOutput(const std::string& folder,
                                                                  const std::string& stamp, uint64_t width_ns,
                                                                  const CaptureFacts& facts,
                                                                  const OutputOptions& options) {
  const uint64_t length_ns = facts.end_ns - std::min(facts.end_ns, facts.start_ns);
  if (length_ns / width_ns >= kMostParts) {
    return base::Status(base::Code::kInvalidArgument,
                        "--split: more than " + std::to_string(kMostParts) + " files; take at least " +
                            std::to_string(length_ns / kMostParts / 1'000'000'000 + 1) + "s");
  }
  return std::unique_ptr<ExportOutput>(
      std::make_unique<SplitOutput>(folder, stamp, width_ns, facts, options));
}

}  // namespace profd::client
