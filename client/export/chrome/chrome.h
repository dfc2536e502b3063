// Trace-event JSON as the vendor's msprof_*.json has it: chrome://tracing, ui.perfetto.dev, MindStudio
// Insight.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/views/counters.h"
#include "client/export/views/layers.h"
#include "client/export/write/json_text.h"
#include "client/export/write/number_text.h"
#include "client/export/write/output.h"
#include "client/export/write/output_file.h"

namespace profd::client {

// One flat array of events; names of processes and threads follow at its end. **Thread:** one. **Owns:** its
// file.
class ChromeOutput final : public ExportOutput {
 public:
  ChromeOutput(std::unique_ptr<OutputFile> file, const CaptureFacts& facts, const OutputOptions& options);

  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override;
  void Rows(const format::RowBatch& batch) override;
  void Process(const format::SpanProcess& process) override;
  void Thread(const format::SpanThread& thread) override;
  void Spans(const format::SpanBatch& batch) override;
  base::Status status() const override { return file_->status(); }
  base::Status Finish() override;
  uint64_t bytes() const override { return file_->bytes(); }
  uint64_t left_out() const override { return left_out_ + counters_.left_out(); }

 private:
  struct JoinedEvent;
  // An event whose numbers are all that is missing.
  struct Counter {
    std::string head;  // up to the time stamp
    struct Arg {
      std::string text;  // ",\"name\":"
      BoundArg value;
    };
    std::vector<Arg> args;
    bool rounded = false;  // to three decimals, as the older exporter does
    int copies = 1, ends = 0;
    size_t room = 0;                // most bytes it can take
    JoinedEvent* joined = nullptr;  // what its rows are a part of
    // The last row; only of counters that the vendor ends with more of them.
    struct Last {
      uint64_t wall_ns = 0;
      std::vector<int64_t> keys;
      std::vector<double> values;
    } last;
  };
  // An event that the rows of one moment make together.
  struct JoinedEvent {
    std::string head;
    bool rounded = false;
    size_t room = 0;
    uint64_t wall_ns = 0;
    std::vector<std::pair<const Counter::Arg*, double>> values;
  };
  // A process of the timeline.
  struct Area {
    std::string name, label;
    uint32_t sort_index = 0;
    bool sorts_threads = true;
    std::map<uint64_t, std::string> threads;
    // Threads that stand behind another one: which one, and in which order.
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> planes;
  };
  // Where spans of a thread or stream go.
  struct Place {
    std::string text;  // ,"pid":1,"tid":2,
    uint64_t tid = 0;
  };
  struct PlaceKey {
    Layer layer;
    int64_t owner, thread;  // pid or device; tid or stream
    bool operator==(const PlaceKey&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const PlaceKey& key) const {
      return std::hash<uint64_t>()(static_cast<uint64_t>(key.thread) * 0x9E3779B97F4A7C15u ^
                                   static_cast<uint64_t>(key.owner) << 8 ^ static_cast<uint64_t>(key.layer));
    }
  };

  // The layer of a device (device >= 0), of a process (pid), or of the host.
  uint64_t Enter(Layer layer, int device, int64_t pid);
  bool Older(int device) const;
  void MakeCounters(const CounterTable& table, const format::RowBatch& batch, std::span<const int64_t> keys,
                    const Labels& labels, std::vector<Counter>& counters);
  Counter MakeCounter(uint64_t timeline_pid, bool older, BoundEvent event);
  void WriteCounter(const Counter& counter, uint64_t wall_ns, const int64_t* keys, const double* values);
  char* WriteHead(char* at, std::string_view head, uint64_t wall_ns);
  void Join(const Counter& counter, uint64_t wall_ns, const int64_t* keys, const double* values);
  void WriteJoined(JoinedEvent& event);
  void KeepLast(Counter& counter, const format::Series& series, uint64_t wall_ns, const int64_t* keys,
                const double* values);

  Layer LayerOf(const format::Span& span) const;
  const Place& PlaceOf(Layer layer, const format::SpanBatch& batch, const format::Span& span);
  void NameThread(Layer layer, Area& area, uint64_t tid, const format::SpanBatch& batch,
                  const format::Span& span);
  void WriteSpan(const format::SpanBatch& batch, const format::Span& span);
  // An end of an arrow, whose other end may be yet to come.
  struct FlowEnd {
    uint64_t wall_ns = 0;
    bool ends = false, of_program = false, written = false;
    std::string place;
  };
  void WriteFlow(const format::Span& span, const Place& place);
  void AppendFlow(uint64_t connection, const FlowEnd& end, std::string_view place);
  void AppendStamp(uint64_t ns);  // to line_
  void AppendArgs(std::string& to, const format::SpanBatch& batch, const format::Span& span);
  void AppendCores(std::string& to, const format::TaskCounters* counters, int device, uint32_t blocks) const;
  void AppendSpanArgs(std::string& to, const format::SpanBatch& batch, const format::Span& span);
  std::string_view Text(const format::SpanBatch& batch, format::TextId id) {
    return texts_.Get(*batch.texts, id);
  }

  void WriteVendorEnds();
  void WriteVendorFrequency();
  void WriteNames();

  std::unique_ptr<OutputFile> file_;
  CaptureFacts facts_;
  OutputOptions options_;
  bool older_host_ = false;
  LayerPlaces layer_places_[2];  // of the newer exporter, of the older one
  CounterRows<Counter> counters_{false};
  std::map<std::string, JoinedEvent> joined_;                   // by their heads
  std::map<uint64_t, Area> areas_;                              // by timeline pid
  std::map<int64_t, std::string> programs_;                     // "python3 4712 (rank 3)" by pid
  std::map<std::pair<int64_t, int64_t>, std::string> threads_;  // names by pid and tid
  std::unordered_map<PlaceKey, Place, PlaceHash> places_;
  PlaceKey last_key_{Layer::kOther, -2, -2};
  Place last_place_;
  std::unordered_map<uint64_t, FlowEnd> flows_;  // by connection; of agents
  JsonTexts texts_;
  std::string line_;
  StampText span_stamp_;
  uint64_t stamp_ns_ = 0;  // whose text is in stamp_
  char stamp_[2 * kNumberText];
  size_t stamp_size_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
