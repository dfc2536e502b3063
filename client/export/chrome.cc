#include "client/export/chrome.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "client/export/number_text.h"

namespace profd::client {

base::Result<std::unique_ptr<Output>> MakeChromeOutput(const std::string& path, const CaptureFacts& facts,
                                                       const OutputOptions& options) {
  auto file = OutputFile::Create(path, options.gzip);
  if (!file.ok()) return file.status();
  return std::unique_ptr<Output>(std::make_unique<ChromeOutput>(std::move(*file), facts, options));
}

ChromeOutput::ChromeOutput(std::unique_ptr<OutputFile> file, const CaptureFacts& facts,
                           const OutputOptions& options)
    : file_(std::move(file)), facts_(facts), options_(options) {
  older_host_ = std::ranges::all_of(facts_.devices, OlderExporter);
  file_->Append("[");
}

uint64_t ChromeOutput::Enter(Layer layer, int device, int64_t pid) {
  const LayerInfo& info = InfoOf(layer);
  const format::SideFacts* side = facts_.Device(device);
  const bool older = device < 0 || side == nullptr ? older_host_ : OlderExporter(*side);
  const uint32_t index = SortIndex(layer, older, facts_);
  const uint64_t timeline_pid = TimelinePid(pid, index, device);
  auto [found, fresh] = areas_.try_emplace(timeline_pid);
  if (!fresh) return timeline_pid;
  Area& area = found->second;
  area.name = info.name;
  area.label = device < 0 ? "CPU" : "NPU " + std::to_string(device);
  area.sort_index = index;
  area.sorts_threads = layer != Layer::kOsCalls || older;
  if (layer == Layer::kProgram) {
    const auto program = programs_.find(pid);
    area.name = program != programs_.end() ? program->second.first : facts_.host.pid_name;
    if (area.name.empty()) area.name = "PID " + std::to_string(pid);
    if (program != programs_.end() && !program->second.second.empty())
      area.label += ", " + program->second.second;
  }
  return timeline_pid;
}

void ChromeOutput::Label(const format::Series& series, int device, size_t key, int64_t value,
                         std::string_view text) {
  labels_.Set(series, device, key, value, text);
}

ChromeOutput::SeriesState* ChromeOutput::StateOf(const format::RowBatch& batch) {
  for (const auto& state : states_)
    if (state->series == batch.series && state->device == batch.device) return state.get();
  const format::SideFacts* side = facts_.Device(batch.device);
  const bool older = batch.device >= 0 && side != nullptr ? OlderExporter(*side) : older_host_;
  states_.push_back(std::make_unique<SeriesState>(SeriesState{batch.series,
                                                              batch.device,
                                                              FindCounterTables(batch.series->name, false),
                                                              side != nullptr ? side->pid : facts_.host.pid,
                                                              older,
                                                              KeySets(batch.series->keys.size()),
                                                              {},
                                                              {}}));
  return states_.back().get();
}

ChromeOutput::Counter ChromeOutput::RenderOne(const SeriesState& state, uint64_t timeline_pid,
                                              BoundEvent event) {
  Counter counter;
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
  if (options_.vendor_compatible && (state.older || !event.event->copies_of_older)) {
    counter.copies = event.event->vendor_copies;
    counter.ends = event.event->vendor_ends;
  }
  return counter;
}

std::vector<ChromeOutput::Counter> ChromeOutput::Render(const SeriesState& state, const int64_t* keys) {
  std::vector<Counter> counters;
  const std::span all(keys, state.series->keys.size());
  const Flavour flavour{options_.vendor_compatible, state.older};
  for (const CounterTable* table : state.tables) {
    for (BoundEvent& event : BindEvents(*table, *state.series, state.device, all, labels_, flavour)) {
      const uint64_t timeline_pid = Enter(table->layer, state.device, state.pid);
      Area& area = areas_[timeline_pid];
      if (state.older &&
          table->layer == Layer::kCpuUsage)  // the only process of counters whose threads have names
        area.threads.emplace(area.threads.size(), event.name);
      counters.push_back(RenderOne(state, timeline_pid, std::move(event)));
    }
  }
  return counters;
}

void ChromeOutput::WriteCounter(const Counter& counter, uint64_t wall_ns, const int64_t* keys,
                                const double* values, bool rounded) {
  if (counter.room > OutputFile::kMaxReserve) {
    ++left_out_;
    return;
  }
  const auto copy = [](char* to, std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  };
  char* at = copy(file_->Reserve(counter.room), counter.head);
  if (wall_ns != stamp_ns_ || stamp_size_ == 0) {  // many counters have the same one
    stamp_ns_ = wall_ns;
    stamp_size_ = static_cast<size_t>(WriteMicroseconds(stamp_, wall_ns) - stamp_);
  }
  at = copy(copy(at, {stamp_, stamp_size_}), "\",\"ph\":\"C\",\"args\":{");
  bool any = false;
  for (const Counter::Arg& arg : counter.args) {
    const double value = arg.value.Of(keys, values);
    if (!std::isfinite(value)) continue;
    at = copy(at, any ? arg.text : std::string_view(arg.text).substr(1));
    any = true;
    const bool whole = arg.value.form == CounterArg::Form::kInteger && !rounded && std::fabs(value) < 9e18;
    if (whole) {
      at = WriteInteger(at, static_cast<int64_t>(value));
    } else {
      at = rounded || arg.value.form == CounterArg::Form::kRounded ? WriteRounded(at, value, 3)
                                                                   : WriteShortest(at, value);
    }
  }
  if (any) file_->Advance(copy(at, "}},"));
}

void ChromeOutput::KeepLast(SeriesState& state, const format::RowBatch& batch, uint32_t set, size_t row) {
  const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
  if (set >= state.last.size()) state.last.resize(set + 1);
  SeriesState::Last& last = state.last[set];
  const int64_t* row_keys = batch.keys.data() + row * keys;
  const double* values = batch.values.data() + row * columns;
  if (last.values.empty()) {
    for (const Counter& counter : state.counters[set])
      for (int i = 0; i < counter.ends; ++i)
        WriteCounter(counter, batch.wall_ns[row], row_keys, values, state.older);
  }
  last.wall_ns = batch.wall_ns[row];
  last.keys.assign(row_keys, row_keys + keys);
  last.values.assign(values, values + columns);
}

void ChromeOutput::Rows(const format::RowBatch& batch) {
  SeriesState& state = *StateOf(batch);
  if (state.tables.empty()) return;
  const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
  for (size_t row = 0; row < batch.rows(); ++row) {
    const int64_t* row_keys = batch.keys.data() + row * keys;
    bool fresh = false;
    const auto set = state.sets.Find(row_keys, fresh);
    if (!set) {
      ++left_out_;
      continue;
    }
    if (fresh) state.counters.push_back(Render(state, row_keys));
    for (const Counter& counter : state.counters[*set]) {
      for (int copy = 0; copy < counter.copies; ++copy)
        WriteCounter(counter, batch.wall_ns[row], row_keys, batch.values.data() + row * columns, state.older);
      if (counter.ends > 0) KeepLast(state, batch, *set, row);
    }
  }
}

void ChromeOutput::Process(const format::SpanProcess& process) {
  programs_[process.pid] = {std::string(process.name), std::string(process.label)};
}

void ChromeOutput::Thread(const format::SpanThread& thread) {
  threads_[{thread.pid, thread.tid}] = std::string(thread.name);
}

// The vendor repeats the last frequency at the end of the collection.
void ChromeOutput::WriteVendorEnds() {
  for (const auto& state : states_) {
    for (size_t set = 0; set < state->last.size(); ++set) {
      const SeriesState::Last& last = state->last[set];
      if (last.values.empty()) continue;
      for (const Counter& counter : state->counters[set])
        for (int i = 0; i < counter.ends; ++i)
          WriteCounter(counter, std::max(last.wall_ns, facts_.end_ns), last.keys.data(), last.values.data(),
                       state->older);
    }
  }
}

// The chips whose frequency the vendor's older exporter does not read have a constant one there, every ms.
void ChromeOutput::WriteVendorFrequency() {
  constexpr uint64_t kMs = 1'000'000;
  for (const format::SideFacts& side : facts_.devices) {
    if (!OlderExporter(side) || side.chip == 5 || side.chip == 7 || side.aic_mhz <= 0) continue;
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
    const auto write = [&](uint64_t tid, std::string_view what, std::string_view key,
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
    for (const auto& [tid, name] : area.threads) {
      write(tid, "thread_name", "name", quoted(name));
      if (area.sorts_threads) write(tid, "thread_sort_index", "sort_index", std::to_string(tid));
    }
  }
}

base::Status ChromeOutput::Finish() {
  if (options_.vendor_compatible) {
    WriteVendorEnds();
    WriteVendorFrequency();
  }
  WriteNames();
  file_->Append("]\n");
  return file_->Finish();
}

}  // namespace profd::client
