// The ways by which an administrator has jobs registered with profd that nobody starts differently. Each is a
// few files that give a process the same environment; docs/auto.md says for users what each does.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace profd::client {

struct AutoWay {
  const char* name;
  const char* reaches;  // whom, for people
};
std::span<const AutoWay> AutoWays();

// Where things are on the node, without `root`.
struct AutoPlaces {
  std::string root;     // what stands for /; "" = itself
  std::string library;  // libprofd_agent.so
  std::string folder;   // of profd_auto.py
  std::string socket;   // profd's; "" = the default one
};

struct AutoFile {
  std::string path;  // without root
  mode_t mode;
  std::string text;
};

// What only some ways need.
struct AutoWanted {
  std::vector<std::string>
      sites;  // python: folders of packages, or virtual environments; none = the system's
  std::vector<std::string> units;  // systemd
};

// What is written for `way`, which is one of AutoWays'. Fails with what is missing or no name.
base::Result<std::vector<AutoFile>> AutoFiles(const std::string& way, const AutoPlaces& places,
                                              const AutoWanted& wanted);

// What an administrator does next, for people; "" = nothing.
const char* AutoNext(const std::string& way);

}  // namespace profd::client
