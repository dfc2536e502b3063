// The thread "summary": takes rows to their folder.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/summary/rows_folder.h"

namespace profd::summary {

// What is not there, and why. `why` is short and the same for all of a kind: "overwritten".
struct Loss {
  std::string table, why;
  std::string whose = {};  // the columns "user" to "rank" as rows have them; "" = not known
  uint64_t rows = 0, first_ns = 0, last_ns = 0;  // wall; 0 = not known
};

// **Thread:** any, one at a time.
class Keeper {
 public:
  explicit Keeper(RowsFolder folder);
  ~Keeper();  // waits until all is sealed
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Does not wait: where the disk does not keep up the rows are lost and counted.
  void Keep(RowsOf rows);
  void Count(Loss loss);

 private:
  static constexpr size_t kMostWaiting = 8 << 20;  // bytes

  void Run();
  void Store(const RowsOf& rows);
  void Add(const Loss& loss);
  void StoreLosses();
  void Tidy();

  RowsFolder folder_;                                  // the thread's
  std::map<std::array<std::string, 3>, Loss> losses_;  // the thread's; by table, why and whose
  uint64_t loss_number_ = 0;                           // the thread's
  bool is_failing_ = false;                            // the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RowsOf> rows_;      // under mutex_
  std::deque<Loss> new_losses_;  // under mutex_
  size_t waiting_ = 0;           // bytes; under mutex_
  bool stopping_ = false;        // under mutex_
  std::thread thread_;
};

}  // namespace profd::summary
