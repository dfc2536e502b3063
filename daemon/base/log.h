// The daemon's log: spdlog behind printf-free calls. **Thread:** any but the data threads (pump, sample,
// write, drain), which count instead.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace profd::base {

enum class LogLevel : uint8_t { kTrace, kDebug, kInfo, kWarn, kError };

// Once, before the threads start. `file` empty = stderr.
Status StartLog(std::string_view level, const std::string& file);
void Log(LogLevel level, std::string_view message);

inline void LogDebug(std::string_view message) { Log(LogLevel::kDebug, message); }
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarn(std::string_view message) { Log(LogLevel::kWarn, message); }
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }

}  // namespace profd::base
