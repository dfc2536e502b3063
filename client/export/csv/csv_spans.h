// Tables that are made of spans: tasks, operators, calls, ranges.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "client/export/csv/csv_cores.h"
#include "client/export/csv/csv_operators.h"
#include "client/export/csv/csv_programs.h"
#include "client/export/csv/reorder.h"
#include "client/export/views/csv_tables.h"
#include "format/events/spans.h"

namespace profd::client {

// Of how long things took, in µs of three decimals, as the vendor adds them up.
struct Durations {
  uint64_t count = 0;
  double sum = 0, min = 0, max = 0;
  double first = 0, shifted = 0, squares = 0;  // sums of what is above the first one

  void Add(uint64_t ns);
  double Average() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  // Around the average rounded to three decimals.
  double Variance() const;
};

// **Thread:** one.
class CsvSpans {
 public:
  explicit CsvSpans(const CsvContext& context)
      : context_(context), programs_(context), operator_records_(context) {}
  void Add(const format::SpanBatch& batch);
  void Finish();
  // What operator the latest task of these ids was; "" of one that is not known.
  std::string_view OpName(int device, uint32_t stream, uint32_t task);
  // Spans of more names than there is room for.
  uint64_t left_out() const { return left_out_ + operator_records_.left_out(); }

 private:
  struct TaskRow {
    uint64_t begin_ns = 0, end_ns = 0;
    int32_t device = -1;
    uint32_t stream = 0, task = 0, context = format::kNoId, model = format::kNoId;
    uint32_t blocks = 0, mix_blocks = 0;
    bool knows_blocks = false;
    format::TextId model_name = 0, kernel = 0, type = 0, op_name = 0, op_type = 0, op_state = 0,
                   op_task_type = 0, hf32 = 0;
    format::TextId shapes[6] = {};  // input shapes, types, formats, then the output's
    enum class Kind : uint8_t { kTask, kOperator, kCommunication } kind = Kind::kTask;
    std::unique_ptr<format::TaskCounters> counters = {};
  };
  struct RangeRow {
    uint64_t connection = 0;
    uint64_t begin_ns = 0, end_ns = 0, value = 0;
    int64_t pid = 0, tid = 0;
    format::TextId name = 0, domain = 0, category = 0;
    bool mark = false;
    format::ArgType payload_type = format::ArgType::kU64;
    uint64_t payload = 0;
    bool has_payload = false;
  };
  // Rows of one device in order; what isn't of the first device waits in memory no longer than its window.
  struct DeviceRows {
    Reorder<TaskRow> rows;
    uint64_t last_end_ns = 0;
    bool any = false;
  };

  static constexpr size_t kMaxOpNames = 1 << 20;
  static uint64_t TaskKey(int device, uint32_t stream, uint32_t task) {
    return static_cast<uint64_t>(device & 0xFFFF) << 48 | uint64_t{stream & 0xFFFF} << 32 | task;
  }

  void Task(const format::SpanBatch& batch, const format::Span& span);
  void Range(const format::SpanBatch& batch, const format::Span& span);
  void WriteTask(DeviceRows& device, const TaskRow& row);
  void WriteOperator(DeviceRows& device, const TaskRow& row);
  void WriteRange(const RangeRow& row);
  void WriteOpStatistic();
  void WriteApiStatistic();
  void WriteOsStatistic();
  void WriteCommStatistic();
  std::string_view Get(format::TextId text) const {
    return texts_ == nullptr ? std::string_view() : texts_->Get(text);
  }
  void Cell(CsvFile* csv, format::TextId text);
  bool IsStars(int device) const;
  // Columns of op_summary: what the counters of AI cores [0] and vector cores [1] make.
  const CsvContext& context_;
  CsvPrograms programs_;
  CsvOperators operator_records_;
  const format::Texts* texts_ = nullptr;
  uint64_t left_out_ = 0;
  std::vector<bool> plain_;  // texts of texts_ that need no quotes
  std::map<int, DeviceRows> tasks_;
  Reorder<RangeRow> ranges_;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> ran_;  // when a device ran what is on it, by connection
  std::map<std::tuple<int, format::TextId, format::TextId>, Durations> operators_;  // device, type, core
  base::FlatMap<Durations> calls_{1 << 16};                                         // name << 32 | level
  base::FlatMap<format::TextId> op_names_{kMaxOpNames};                             // TaskKey
  CsvCores cores_;
  // Some operator is known by the host's calls, which tell its state: analysers take "N/A" for dynamic
  // shapes.
  bool has_infos_ = false;  // the host tells of operators: op_summary has their states
  CsvFile *task_time_ = nullptr, *op_summary_ = nullptr, *msprof_tx_ = nullptr;
  std::map<std::tuple<int64_t, int64_t, format::TextId>, Durations> os_calls_;  // pid, tid, name
  std::map<std::pair<int, std::string>, Durations> collectives_;                // device, type
};

}  // namespace profd::client
