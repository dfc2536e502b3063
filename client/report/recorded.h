// What profd's own directories hold beside the timeline: counters of devices and hosts, stacks of programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/report/view.h"

namespace profd::report {

struct Curve {
  std::string label;
  std::vector<Ns> at;  // on the job's clock, ascending
  std::vector<float> value;
};
// Curves with one unit: "HBM 0" with "Read" and "Write".
struct Chart {
  std::string title, unit;
  std::string node;  // of a host, and of every rank on it; "" = of the rank
  size_t rank = 0;   // index in Job::ranks
  int order = 0;     // what is looked at first
  std::vector<Curve> curves;
};
// Functions by who called whom. Weights are ns; of processor cycles, cycles.
struct Flame {
  struct Node {
    std::string name;
    double self = 0, all = 0;
    std::map<std::string, Node> called = {};
  };
  std::string process, node_name;
  int64_t pid = 0;
  int64_t rank = -1;  // number, -1 = of none
  bool is_waiting = false, is_cycles = false;
  size_t samples = 0;
  Node root;
};
struct Recorded {
  std::vector<Chart> charts;
  std::vector<Flame> flames;
  size_t charts_left_out = 0;
};
// Of the PROF directories among what was analysed, and in it.
Recorded ReadRecorded(const View& view, unsigned jobs);

}  // namespace profd::report
