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
// Once, after StartLog() and before the threads start: where audit lines go, "" = with the log, "off" or a
// file, which is rotated. A thread of its own writes them; it begins with the first, when profd has given up
// the rights it does not use.
Status StartAudit(const std::string& where);
// Any thread; does not block. When lines come faster than they can be written the oldest are lost, which the
// log says.
void AuditLine(const std::string& line);
// What was given is written. When nobody gives any more.
void StopAudit();

void Log(LogLevel level, std::string_view message);

inline void LogDebug(std::string_view message) { Log(LogLevel::kDebug, message); }
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarn(std::string_view message) { Log(LogLevel::kWarn, message); }
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }

}  // namespace profd::base
