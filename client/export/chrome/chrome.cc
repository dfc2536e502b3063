#include "client/export/chrome/chrome.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "client/export/write/number_text.h"

namespace profd::client {

base::Result<std::unique_ptr<ExportOutput>> MakeChromeOutput(const std::string& path,
                                                             const CaptureFacts& facts,
                                                             const OutputOptions& options) {
  auto file = OutputFile::Create(path, options.gzip);
  if (!file.ok()) return file.status();
  return std::unique_ptr<ExportOutput>(std::make_unique<ChromeOutput>(std::move(*file), facts, options));
}

ChromeOutput::ChromeOutput(std::unique_ptr<OutputFile> file, const CaptureFacts& facts,
                           const OutputOptions& options)
    : file_(std::move(file)), facts_(facts), options_(options) {
  older_host_ = std::ranges::all_of(facts_.devices, OlderExporter);
  for (const bool older : {false, true}) layer_places_[older] = PlacesOf(older, facts_);
  file_->Append("[");
}

bool ChromeOutput::Older(int device) const {
  const format::SideFacts* side = device < 0 ? nullptr : facts_.Device(device);
  return side == nullptr ? older_host_ : OlderExporter(*side);
}

uint64_t ChromeOutput::Enter(Layer layer, int device, int64_t pid) {
  const LayerInfo& info = InfoOf(layer);
  const LayerPlace& place = layer_places_[Older(device)][static_cast<size_t>(layer)];
  const uint64_t timeline_pid = TimelinePid(pid, place.number, device);
  auto [found, fresh] = areas_.try_emplace(timeline_pid);
  if (!fresh) return timeline_pid;
  Area& area = found->second;
  area.name = info.name;
  area.label = device < 0 ? "CPU" : "NPU " + std::to_string(device);
  area.sort_index = place.sort_index;
  area.sorts_threads = layer != Layer::kOsCalls || Older(device);
  const auto program = device < 0 ? programs_.find(pid) : programs_.end();
  if (layer == Layer::kProgram) {
    area.name = program != programs_.end() ? program->second : facts_.host.pid_name;
    if (area.name.empty()) area.name = "PID " + std::to_string(pid);
  } else if (program != programs_.end()) {
    area.label += ", " + program->second;
  }
  return timeline_pid;
}

void ChromeOutput::Label(const format::Series& series, int device, size_t key, int64_t value,
                         std::string_view text) {
  counters_.Label(series, device, key, value, text);
}

ChromeOutput::Counter ChromeOutput::MakeCounter(uint64_t timeline_pid, bool older, BoundEvent event) {
  Counter counter;
  counter.rounded = older;
  counter.head = "{\"name\":";
  AppendJsonString(counter.head, event.name);
  counter.head += ",\"pid\":" + std::to_string(timeline_pid) +
                  ",\"tid\":" + std::to_string(event.event->thread) + ",\"ts\":\"";
  counter.room = counter.head.size() + 64;
  for (BoundArg& arg : event.args) {
    std::string text = ",";
    AppendJsonString(text, arg.name);
    counter.room += text.size() + 2 * kNumberText;
    counter.args.push_back({text + ":", std::move(arg)});
  }
  if (event.event->joined) {
    counter.joined = &joined_[counter.head];
    counter.joined->head = counter.head;
    counter.joined->rounded = older;
    counter.joined->room += counter.room;
  }
  if (options_.vendor_compatible && (older || !event.event->copies_of_older)) {
    counter.copies = event.event->vendor_copies;
    counter.ends = event.event->vendor_ends;
  }
  return counter;
}

void ChromeOutput::MakeCounters(const CounterTable& table, const format::RowBatch& batch,
                                std::span<const int64_t> keys, const Labels& labels,
                                std::vector<Counter>& counters) {
  const format::SideFacts* side = facts_.Device(batch.device);
  const bool older = Older(batch.device);
  const Flavour flavour{options_.vendor_compatible, older};
  for (BoundEvent& event : BindEvents(table, *batch.series, batch.device, keys, labels, flavour)) {
    const uint64_t timeline_pid =
        Enter(table.layer, batch.device, side != nullptr ? side->pid : facts_.host.pid);
    Area& area = areas_[timeline_pid];
    if (older && table.layer == Layer::kCpuUsage)  // the only process of counters whose threads have names
      area.threads.emplace(area.threads.size(), event.name);
    counters.push_back(MakeCounter(timeline_pid, older, std::move(event)));
  }
}

namespace {

char* Copy(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* WriteValue(char* at, CounterArg::Form form, bool rounded, double value) {
  if (form == CounterArg::Form::kInteger && !rounded && std::fabs(value) < 9e18)
    return WriteInteger(at, static_cast<int64_t>(value));
  return rounded || form == CounterArg::Form::kRounded ? WriteRounded(at, value, 3)
                                                       : WriteShortest(at, value);
}

}  // namespace

char* ChromeOutput::WriteHead(char* at, std::string_view head, uint64_t wall_ns) {
  at = Copy(at, head);
  if (wall_ns != stamp_ns_ || stamp_size_ == 0) {  // many counters have the same one
    stamp_ns_ = wall_ns;
    stamp_size_ = static_cast<size_t>(WriteMicroseconds(stamp_, wall_ns) - stamp_);
  }
  return Copy(Copy(at, {stamp_, stamp_size_}), "\",\"ph\":\"C\",\"args\":{");
}

void ChromeOutput::WriteCounter(const Counter& counter, uint64_t wall_ns, const int64_t* keys,
                                const double* values) {
  if (counter.room > OutputFile::kMaxReserve) {
    ++left_out_;
    return;
  }
  char* at = WriteHead(file_->Reserve(counter.room), counter.head, wall_ns);
  bool any = false;
  for (const Counter::Arg& arg : counter.args) {
    const double value = arg.value.Of(keys, values);
    if (!std::isfinite(value)) continue;
    at = Copy(at, any ? arg.text : std::string_view(arg.text).substr(1));
    any = true;
    at = WriteValue(at, arg.value.form, counter.rounded, value);
  }
  if (any) file_->Advance(Copy(at, "}},"));
}

void ChromeOutput::Join(const Counter& counter, uint64_t wall_ns, const int64_t* keys, const double* values) {
  JoinedEvent& event = *counter.joined;
  if (event.wall_ns != wall_ns) WriteJoined(event);
  event.wall_ns = wall_ns;
  for (const Counter::Arg& arg : counter.args) {
    const double value = arg.value.Of(keys, values);
    if (!std::isfinite(value)) continue;
    const auto same = [&](const auto& other) { return other.first->text == arg.text; };
    const auto found = std::ranges::find_if(event.values, same);
    if (found != event.values.end()) {
      found->second = std::max(found->second, value);
    } else {
      event.values.emplace_back(&arg, value);
    }
  }
}

void ChromeOutput::WriteJoined(JoinedEvent& event) {
  if (event.values.empty()) return;
  if (event.room > OutputFile::kMaxReserve) {
    ++left_out_;
  } else {
    char* at = WriteHead(file_->Reserve(event.room), event.head, event.wall_ns);
    bool any = false;
    for (const auto& [arg, value] : event.values) {
      at = Copy(at, std::exchange(any, true) ? arg->text : std::string_view(arg->text).substr(1));
      at = WriteValue(at, arg->value.form, event.rounded, value);
    }
    file_->Advance(Copy(at, "}},"));
  }
  event.values.clear();
}

void ChromeOutput::KeepLast(Counter& counter, const format::Series& series, uint64_t wall_ns,
                            const int64_t* keys, const double* values) {
  if (counter.last.values.empty()) {
    for (int i = 0; i < counter.ends; ++i) WriteCounter(counter, wall_ns, keys, values);
  }
  counter.last.wall_ns = wall_ns;
  counter.last.keys.assign(keys, keys + series.keys.size());
  counter.last.values.assign(values, values + series.columns.size());
}

void ChromeOutput::Rows(const format::RowBatch& batch) {
  counters_.Rows(
      batch, [this](auto&&... of) { MakeCounters(of...); },
      [&](Counter& counter, uint64_t wall_ns, const int64_t* keys, const double* values) {
        if (counter.joined != nullptr) return Join(counter, wall_ns, keys, values);
        for (int copy = 0; copy < counter.copies; ++copy) WriteCounter(counter, wall_ns, keys, values);
        if (counter.ends > 0) KeepLast(counter, *batch.series, wall_ns, keys, values);
      });
}

void ChromeOutput::Process(const format::SpanProcess& process) {
  std::string& name = programs_[process.pid];
  name = process.name.empty() ? "PID" : std::string(process.name);
  name += " " + std::to_string(process.pid);
  if (!process.label.empty()) name += " (" + std::string(process.label) + ")";
}

void ChromeOutput::Thread(const format::SpanThread& thread) {
  threads_[{thread.pid, thread.tid}] = std::string(thread.name);
}

// The vendor repeats the last frequency at the end of the collection.
void ChromeOutput::WriteVendorEnds() {
  counters_.ForEach([this](const Counter& counter) {
    if (counter.last.values.empty()) return;
    const uint64_t wall_ns = std::max(counter.last.wall_ns, facts_.end_ns);
    for (int i = 0; i < counter.ends; ++i)
      WriteCounter(counter, wall_ns, counter.last.keys.data(), counter.last.values.data());
  });
}

// Of the chips that the vendor's older exporter shows a frequency of (viewer/lpm/ai_core_freq_viewer.py),
// this one is not recorded: it has a constant one there, every ms.
void ChromeOutput::WriteVendorFrequency() {
  constexpr uint64_t kMs = 1'000'000;
  for (const format::SideFacts& side : facts_.devices) {
    if (!OlderExporter(side) || side.chip != format::Chip::k310P || side.aic_mhz <= 0) continue;
    const uint64_t pid = Enter(Layer::kCoreFrequency, side.device, side.pid);
    for (uint64_t at = facts_.start_ns; at <= facts_.end_ns; at += kMs) {
      line_ = "{\"name\":\"AI Core Freq\",\"pid\":" + std::to_string(pid) + ",\"tid\":0,\"ts\":\"";
      char text[2 * kNumberText];
      line_.append(text, WriteMicroseconds(text, at));
      line_ += "\",\"ph\":\"C\",\"args\":{\"MHz\":";
      line_.append(text, WriteShortest(text, side.aic_mhz));
      line_ += "}},";
      file_->Append(line_);
    }
  }
}

void ChromeOutput::WriteNames() {
  std::string_view comma = "";
  for (const auto& [pid, area] : areas_) {
    const auto write = [this, &comma, pid = pid](uint64_t tid, std::string_view what, std::string_view key,
                                                 const std::string& value) {
      line_ = comma;
      line_ += "{\"name\":\"";
      line_ += what;
      line_ += "\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) +
               ",\"ph\":\"M\",\"args\":{\"";
      line_ += key;
      line_ += "\":" + value + "}}";
      file_->Append(line_);
      comma = ",";
    };
    const auto quoted = [](const std::string& text) {
      std::string json;
      AppendJsonString(json, text);
      return json;
    };
    write(0, "process_name", "name", quoted(area.name));
    write(0, "process_labels", "labels", quoted(area.label));
    write(0, "process_sort_index", "sort_index", std::to_string(area.sort_index));
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> order;
    for (const auto& [tid, name] : area.threads) {
      const auto plane = area.planes.find(tid);
      order[plane != area.planes.end() ? plane->second : std::pair(tid, uint64_t{0})] = tid;
    }
    uint64_t place = 0;
    for (const auto& [at, tid] : order) {
      write(tid, "thread_name", "name", quoted(area.threads.at(tid)));
      const uint64_t index = area.planes.empty() ? tid : place++;
      if (area.sorts_threads) write(tid, "thread_sort_index", "sort_index", std::to_string(index));
    }
  }
}

base::Status ChromeOutput::Finish() {
  for (auto& [head, event] : joined_) WriteJoined(event);
  if (options_.vendor_compatible) {
    WriteVendorEnds();
    WriteVendorFrequency();
  }
  WriteNames();
  file_->Append("]\n");
  return file_->Finish();
}

}  // namespace profd::client
