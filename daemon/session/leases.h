// Which devices root has lent to whom: given, taken back, over by themselves, remembered across restarts of
// profd (not of the machine: no job outlives that).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/auth/rights.h"
#include "daemon/base/aside.h"
#include "daemon/base/executor.h"

namespace profd::session {

// **Thread:** ctl only.
class Leases {
 public:
  // `on_less`: somebody may less than before.
  Leases(base::Timers& ctl, base::Aside& aside, auth::Rights& rights, std::string spool,
         std::function<void()> on_less);
  ~Leases();

  // Those of an earlier life; `ready` once they hold.
  void Begin(std::function<void()> ready);

  // `lease` has all but its id.
  base::Result<auth::Lease> Add(auth::Lease lease);
  base::Result<auth::Lease> Remove(const std::string& id);
  const std::vector<auth::Lease>& all() const { return leases_; }
  bool saving() const { return saving_; }  // a change is not on disk yet

 private:
  void Publish();
  void Save();
  void EndThoseOver();

  base::Timers& ctl_;
  base::Aside& aside_;
  auth::Rights& rights_;
  const std::string spool_;
  const std::function<void()> on_less_;
  std::vector<auth::Lease> leases_;
  base::Timers::Id timer_ = 0;
  bool saving_ = false;
  bool save_again_ = false;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// As they are remembered.
std::string WriteLeases(const std::vector<auth::Lease>& leases, const std::string& boot);
// None of another boot.
base::Result<std::vector<auth::Lease>> ParseLeases(std::string_view json, const std::string& boot);

}  // namespace profd::session
