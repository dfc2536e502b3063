// A PROF directory as an export sees it: sides, their control files and clocks, streams and their slices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "client/export/read/report.h"
#include "format/clock_map.h"
#include "format/directory/manifest.h"
#include "format/directory/side_facts.h"

namespace profd::client {

struct Slice {
  uint64_t number = 0;
  std::string name;  // in the folder of its stream
  uint64_t bytes = 0;
};
// The slices of one file kind, those that are there, ascending.
struct Stream {
  std::string folder;  // "device_0/data"
  std::string file;    // "hbm.data": without device and slice
  std::string name;    // "hbm.data.0"
  std::vector<Slice> slices;

  std::string path() const { return folder + "/" + file; }
  uint64_t bytes() const;
};
// host/ or device_<N>/.
struct Side {
  std::string folder;
  format::SideFacts facts;
  format::ClockMap clocks{0, 0};
  bool has_clock_pairs = false;  // of the manifest
  std::vector<Stream> streams;   // by name

  bool is_host() const { return facts.device < 0; }
  // Something says where its clocks lie on the wall clock.
  bool has_wall_clock() const { return has_clock_pairs || facts.begin_wall_ns != 0; }
  const Stream* Find(std::string_view file) const;
};

// **Thread:** any, once open. **Owns:** the directory's descriptor.
struct Capture {
  std::string path;  // as given, without a trailing slash
  std::string name;  // "PROF_000001_…"
  base::UniqueFd dir;
  std::vector<Side> sides;     // the host first, if it's there
  std::string own_folder;      // of profd, in this directory: OwnFolderIn()
  std::vector<Stream> agents;  // below it
  std::optional<format::Manifest> manifest;
  // What FindRanks has found: ranks by device, -1 = not known, also of devices that only programs tell of;
  // and those of groups of collectives.
  std::map<int, int64_t> ranks;
  std::map<std::string, std::set<int64_t>> groups;
  bool has_all_ranks = false;  // of the job, so that nobody of a group is elsewhere
  // And the devices of each program, by its file of lanes; none: nobody knows.
  std::map<std::string, std::set<int>> devices_of;

  const Side* host() const { return !sides.empty() && sides.front().is_host() ? &sides.front() : nullptr; }
  // Of the collection; the end is 0 when nobody wrote it down.
  uint64_t begin_wall_ns() const;
  uint64_t end_wall_ns() const;
  uint64_t bytes() const;
  // "20231114221320", local time: of the begin, so that a later export replaces an earlier one. That of the
  // directory's name when nobody wrote down the begin.
  std::string Stamp() const;
};

// kNotFound: nothing there. kInvalidArgument: no PROF directory. What is wrong inside goes to the report.
// `single_pair`: one pair of clocks per side, as the vendor's parser knows them, whatever the manifest has.
base::Result<Capture> OpenCapture(const std::string& path, bool single_pair, Report& report);

// The last part of a path: "PROF_000001_…".
std::string CaptureName(const std::string& path);
// Of all its data; 0 when it can't be read.
uint64_t InputBytes(const std::string& path);

// PROF_…/host and PROF_…/device_<N>: the directory, and which part of it that is.
struct SidePath {
  std::string capture;
  int device = -1;  // -1 = host/
};
std::optional<SidePath> SideOf(const std::string& path);

// `path` itself if it's a PROF directory, else those below it, at most 8 levels deep, by name.
// `only_right_in_it`: no deeper than one.
base::Result<std::vector<std::string>> FindCaptures(const std::string& path, bool only_right_in_it = false);

}  // namespace profd::client
