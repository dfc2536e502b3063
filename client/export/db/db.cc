#include "client/export/db/db.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/join.h"
#include "client/export/read/metadata.h"
#include "client/export/views/device/core_samples.h"
#include "client/export/write/json_text.h"

namespace profd::client {

namespace {

constexpr std::string_view kCoreSamples = "core_sample";

}  // namespace

base::Result<std::unique_ptr<ExportOutput>> MakeDatabaseOutput(const std::string& path,
                                                               const CaptureFacts& facts,
                                                               const OutputOptions& options) {
  auto db = DbConnection::Create(path);
  if (!db.ok()) return db.status();
  auto output = std::make_unique<DbOutput>(std::move(*db), facts, options);
  if (!output->status().ok()) return output->status();
  return std::unique_ptr<ExportOutput>(std::move(output));
}

DbOutput::DbOutput(std::unique_ptr<DbConnection> db, const CaptureFacts& facts, const OutputOptions& options)
    : db_(std::move(db)), facts_(facts), options_(options) {
  strings_ = db_->CreateTable(
      "STRING_IDS", std::initializer_list<DbColumn>{{"id", "INTEGER PRIMARY KEY"}, {"value", "TEXT"}});
  // The vendor's readers know the first ones by their numbers.
  for (const std::string_view text : {"release", "allocate", "AIC", "AIV"}) IdOf(text);
  no_text_ = IdOf("N/A");
  WriteFacts();
  if (!options_.for_analysers) return;
  for (const SpanTable table :
       {SpanTable::kTask, SpanTable::kComputeTaskInfo, SpanTable::kCannApi, SpanTable::kCommunicationOp,
        SpanTable::kMstxEvents, SpanTable::kPytorchApi, SpanTable::kConnectionIds})
    RowsOf(table);
}

void DbOutput::WriteFacts() {
  using Row = std::initializer_list<DbValue>;
  const auto table = [&](std::string_view name, std::initializer_list<DbColumn> columns) {
    return db_->CreateTable(name, columns);
  };
  const auto append = [&](DbConnection::Rows* rows, Row values) {
    db_->Append(*rows, std::span(values.begin(), values.size()));
  };
  for (const DbEnum& values : DbEnums()) {
    auto* rows = table(values.table, {{"id", "INTEGER PRIMARY KEY"}, {"name", "TEXT"}});
    auto names = values.names;
    if (options_.for_analysers && values.table == "ENUM_API_TYPE") names.emplace_back(kFrameworkCall, "op");
    std::ranges::sort(names);  // as keys come
    for (const auto& [id, name] : names) append(rows, {id, name});
  }
  auto* meta = table("META_DATA", {{"name", "TEXT"}, {"value", "TEXT"}});
  for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{"SCHEMA_VERSION", "1.2.0"},
                                    {"SCHEMA_VERSION_MAJOR", "1"},
                                    {"SCHEMA_VERSION_MINOR", "2"},
                                    {"SCHEMA_VERSION_MICRO", "0"}})
    append(meta, {name, value});
  if (!options_.vendor_compatible) {
    bool has_groups = false;
    for (const auto& [name, value] : facts_.metadata) {
      append(meta, {std::string_view(name), std::string_view(value)});
      has_groups = has_groups || name == kParallelGroups;
    }
    const std::string groups = has_groups ? "" : GroupsJson();
    if (!groups.empty()) append(meta, {std::string_view(kParallelGroups), std::string_view(groups)});
  }
  append(table("SESSION_TIME_INFO", {{"startTimeNs", "INTEGER"}, {"endTimeNs", "INTEGER"}}),
         {facts_.start_ns, facts_.end_ns});
  const std::string host = ValidUtf8(facts_.host.hostname);
  // The vendor's has "0" for every host that its collector has not numbered.
  const std::string uid =
      ValidUtf8(format::HostUidOf(facts_.host.host_uid, options_.vendor_compatible ? "" : host));
  append(table("HOST_INFO", {{"hostUid", "TEXT"}, {"hostName", "TEXT"}}),
         {std::string_view(uid), std::string_view(host)});
  auto* npus = table("NPU_INFO", {{"id", "INTEGER"}, {"name", "TEXT"}});
  auto* ranks = table("RANK_DEVICE_MAP", {{"rankId", "INTEGER"}, {"deviceId", "INTEGER"}});
  for (const format::SideFacts& side : facts_.devices) {
    append(npus, {side.device, format::DbChipName(side.chip)});
    append(ranks, {options_.vendor_compatible ? -1 : side.rank_id, side.device});
  }
}

// As framework profilers write it. Of a group of which only one rank is known the others are elsewhere: to
// say that it is alone would be wrong.
std::string DbOutput::GroupsJson() const {
  std::string json;
  for (const auto& [group, ranks] : facts_.groups) {
    if (ranks.size() < 2 || *ranks.begin() < 0) continue;
    json += json.empty() ? "{" : ", ";
    AppendJsonString(json, group);
    json += ": {\"group_name\": \"\", \"group_rank\": 0, \"global_ranks\": [" + base::Joined(ranks) + "]}";
  }
  return json.empty() ? json : json + "}";
}

