// What a capture says of the machine: its sort and age, nothing that tells which one it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace profd::client {

// Texts of /proc, /sys and /etc by what they are called in a capture. `root`: in front of these, for tests.
std::map<std::string, std::string> ReadNodeFacts(const std::string& root = "");

// Takes the names of a machine and its people out of what goes to others: each becomes as many 'x'.
// **Thread:** one.
class Scrubber {
 public:
  // `words`: of fewer than four characters none, they are everywhere.
  explicit Scrubber(std::vector<std::string> words);
  // Of this machine: its names, its users', the addresses of its network.
  static Scrubber OfThisMachine();

  std::string Clean(std::string text);
  uint64_t places() const { return places_; }

 private:
  std::vector<std::string> words_;
  uint64_t places_ = 0;
};

}  // namespace profd::client
