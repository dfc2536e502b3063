// The daemon's log: spdlog behind printf-free calls. **Thread:** any but the data threads (pump, sample,
// write, drain), which count instead.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace profd::base {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError };

// Once, before the threads start. `file` empty = stderr, else it is rotated. Lines are written where they are
// logged, until LogAside().
Status StartLog(std::string_view level, const std::string& file);
// Any thread: log and audit log that are files of their own are opened by their names anew, before the next
// line, for whoever has moved them away.
void ReopenLogs();
// Once, after StartLog() and before the threads start: where audit lines go, "" = with the log, "off" or a
// file, which is rotated.
Status StartAudit(const std::string& where);
// Once: a thread of its own writes from here on, so that a disk that is stuck stops nobody who logs. When
// lines come faster than they can be written the oldest are lost, which the log says. After profd has given
// up the rights it does not use: a thread keeps those it began with.
void LogAside();
// Any thread, after LogAside().
void AuditLine(const std::string& line);
// What was given is written; lines are written where they are logged again, and audit lines are over.
void StopLog();

void Log(LogLevel level, std::string_view message);

bool IsLogged(LogLevel level);
// What happens step by step, for whoever looks for a fault. say() makes the line, if somebody wants it.
template <typename Say>
void LogDebug(const Say& say) {
  if (IsLogged(LogLevel::kDebug)) Log(LogLevel::kDebug, say());
}
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarn(std::string_view message) { Log(LogLevel::kWarn, message); }
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }

}  // namespace profd::base