int64_t DbOutput::IdOf(std::string_view text) {
  if (texts_ != nullptr) {
    const format::TextId known = texts_->Find(text);
    if (known != 0 && known < text_ids_.size() && text_ids_[known] >= 0) return text_ids_[known];
  }
  const auto [found, fresh] = ids_.try_emplace(ValidUtf8(text), next_id_);
  if (fresh) {
    const DbValue values[] = {next_id_++, std::string_view(found->first)};
    db_->Append(*strings_, values);
  }
  return found->second;
}

int64_t DbOutput::IdOf(const format::SpanBatch& batch, format::TextId id) {
  if (texts_ != batch.texts) {
    texts_ = batch.texts;
    text_ids_.clear();
  }
  if (id >= texts_->size()) id = 0;
  if (id >= text_ids_.size()) text_ids_.resize(texts_->size(), -1);
  int64_t& known = text_ids_[id];
  if (known >= 0) return known;
  const std::string text = ValidUtf8(texts_->Get(id));
  const auto found = ids_.find(text);
  if (found != ids_.end()) return known = found->second;
  const DbValue values[] = {next_id_, std::string_view(text)};
  db_->Append(*strings_, values);
  return known = next_id_++;
}

int64_t DbOutput::IdOrNone(const format::SpanBatch& batch, format::TextId id) {
  return id == 0 ? no_text_ : IdOf(batch, id);
}

void DbOutput::Label(const format::Series& series, int device, size_t key, int64_t value,
                     std::string_view text) {
  labels_.Set(series, device, key, value, text);
}

// With their units, which the vendor's have not.
std::vector<DbColumn> DbOutput::ColumnsOf(const DbTable& table, const format::Series* series) const {
  std::vector<DbColumn> columns = table.columns;
  for (DbColumn& column : columns)
    column.unit = options_.vendor_compatible ? std::string_view() : UnitOf(column, series);
  return columns;
}

DbConnection::Rows& DbOutput::Create(const DbTable& table, const format::Series* series) {
  DbConnection::Rows*& rows = tables_[&table];
  if (rows == nullptr) rows = db_->CreateTable(table.name, ColumnsOf(table, series));
  return *rows;
}

DbOutput::SeriesTable DbOutput::Bind(const DbTable& table, const format::Series& series) const {
  SeriesTable bound;
  bound.table = &table;
  const auto key_of = [&](std::string_view name) {
    return std::ranges::find(series.keys, name) - series.keys.begin();
  };
  for (const DbColumn& column : table.columns) {
    Source source;
    source.scale = options_.vendor_compatible && column.vendor_scale != 0 ? column.scale * column.vendor_scale
                                                                          : column.scale;
    source.whole = column.whole;
    if (column.source == "@device") {
      source.kind = Source::Kind::kDevice;
    } else if (column.source == "@stamp") {
      source.kind = Source::Kind::kStamp;
    } else if (column.source.starts_with("@key:")) {
      source.index = static_cast<size_t>(key_of(column.source.substr(5)));
      if (source.index < series.keys.size()) source.kind = Source::Kind::kKey;
    } else if (column.source.starts_with("@text:")) {
      source.kind = Source::Kind::kText;
      source.text = column.source.substr(6);
      source.index = bound.texts++;
    } else {
      const auto found = std::ranges::find(series.columns, column.source, &format::SeriesColumn::name);
      source.index = static_cast<size_t>(found - series.columns.begin());
      if (source.index < series.columns.size()) source.kind = Source::Kind::kValue;
    }
    bound.sources.push_back(source);
  }
  if (!table.unless_negative.empty()) {
    const auto guard = static_cast<size_t>(key_of(table.unless_negative));
    if (guard < series.keys.size()) bound.guard = static_cast<int>(guard);
  }
  return bound;
}

DbOutput::SeriesState* DbOutput::StateOf(const format::RowBatch& batch) {
  for (const auto& state : states_)
    if (state->series == batch.series && state->device == batch.device) return state.get();
  auto state = std::make_unique<SeriesState>(
      SeriesState{batch.series, batch.device, {}, KeySets(batch.series->keys.size()), {}, {}});
  for (const DbTable& table : DbTables())
    if (table.series == batch.series->name && (table.of_vendor || !options_.vendor_compatible))
      state->tables.push_back(Bind(table, *batch.series));
  states_.push_back(std::move(state));
  return states_.back().get();
}

