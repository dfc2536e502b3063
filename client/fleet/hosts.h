// Which nodes: the language of --hosts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace profd::client {

// Separated by commas, each once, in the order given:
//   node7, node7:9478    a name or address; without a port kDefaultPort
//   n[001-512,600]:9478  a range keeps its leading zeros; several ranges multiply
//   @FILE                one or more of these a line, # begins a comment
//   slurm:JOBID          the nodes of a job, as scontrol says
//   k8s:SELECTOR         the nodes that pods with these labels run on, as kubectl says
//   etcd:PREFIX?L=V&…    the nodes that say they are there, with these labels: `registry` has keys and values
// The error names the part that is wrong.
using Entries = std::vector<std::pair<std::string, std::string>>;
using Registry = std::function<base::Result<Entries>(const std::string& prefix)>;
base::Result<std::vector<std::string>> ExpandHosts(std::string_view text, const Registry& registry);

// The other way round, as short as it can be said: "n[001-003,007]" of n001, n002, n003 and n007.
std::string FoldHosts(const std::vector<std::string>& hosts);

inline constexpr char kDefaultPort[] = "9478";
inline constexpr size_t kMostHosts = 100'000;

}  // namespace profd::client
