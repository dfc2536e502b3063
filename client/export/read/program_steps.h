// The one definition of how long a program's steps take: from begin to end, as the program marks them, of
// each step that is finished, without the first of each thread, which does what no other does. Of the threads
// of a process those of the one that marks most count; a step of several processes takes as long as the
// longest of them. The time between steps belongs to no step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace profd::client {

// Steps of all processes, as they come. **Thread:** one.
class ProgramSteps {
 public:
  struct Lengths {
    std::vector<uint64_t> ns;              // of the steps that all processes have
    std::set<uint64_t> first, unfinished;  // numbers of those that are left out
  };

  void Add(int64_t pid, int64_t tid, uint64_t number, uint64_t begin_ns, uint64_t end_ns) {
    processes_[pid][tid].push_back({number, begin_ns, end_ns - std::min(begin_ns, end_ns)});
  }
  void AddUnfinished(uint64_t number) { unfinished_.insert(number); }

  Lengths Count() const {
    Lengths lengths{{}, {}, unfinished_};
    std::map<uint64_t, std::pair<size_t, uint64_t>> longest;  // by number: processes, length
    for (const auto& [pid, threads] : processes_) {
      const auto most =
          std::ranges::max_element(threads, {}, [](const auto& thread) { return thread.second.size(); });
      const std::vector<Step>& steps = most->second;
      const auto first = std::ranges::min_element(steps, {}, &Step::begin_ns);
      for (auto step = steps.begin(); step != steps.end(); ++step) {
        if (step == first && steps.size() > 1) {
          lengths.first.insert(step->number);
          continue;
        }
        auto& [count, ns] = longest[step->number];
        ++count;
        ns = std::max(ns, step->ns);
      }
    }
    for (const auto& [number, of] : longest) {
      if (of.first >= processes_.size()) lengths.ns.push_back(of.second);
    }
    return lengths;
  }

 private:
  struct Step {
    uint64_t number = 0, begin_ns = 0, ns = 0;
  };
  std::map<int64_t, std::map<int64_t, std::vector<Step>>> processes_;  // by thread
  std::set<uint64_t> unfinished_;
};

}  // namespace profd::client