std::vector<int64_t> DbOutput::TextsOf(const SeriesState& state, const int64_t* keys) {
  std::vector<std::string_view> names;
  const std::span all(keys, state.series->keys.size());
  for (size_t i = 0; i < all.size(); ++i)
    names.push_back(labels_.Get(*state.series, state.device, i, all[i]));
  std::vector<int64_t> ids;
  for (const SeriesTable& table : state.tables)
    for (const Source& source : table.sources)
      if (source.kind == Source::Kind::kText)
        ids.push_back(IdOf(FillName(source.text, *state.series, all, names)));
  return ids;
}

bool DbOutput::FillRow(const SeriesTable& table, const format::RowBatch& batch, size_t row,
                       const int64_t* texts) {
  const int64_t* keys = batch.keys.data() + row * batch.series->keys.size();
  const double* values = batch.values.data() + row * batch.series->columns.size();
  if (table.guard >= 0 && keys[table.guard] < 0) return false;
  row_.clear();
  bool any = false;
  for (const Source& source : table.sources) {
    switch (source.kind) {
      case Source::Kind::kDevice:
        row_.emplace_back(batch.device);
        break;
      case Source::Kind::kStamp:
        row_.emplace_back(batch.wall_ns[row]);
        break;
      case Source::Kind::kKey:
        row_.emplace_back(keys[source.index]);
        break;
      case Source::Kind::kText:
        row_.emplace_back(texts[source.index]);
        break;
      case Source::Kind::kNone:
        row_.emplace_back();
        break;
      case Source::Kind::kValue: {
        const double value = values[source.index] * source.scale;
        if (!std::isfinite(value)) {
          row_.emplace_back();
          break;
        }
        any = true;
        // Cut off as the vendor does, but not what is whole but for the last bits.
        if (source.whole && std::fabs(value) < 9e18) {
          row_.emplace_back(static_cast<int64_t>(value + 1e-3));
        } else {
          row_.emplace_back(value);
        }
      }
    }
  }
  return any;
}

void DbOutput::InsertRow(SeriesTable& table, SeriesState& state) {
  if (table.rows == nullptr) table.rows = &Create(*table.table, state.series);
  int copies = 1;
  if (options_.vendor_compatible) {
    copies = table.table->vendor_copies;
    if (table.table->vendor_ends > 0) {
      if (state.last_row.empty()) copies += table.table->vendor_ends;
      state.last_row = row_;
    }
  }
  for (int i = 0; i < copies; ++i) db_->Append(*table.rows, row_);
}

void DbOutput::Rows(const format::RowBatch& batch) {
  SeriesState& state = *StateOf(batch);
  if (batch.series->name == kCoreSamples) cores_.Add(batch);
  if (state.tables.empty()) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const int64_t* keys = batch.keys.data() + row * batch.series->keys.size();
    bool fresh = false;
    const auto set = state.sets.Find(keys, fresh);
    if (!set) {
      ++left_out_;
      continue;
    }
    if (fresh) state.texts.push_back(TextsOf(state, keys));
    const int64_t* texts = state.texts[*set].data();
    for (SeriesTable& table : state.tables) {
      if (FillRow(table, batch, row, texts)) InsertRow(table, state);
      texts += table.texts;
    }
  }
}

// Bandwidths in base units and without one in the name, as the vendor's (unified_pmu_processor.cpp), who
// takes the µs of `total_time` for ms and makes bounds in its tables only.
void DbOutput::WriteCores() {
  constexpr std::string_view kGiBytes = "(GB/s)";
  for (const bool vector : {false, true}) {
    const int64_t type = IdOf(vector ? "AIV" : "AIC");
    for (const DeviceCores& of : SampledCores(vector, cores_, facts_)) {
      for (const DeviceCores::Core& core : of.cores) {
        if (std::isfinite(core.busy_ns)) {
          Insert(SpanTable::kSamplePmuSummary,
                 {of.device, IdOf("total_time"), core.busy_ns * (options_.vendor_compatible ? 1e3 : 1),
                  core.number, type});
        }
        for (size_t i = 0; i < core.values.size(); ++i) {
          if (!std::isfinite(core.values[i]) || of.metrics[i].what == CoreMetric::What::kBound) continue;
          std::string_view name = of.metrics[i].name;
          const bool is_rate = name.ends_with(kGiBytes);
          if (is_rate) name.remove_suffix(kGiBytes.size());
          Insert(SpanTable::kSamplePmuSummary,
                 {of.device, IdOf(name), is_rate ? core.values[i] * (1 << 30) : core.values[i], core.number,
                  type});
        }
      }
    }
  }
}

base::Status DbOutput::Finish() {
  WriteCores();
  if (options_.for_analysers) WriteFramework();
  for (const auto& state : states_) {
    for (SeriesTable& table : state->tables)
      for (int i = 0; table.rows != nullptr && !state->last_row.empty() && i < table.table->vendor_ends; ++i)
        db_->Append(*table.rows, state->last_row);
  }
  if (span_rows_[static_cast<size_t>(SpanTable::kTask)] != nullptr)
    db_->CreateIndex("CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId)");
  return db_->Finish();
}

}  // namespace profd::client
