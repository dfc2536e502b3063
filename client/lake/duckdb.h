// What we use of DuckDB's C API: names, types and numbers of duckdb.h of 1.5
// (duckdb.org/docs/stable/clients/c/api). The API is declared stable; the library is loaded while profctl
// runs (library.h).
#pragma once

#include <cstdint>

namespace profd::lake::duckdb {

using Handle = void*;  // duckdb_database, duckdb_connection, duckdb_appender, duckdb_data_chunk, …
enum class State : int { kSuccess = 0, kError = 1 };

// duckdb_result: handed over whole, read through functions alone.
struct Result {
  uint64_t columns, rows, changed;
  void* column_data;
  char* error;
  void* internal;
};

// duckdb_type, those that our tables have.
enum class Type : int { kBigInt = 5, kDouble = 11, kVarchar = 17 };

// Name, what it returns, what it takes.
#define PROFD_DUCKDB_FUNCTIONS(X)                                                         \
  X(library_version, const char*, ())                                                     \
  X(create_config, State, (Handle*))                                                      \
  X(set_config, State, (Handle, const char*, const char*))                                \
  X(destroy_config, void, (Handle*))                                                      \
  X(open_ext, State, (const char*, Handle*, Handle, char**))                              \
  X(connect, State, (Handle, Handle*))                                                    \
  X(disconnect, void, (Handle*))                                                          \
  X(close, void, (Handle*))                                                               \
  X(free, void, (void*))                                                                  \
  X(query, State, (Handle, const char*, Result*))                                         \
  X(extract_statements, uint64_t, (Handle, const char*, Handle*))                         \
  X(destroy_extracted, void, (Handle*))                                                   \
  X(destroy_result, void, (Result*))                                                      \
  X(result_error, const char*, (Result*))                                                 \
  X(column_count, uint64_t, (Result*))                                                    \
  X(row_count, uint64_t, (Result*))                                                       \
  X(value_varchar, char*, (Result*, uint64_t, uint64_t))                                  \
  X(interrupt, void, (Handle))                                                            \
  X(appender_create_ext, State, (Handle, const char*, const char*, const char*, Handle*)) \
  X(appender_error, const char*, (Handle))                                                \
  X(appender_column_count, uint64_t, (Handle))                                            \
  X(appender_column_type, Handle, (Handle, uint64_t))                                     \
  X(append_data_chunk, State, (Handle, Handle))                                           \
  X(get_type_id, Type, (Handle))                                                          \
  X(destroy_logical_type, void, (Handle*))                                                \
  X(create_data_chunk, Handle, (Handle*, uint64_t))                                       \
  X(destroy_data_chunk, void, (Handle*))                                                  \
  X(data_chunk_reset, void, (Handle))                                                     \
  X(data_chunk_get_vector, Handle, (Handle, uint64_t))                                    \
  X(data_chunk_set_size, void, (Handle, uint64_t))                                        \
  X(vector_size, uint64_t, ())                                                            \
  X(vector_get_data, void*, (Handle))                                                     \
  X(vector_ensure_validity_writable, void, (Handle))                                      \
  X(vector_get_validity, uint64_t*, (Handle))                                             \
  X(vector_assign_string_element_len, void, (Handle, uint64_t, const char*, uint64_t))    \
  X(appender_destroy, State, (Handle*))                                                   \
  X(appender_close, State, (Handle))

}  // namespace profd::lake::duckdb
