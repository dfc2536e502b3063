#include "daemon/base/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>

#include "daemon/base/log_level.h"

namespace profd::base {

namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

constexpr size_t kAuditLines = 1024;  // that wait
constexpr size_t kAuditBytes = 16 << 20;
constexpr size_t kAuditFiles = 4;  // beside the newest

struct AuditLog {
  spdlog::sink_ptr sink;  // none: off
  std::once_flag started;
  std::shared_ptr<spdlog::details::thread_pool> thread;
  std::shared_ptr<spdlog::async_logger> logger;
  std::atomic<size_t> lost_said{0};
};
AuditLog& TheAudit() {
  static auto* audit = new AuditLog;  // ends with StopAudit()
  return *audit;
}

}  // namespace

Status StartLog(std::string_view level, const std::string& file) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return {Code::kInvalidArgument,
            "log.level: '" + std::string(level) + "' is none of trace, debug, info, warn, error"};
  }
  try {
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    }
    auto logger = std::make_shared<spdlog::logger>("profd", std::move(sink));
    logger->set_level(parsed);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex& error) {
    return {Code::kInvalidArgument, "log.file: " + std::string(error.what())};
  }
  return Status::Ok();
}

void SetLogLevel(std::string_view level) {
  spdlog::default_logger_raw()->set_level(spdlog::level::from_str(std::string(level)));
}

Status StartAudit(const std::string& where) {
  if (where == "off") return Status::Ok();
  AuditLog& audit = TheAudit();
  if (where.empty()) {
    audit.sink = spdlog::default_logger()->sinks().front();
    return Status::Ok();
  }
  try {
    spdlog::file_event_handlers private_file;
    private_file.after_open = [](const spdlog::filename_t&, std::FILE* file) {
      ::fchmod(::fileno(file), 0640);
    };
    audit.sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(where, kAuditBytes, kAuditFiles,
                                                                        false, private_file);
    audit.sink->set_pattern("%v");
  } catch (const spdlog::spdlog_ex& error) {
    return {Code::kInvalidArgument, "log.audit: " + std::string(error.what())};
  }
  return Status::Ok();
}

void AuditLine(const std::string& line) {
  AuditLog& audit = TheAudit();
  if (!audit.sink) return;
  std::call_once(audit.started, [&audit] {
    audit.thread = std::make_shared<spdlog::details::thread_pool>(kAuditLines, 1);
    audit.logger = std::make_shared<spdlog::async_logger>("audit", audit.sink, audit.thread,
                                                          spdlog::async_overflow_policy::overrun_oldest);
    audit.logger->flush_on(spdlog::level::info);
  });
  const size_t lost = audit.thread->overrun_counter();
  const size_t said = audit.lost_said.exchange(lost);
  if (lost > said)
    LogError("the audit log has lost " + std::to_string(lost - said) + " lines: is its disk stuck?");
  audit.logger->info("{}", line);
}

void StopAudit() {
  AuditLog& audit = TheAudit();
  audit.sink.reset();
  audit.logger.reset();
  audit.thread.reset();  // writes what waits
}

void Log(LogLevel level, std::string_view message) { spdlog::log(ToSpdlog(level), "{}", message); }

}  // namespace profd::base
