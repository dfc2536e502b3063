// What operators took of the memory of devices, and when they gave it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/join/tree.h"

namespace profd::client::framework {

// Of a folder of one device that one, whatever the record says.
int DeviceNumber(const Folder& folder, const format::framework::MemoryUse& use);

// One allocation: what took it, and what gave it back.
struct Held {
  const MemoryChange* taken = nullptr;
  const MemoryChange* freed = nullptr;     // by the program
  const MemoryChange* released = nullptr;  // by the allocator
  size_t address = 0;                      // which one that was
  // Which of the two came first says how much was in use at the end; of both, the program's.
  const MemoryChange* last() const { return freed != nullptr ? freed : released; }
};

// By address: a malloc and what follows it, each kind once. Of those at the same time the address that is
// used first comes first.
std::vector<Held> Allocations(const Calls& calls);

// Who took it. **Thread:** one.
class Namer {
 public:
  Namer(const Calls& calls, const Tree& tree);

  // "" where nobody knows.
  std::string_view NameOf(const MemoryChange& change) const;

 private:
  const Queued* DequeueAt(const MemoryChange& change) const;
  std::string_view OfEnqueue(const Queued& enqueue) const;
  Ref LastBefore(int64_t ns, uint64_t tid) const;
  template <typename Is>
  std::string_view Outwards(Ref op, Is is_it) const;

  const Calls& calls_;
  const Tree& tree_;
  std::unordered_map<uint64_t, std::vector<Ref>> ops_;  // by thread, by their begins
  std::unordered_map<uint64_t, const Queued*> enqueues_;
  std::map<Ref, std::vector<const Queued*>> dequeues_;  // by thread
};

}  // namespace profd::client::framework
