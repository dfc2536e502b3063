// What recordings say of themselves: whose they are, which job's, whether they are whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace profd::lake {

struct CaptureFacts {
  // The row's name, of which the same recording copied to another place has the same; 8 digits.
  std::string instance;
  std::string object;  // last part of the path
  uint64_t bytes = 0;
  // What the recorder's own files say; nothing of a database.
  std::optional<std::string> user, job, capture, kinds, verdict, labels;
  std::optional<int64_t> attempt, lost, from, to;
};

// Of a PROF directory or a database.
CaptureFacts FactsOf(const std::string& source);

}  // namespace profd::lake
