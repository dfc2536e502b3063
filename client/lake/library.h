// libduckdb, loaded by its absolute path and only when it is needed.
#pragma once

#include "base/status.h"
#include "client/lake/duckdb.h"

namespace profd::lake {

// The version that this build was tested with; client/lake/package-lock.json pins it.
inline constexpr char kDuckdbVersion[] = "v1.5.6";

using duckdb::Handle;
using duckdb::State;
using duckdb::Type;

struct Library {
  using Result = duckdb::Result;
#define PROFD_MEMBER(name, returns, takes) returns(*name) takes = nullptr;
  PROFD_DUCKDB_FUNCTIONS(PROFD_MEMBER)
#undef PROFD_MEMBER
};

// The library of the package profd-lake, else that of the build profctl comes from. Loaded once.
// kUnavailable: it is not there, or of another version.
base::Result<const Library*> LoadLibrary();

}  // namespace profd::lake
