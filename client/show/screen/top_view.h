// What `profctl top` shows: two sets of values in, lines of text out. No terminal in here.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/show/screen/table.h"
#include "profd/v1/metrics.pb.h"

namespace profd::client {

// **Thread:** one.
class TopView {
 public:
  void Take(const v1::LiveValues& values);
  // "device", "aicore", "hbm", "memory"; "cpu", "rss", "pid".
  base::Status SortBy(const std::string& what);
  // A key of the screen; false: it has no meaning.
  bool OnKey(char key);

  // At most `rows` lines; 0 = as many as there are.
  std::string Text(size_t rows, const Look& look) const;

 private:
  using Labels = std::map<std::string, std::string>;
  struct Value {
    Labels labels;
    double value = 0;
  };
  using Set = std::map<std::string, std::vector<Value>>;

  std::optional<double> Sum(const Set& set, const std::string& metric, const Labels& labels) const;
  std::optional<double> Now(const std::string& metric, const Labels& labels = {}) const {
    return Sum(now_, metric, labels);
  }
  // Growth of a counter, per second.
  std::optional<double> Rate(const std::string& metric, const Labels& labels = {}) const;
  std::vector<Labels> Of(const std::string& metric, const std::vector<std::string>& keys) const;
  std::string HostLine() const;
  std::string OwnLine() const;
  std::string SumLine(const std::vector<Labels>& devices) const;
  void AddHead(std::string* text, const Look& look) const;
  void AddDevices(std::string* text, const Look& look) const;
  void AddSessions(std::string* text, const Look& look) const;
  void AddProcesses(std::string* text, const Look& look) const;

  Set now_, before_;
  uint64_t wall_ns_ = 0, before_wall_ns_ = 0;
  std::string device_sort_ = "device", process_sort_ = "cpu";
  bool reversed_ = false;
};

}  // namespace profd::client
