// Is a PROF directory what it should be? profd's own or the vendor's; only reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/verify/perturbations.h"

namespace profd::client {

struct Complaint {
  std::string file;  // below the directory; empty = the directory itself
  std::optional<uint64_t> offset;
  std::string what;
};

struct VerifyReport {
  std::string directory;
  bool by_profd = false;   // it has a manifest
  std::string session;     // of the manifest, as are the next two
  std::string state;       // running | sealed
  std::string end_reason;  // "interrupted": profd was killed, and the next one sealed it
  uint64_t slices = 0, bytes = 0;
  uint64_t lost_records = 0;           // recorded by the manifest: no complaint
  PerturbationList perturbations;      // as are these
  std::vector<std::string> unchecked;  // kinds of file whose records this build does not know
  std::vector<Complaint> complaints;   // at most kMaxComplaints
  uint64_t more_complaints = 0;
  static constexpr size_t kMaxComplaints = 1000;
};

// kNotFound: nothing there. kInvalidArgument: no PROF directory. Up to 8 threads; each takes a quarter of a
// MiB, 16 MiB at most.
base::Result<VerifyReport> Verify(const std::string& directory);

}  // namespace profd::client
