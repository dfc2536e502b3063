// Schema v1: the tables, their columns, types, units and meaning, in this one place.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace profd::lake {

struct Column {
  std::string_view name, type;  // as SQL has it
  std::string_view meaning;
};
struct TableSchema {
  std::string_view name, row;
  std::span<const Column> columns;
  // Of a table that is filled: what else the tables below are made of. It is no column of the table.
  std::span<const Column> inner = {};
  // Of a table that is made of others: the SELECT.
  std::string_view made = {};
  bool of_summary = false;  // profd's always-on summary alone has rows of it
};
// All have the columns of Common() first.
std::span<const Column> Common();
std::span<const TableSchema> Tables();
// "steps, kernels"
std::string TableNames();

}  // namespace profd::lake
