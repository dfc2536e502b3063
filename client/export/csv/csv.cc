// The output of formats csv and json: a folder of tables.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/export/csv/csv_spans.h"
#include "client/export/views/csv_tables.h"
#include "client/export/views/keyed_stats.h"
#include "client/export/write/csv_file.h"
#include "client/export/write/output.h"

namespace profd::client {

namespace {

// **Thread:** one. **Owns:** the files, the sums.
class CsvOutput : public ExportOutput {
 public:
  CsvOutput(const std::string& folder, const std::string& stamp, bool as_json, const CaptureFacts& facts,
            const OutputOptions& options)
      : facts_(facts),
        folder_(folder, stamp, as_json),
        context_{facts_, options.vendor_compatible, folder_, options.without, options.iteration},
        spans_(context_) {
    context_.op_name = [this](int device, uint32_t stream, uint32_t task) {
      return spans_.OpName(device, stream, task);
    };
  }

  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override {
    Of(series.name).stats.Label(device, key, value, text);
  }

  void Rows(const format::RowBatch& batch) override {
    Known& known = Of(batch.series->name);
    if (known.rows != nullptr) known.rows->write(batch, context_);
    if (known.keyed == nullptr) return;
    known.stats.Add(batch);
    for (size_t i = 0; i < known.quantiles.size(); ++i) {
      const size_t columns = batch.series->columns.size();
      const size_t column = known.stats.Column(known.keyed->quantiles[i]);
      for (size_t row = 0; row < batch.rows(); ++row)
        known.quantiles[i].Add(batch.values[row * columns + column]);
    }
  }

  void Spans(const format::SpanBatch& batch) override { spans_.Add(batch); }

  bool shows_overlap() const override { return false; }
  base::Status status() const override { return folder_.status(); }
  uint64_t bytes() const override { return folder_.bytes(); }
  uint64_t left_out() const override {
    uint64_t sum = spans_.left_out();
    for (const auto& [name, known] : series_) sum += known->stats.left_out();
    return sum;
  }

  base::Status Finish() override {
    for (const KeyedSeries& table : KeyedSeriesTables()) {
      const auto found = series_.find(table.series);
      if (found == series_.end() || found->second->stats.Sorted().empty()) continue;
      context_.quantiles = &found->second->quantiles;
      table.write(found->second->stats, context_);
    }
    spans_.Finish();
    return folder_.Finish();
  }

 private:
  struct Known {
    explicit Known(std::string_view weight) : stats(weight) {}
    const KeyedSeries* keyed = nullptr;
    const RowSeries* rows = nullptr;
    KeyedStats stats;
    std::vector<Quantile> quantiles;
  };

  Known& Of(std::string_view name) {
    const auto found = series_.find(name);
    if (found != series_.end()) return *found->second;
    const KeyedSeries* keyed = nullptr;
    for (const KeyedSeries& table : KeyedSeriesTables()) {
      if (table.series == name) keyed = &table;
    }
    auto known = std::make_unique<Known>(keyed != nullptr ? keyed->weight : std::string_view());
    known->keyed = keyed;
    if (keyed != nullptr) known->quantiles.resize(keyed->quantiles.size());
    for (const RowSeries& table : RowSeriesTables()) {
      if (table.series == name) known->rows = &table;
    }
    return *series_.emplace(name, std::move(known)).first->second;
  }

  const CaptureFacts facts_;
  CsvFolder folder_;
  CsvContext context_;
  std::map<std::string, std::unique_ptr<Known>, std::less<>> series_;
  CsvSpans spans_;
};

}  // namespace

base::Result<std::unique_ptr<ExportOutput>> MakeTablesOutput(const std::string& folder,
                                                             const std::string& stamp, bool as_json,
                                                             const CaptureFacts& facts,
                                                             const OutputOptions& options) {
  return std::unique_ptr<ExportOutput>(std::make_unique<CsvOutput>(folder, stamp, as_json, facts, options));
}

}  // namespace profd::client
