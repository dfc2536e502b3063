// The names of the kernel's functions. Addresses never leave profd: with them anybody could undo the
// randomised place of the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace profd::host {

// **Thread:** any, once loaded.
class KernelNames {
 public:
  // Opens the list while profd may still read the addresses in it, unless it has. Before other threads.
  static void Hold();
  // Somebody who may read them opened it; else functions of the kernel have no names.
  static bool Readable();
  // Takes some 100 ms, not on a data thread. Those who use it at the same time share it; processes that have
  // it from this one take turns.
  static std::shared_ptr<const KernelNames> Load();

  // "do_syscall_64", "nvme_queue_rq [nvme]"; "[kernel]" where the list has nothing.
  std::string_view Find(uint64_t address) const;
  bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    uint64_t address;
    uint32_t name, bytes;  // in names_
  };
  void Read();
  void Line(std::string_view line);

  std::string names_;
  std::vector<Function> functions_;  // by address
};

}  // namespace profd::host
