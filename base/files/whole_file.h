// Texts that people name: options' and settings' files. They are taken whole, so they have a bound.
#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "base/status.h"

namespace profd::base {

constexpr size_t kMostOfFile = 4 << 20;

// A pipe is read to its end, too: `<(command)` of a shell. Holds the file more than `most` bytes, no more are
// read, and that is the error.
Result<std::string> ReadWhole(const std::string& path, size_t most = kMostOfFile);
// The same of an open file, from where it is.
Result<std::string> ReadWhole(int file, size_t most = kMostOfFile);
// The same of a stream that a library has opened.
Result<std::string> ReadWhole(std::istream& from, size_t most = kMostOfFile);
// "" where there is an error, for whoever finds out by what is missing.
std::string ReadWholeOrNothing(const std::string& path);

}  // namespace profd::base
