// Collectives of a job in the vendor's terms: the same numbers go into its files of text and into its
// databases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/analyze/analysis.h"

namespace profd::analyze {

constexpr double kUs = 1e3, kMs = 1e6, kMb = 1e6;

// What one collective of one rank took, in the vendor's terms.
struct Op {
  std::string name, group;  // "hcom_allReduce__749_0_1", the group's hash
  std::string step;         // as files have it: "step3"
  std::string type;         // "hcom_allReduce"
  bool is_pair = false;
  Ns begin = 0, elapsed = 0, transit = 0, wait = 0;
  uint64_t bytes = 0;
  const char* transport = "HCCS";
  std::string link;  // "0-1" of a pair: ranks within the group
  std::string own;   // "0-0": itself among them

  void Add(const Op& other) {
    elapsed += other.elapsed;
    transit += other.transit;
    wait += other.wait;
    bytes += other.bytes;
  }
};

// Those of the rank at `r` that are in a step of all ranks.
std::vector<Op> OpsOf(const Analysis& analysis, size_t r);

// "2-2": the rank at `r` by its place in a group.
std::string OwnLink(const Analysis& analysis, size_t r, TextId group);

// `part` of both; 0 of nothing.
double Ratio(double part, double rest);

}  // namespace profd::analyze
