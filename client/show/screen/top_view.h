// What `profctl top` shows: two sets of values in, lines of text out. No terminal in here.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "client/show/screen/live_set.h"
#include "client/show/screen/table.h"
#include "profd/v1/metrics.pb.h"

namespace profd::client {

// **Thread:** one.
class TopView {
 public:
  void Take(const v1::LiveValues& values) { live_.Take(values); }
  // "device", "aicore", "hbm", "memory"; "cpu", "rss", "pid".
  base::Status SortBy(const std::string& what);
  // A key of the screen; false: it has no meaning.
  bool OnKey(char key);

  // At most `rows` lines; 0 = as many as there are.
  std::string Text(size_t rows, const Look& look) const;

 private:
  using Labels = LiveSet::Labels;

  std::string HostLine() const;
  std::string OwnLine() const;
  std::string SumLine() const;
  void AddHead(std::string* text, const Look& look) const;
  void AddDevices(std::string* text, const Look& look) const;
  void AddSessions(std::string* text, const Look& look) const;
  void AddProcesses(std::string* text, const Look& look) const;

  LiveSet live_;
  std::string device_sort_ = "device", process_sort_ = "cpu";
  bool reversed_ = false;
};

}  // namespace profd::client
