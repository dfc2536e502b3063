// What a JIT says of its code: lines "begin size name" of /tmp/perf-PID.map, hex. Read with the rights of who
// exports, so that nothing of it is profd's to trust.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace profd::client {

class PerfMap {
 public:
  // That of a process that lives in a container, too, as long as it does. Empty when there is none, it is
  // neither the reader's nor root's, or it has not been written since `since_wall_ns`: then it is of an
  // earlier process.
  static PerfMap Of(pid_t pid, uint64_t since_wall_ns);
  static PerfMap Parse(std::string_view text);

  std::string_view Find(uint64_t address) const;
  bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    uint64_t end;
    std::string name;
  };
  std::map<uint64_t, Function> functions_;  // by begin; of several for one place the latest
};

}  // namespace profd::client
