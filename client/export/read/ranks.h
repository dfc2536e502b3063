// Which rank of a job a device is: what info.json says, else what the programs say that ran on it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/export/read/capture.h"

namespace profd::client {

// A program and the devices that it has reported kernels or collectives of.
struct DeviceUser {
  std::string lanes_file;
  std::map<std::string, std::string> labels;
  std::set<int> devices;
  std::map<std::string, std::set<int>> groups;  // of collectives: the devices that took part
};

// Devices by number. `known`: those that the directory has, and what info.json says of them (-1 = nothing). A
// program of rank R makes its devices rank R; where several of them take part in one collective, or it is the
// whole job, they are ranks in the order of their numbers, as if every program of the job had as many. What
// nobody knows is -1; a single device of a single program is rank 0.
std::map<int, int64_t> RanksOf(const std::map<int, int64_t>& known, const std::vector<DeviceUser>& users);

// Those that a program has told of; else the one of its local rank, or all if it is the `only` program.
std::set<int> DevicesOf(const std::map<int, int64_t>& known, const DeviceUser& user, bool only);

// Whether the programs are all of their job: as many ranks as they say that it has.
bool AreWholeJob(const std::vector<DeviceUser>& users);

// Reads of every program's records which devices they are of and which groups these form, and writes both
// into `capture`.
void FindRanks(Capture& capture);

}  // namespace profd::client
