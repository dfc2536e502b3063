// The thread "summary": takes rows to their folder.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/summary/rows_folder.h"

namespace profd::summary {

// What is not there, and why. `why` is short and the same for all of a kind: "overwritten".
struct Loss {
  uint32_t uid = kNobody;
  std::string table, why;
  std::string whose = {};  // the columns "user" to "rank" as rows have them; "" = not known
  uint64_t rows = 0, first_ns = 0, last_ns = 0;  // wall; 0 = not known
};

// **Thread:** any. Nobody waits for the disk, but for a while at the end.
class Keeper : public std::enable_shared_from_this<Keeper> {
 public:
  static std::shared_ptr<Keeper> Start(RowsFolder folder);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Where the disk does not keep up, rows are lost and counted: of the user for whom most wait.
  void Keep(RowsOf rows);
  void Count(const Loss& loss);
  // All that came is sealed, unless the disk hangs: then the thread is left behind. Call once.
  void Stop();

 private:
  static constexpr size_t kMostWaiting = 8 << 20;  // bytes
  struct Losses {
    std::map<std::array<std::string, 3>, Loss> all;  // by table, why and whose
    std::map<uint32_t, size_t> of_user;
  };

  explicit Keeper(RowsFolder folder) : folder_(std::move(folder)) {}
  static void Add(const Loss& loss, Losses& losses);
  void Run();
  void Store(const RowsOf& rows);
  void StoreLosses();
  void DropOfMost();
  void Tidy();

  // The thread's.
  RowsFolder folder_;
  Losses losses_;
  uint64_t loss_number_ = 0;
  bool is_failing_ = false;
  std::map<uint32_t, std::string> names_;  // as rows have them

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::deque<RowsOf> rows_;
  std::map<uint32_t, size_t> waiting_of_;  // bytes, by user
  Losses new_losses_;
  size_t waiting_ = 0;  // bytes
  bool stopping_ = false, ended_ = false;
};

}  // namespace profd::summary
