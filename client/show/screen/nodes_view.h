// What `profctl top --hosts` shows: a line for each node, and the ranks whose steps take longest. No terminal
// and no connection in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/show/screen/live_set.h"
#include "client/show/screen/table.h"
#include "profd/v1/metrics.pb.h"

namespace profd::client {

// **Thread:** one. Times are CLOCK_MONOTONIC.
class NodesView {
 public:
  // Shown in this order, behind those with whom something is wrong.
  explicit NodesView(const std::vector<std::string>& hosts);

  void Take(const std::string& host, const v1::LiveValues& values, uint64_t now_ns);
  // Its values have ended.
  void Fail(const std::string& host, const std::string& why);

  // "name", "aicore", "hbm", "cpu", "memory", "step", "lost".
  base::Status SortBy(const std::string& what);
  // A key of the screen; false: it has no meaning.
  bool OnKey(char key);

  // At most `rows` lines; 0 = as many as there are.
  std::string Text(size_t rows, const Look& look, uint64_t now_ns) const;

 private:
  struct Node {
    std::string host;
    LiveSet live = {};
    uint64_t taken_ns = 0;  // 0: it has said nothing yet
    std::string why = {};   // it says nothing more
  };
  struct Row {
    const Node* node = nullptr;
    DevicesSum devices = {};
    std::optional<double> step;  // seconds, of the slowest of its processes
    std::string state;           // "" = all is well
  };

  // A process that says how long its steps take.
  struct Rank {
    const std::string* host = nullptr;
    LiveSet::Labels labels = {};  // pid, name, job, rank
    double seconds = 0;
    double of_usual = 1;  // its steps by the median of all ranks of its job
  };

  static bool IsSilent(const Node& node, uint64_t now_ns);
  std::vector<Row> Rows(uint64_t now_ns) const;
  static std::string SumLine(const std::vector<Row>& rows);
  // Those of nodes that answer, the slowest first.
  std::vector<Rank> Ranks(uint64_t now_ns) const;
  static std::string TableOf(const std::vector<Rank>& ranks, const Look& look);

  std::vector<Node> nodes_;
  std::map<std::string, size_t> by_host_;
  std::string sort_ = "name";
  bool reversed_ = false;
};

}  // namespace profd::client
