// Reading a directory that anybody may have made, and that may change meanwhile: regular files only, no
// links.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

base::UniqueFd OpenDir(int parent, const std::string& name);
// What is in it, without "." and "..".
std::set<std::string> Names(int dir);
// A regular file; `why` says what is in its place.
base::UniqueFd OpenFile(int dir, const std::string& name, uint64_t* bytes, std::string* why);
// As much as there is; -1: an error, with errno.
ssize_t ReadSome(int fd, std::byte* into, size_t bytes);
// A file of at most `max_bytes`; the message is what is wrong with it, without its name.
base::Result<std::string> ReadSmallFile(int dir, const std::string& name, uint64_t max_bytes = 64u << 20);

// Slices of a data folder by stream ("hbm.data.0") and number.
std::map<std::string, std::set<uint64_t>> SlicesByStream(const std::set<std::string>& names);

}  // namespace profd::client
