#include <algorithm>
#include <charconv>

#include "client/export/views/views.h"

// A new family: its file, and a line here.
#define PROFD_VIEWS(FAMILY) \
  FAMILY(Memory)            \
  FAMILY(Links)             \
  FAMILY(Ports)             \
  FAMILY(Power)             \
  FAMILY(Cores)             \
  FAMILY(TaskCounters)      \
  FAMILY(System)            \
  FAMILY(Host)

namespace profd::client {

namespace views {
#define PROFD_DECLARE(Name) Views Name();
PROFD_VIEWS(PROFD_DECLARE)
}  // namespace views

namespace {

template <typename Row>
std::vector<Row> Joined(std::span<const Row> Views::*of) {
  std::vector<Row> all;
  for (const Views& views : AllViews()) all.insert(all.end(), (views.*of).begin(), (views.*of).end());
  return all;
}

}  // namespace

std::span<const Views> AllViews() {
#define PROFD_LIST(Name) views::Name(),
  static const Views kAll[] = {PROFD_VIEWS(PROFD_LIST)};
  return kAll;
}

std::span<const CounterTable> CounterTables() {
  static const std::vector<CounterTable> kTables = Joined(&Views::counters);
  return kTables;
}

std::vector<const CounterTable*> FindCounterTables(std::string_view series, bool all) {
  std::vector<const CounterTable*> tables;
  for (const CounterTable& table : CounterTables())
    if (table.series == series && (all || !table.extra)) tables.push_back(&table);
  return tables;
}

std::span<const KeyedSeries> KeyedSeriesTables() {
  static const std::vector<KeyedSeries> kTables = Joined(&Views::keyed);
  return kTables;
}

std::span<const RowSeries> RowSeriesTables() {
  static const std::vector<RowSeries> kTables = Joined(&Views::rows);
  return kTables;
}

std::span<const DbTable> DbTables() {
  static const std::vector<DbTable> kTables = Joined(&Views::tables);
  return kTables;
}

std::string HexText(int64_t number) {
  char text[24] = "0x";
  return {text, std::to_chars(text + 2, text + sizeof text, number, 16).ptr};
}

}  // namespace profd::client
