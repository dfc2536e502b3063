// msprof_*.db: the vendor's tables, and ours for what it leaves out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/db/db_connection.h"
#include "client/export/db/framework_calls.h"
#include "client/export/views/counters.h"
#include "client/export/views/db_tables.h"
#include "client/export/views/device/core_metrics.h"
#include "client/export/views/keyed_stats.h"
#include "client/export/write/output.h"

namespace profd::client {

// Tables are made when they get their first row. **Thread:** one. **Owns:** the database.
class DbOutput final : public ExportOutput {
 public:
  DbOutput(std::unique_ptr<DbConnection> db, const CaptureFacts& facts, const OutputOptions& options);

  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override;
  void Rows(const format::RowBatch& batch) override;
  void Process(const format::SpanProcess&) override {}
  void Spans(const format::SpanBatch& batch) override;
  base::Status status() const override { return db_->status(); }
  base::Status Finish() override;
  uint64_t bytes() const override { return db_->bytes(); }
  uint64_t left_out() const override { return left_out_; }

 private:
  // Where a column's values come from.
  struct Source {
    enum class Kind : uint8_t { kDevice, kStamp, kKey, kText, kValue, kNone } kind = Kind::kNone;
    size_t index = 0;
    double scale = 1;
    bool whole = false;
    std::string_view text;
  };
  struct SeriesTable {
    const DbTable* table = nullptr;
    DbConnection::Rows* rows = nullptr;
    std::vector<Source> sources;
    int guard = -1;  // key that must not be negative
    size_t texts = 0;
  };
  struct SeriesState {
    const format::Series* series;
    int device;
    std::vector<SeriesTable> tables;
    KeySets sets;
    std::vector<std::vector<int64_t>> texts;  // of all tables' text columns, by key set
    std::vector<DbValue> last_row;
  };

  SeriesState* StateOf(const format::RowBatch& batch);
  SeriesTable Bind(const DbTable& table, const format::Series& series) const;
  std::vector<int64_t> TextsOf(const SeriesState& state, const int64_t* keys);
  // False: the row has no value.
  bool FillRow(const SeriesTable& table, const format::RowBatch& batch, size_t row, const int64_t* texts);
  void InsertRow(SeriesTable& table, SeriesState& state);
  std::vector<DbColumn> ColumnsOf(const DbTable& table, const format::Series* series) const;
  DbConnection::Rows& Create(const DbTable& table, const format::Series* series = nullptr);

  DbConnection::Rows& RowsOf(SpanTable table);
  void Insert(SpanTable table, std::initializer_list<DbValue> values);
  void WriteSpan(const format::SpanBatch& batch, const format::Span& span);
  void WriteTask(const format::SpanBatch& batch, const format::Span& span);
  void WriteCounters(int64_t task, const format::Span& span, const format::TaskCounters& counters,
                     uint32_t blocks);
  void WriteApi(const format::SpanBatch& batch, const format::Span& span);
  void WriteComm(const format::SpanBatch& batch, const format::Span& span);
  void WriteCommPart(const format::SpanBatch& batch, const format::Span& span);
  static int EnumNumber(std::string_view table, std::string_view name);
  int64_t CommOf(int64_t name, int device);
  DbValue RankSizeOf(const format::SpanBatch& batch, const format::Span& span) const;
  void WriteMission(const format::SpanBatch& batch, const format::Span& span);
  void WriteMemory(const format::SpanBatch& batch, const format::Span& span);
  void WriteOpMemory(const format::SpanBatch& batch, const format::Span& span);
  void WriteMark(const format::SpanBatch& batch, const format::Span& span);
  void WriteFramework();
  int64_t GlobalTid(const format::Span& span) const;

  // COMPUTE_TASK_INFO has a column of states: analysers take one that is empty for dynamic shapes.
  bool HasStates() const { return options_.vendor_compatible || facts_.knows_operators; }
  void WriteFacts();
  void WriteCores();
  std::string GroupsJson() const;
  int64_t IdOf(std::string_view text);
  int64_t IdOf(const format::SpanBatch& batch, format::TextId id);
  // Of a text that may be missing: that of "N/A".
  int64_t IdOrNone(const format::SpanBatch& batch, format::TextId id);

  std::unique_ptr<DbConnection> db_;
  CaptureFacts facts_;
  OutputOptions options_;
  Labels labels_;
  std::vector<std::unique_ptr<SeriesState>> states_;
  std::unordered_map<const DbTable*, DbConnection::Rows*> tables_;
  std::vector<DbValue> row_;

  DbConnection::Rows* strings_ = nullptr;
  std::unordered_map<std::string, int64_t> ids_;  // of texts that are in no table of texts
  const format::Texts* texts_ = nullptr;
  std::vector<int64_t> text_ids_;  // of texts_, -1 = none yet
  int64_t next_id_ = 0, no_text_ = 0;
  std::map<std::pair<int64_t, int>, int64_t> comms_;  // numbers of those whose parts came, by name and device
  std::map<int, int64_t> last_tasks_;                 // of each device's log
  int64_t next_task_ = 0, next_comm_ = 0, next_overlap_ = 0;
  uint64_t next_range_ = uint64_t{1} << 62;       // for ranges without a number
  uint64_t next_connection_ = uint64_t{1} << 62;  // for calls without one
  std::array<DbConnection::Rows*, kSpanTables> span_rows_{};
  std::map<std::pair<int, bool>, std::vector<CoreMetric>> core_metrics_;  // of a device's vector cores?
  FrameworkCalls framework_;                                              // for analysers only
  KeyedStats cores_;                                                      // of the series core_sample
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
