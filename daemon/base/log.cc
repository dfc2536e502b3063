#include "daemon/base/log.h"

#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/files/way.h"
#include "daemon/base/log_level.h"

namespace profd::base {

namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
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

constexpr size_t kWaitingLines = 1024;
// Of a log that has a file of its own, and of the audit log.
constexpr size_t kFileBytes = 16 << 20;
constexpr size_t kEarlierFiles = 4;

// A file that is rotated, and opened anew when it is told to: by the thread that writes, which has the
// rights.
class LogFile : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogFile(std::string path, spdlog::file_event_handlers handlers)
      : path_(std::move(path)), handlers_(std::move(handlers)), file_(Open()) {}
  void Reopen() { reopens_ = true; }

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    if (reopens_.exchange(false)) {
      try {
        auto fresh = Open();
        fresh->set_formatter(formatter_->clone());
        file_ = std::move(fresh);
      } catch (const spdlog::spdlog_ex& error) {
        const std::string why = "SIGHUP: the log stays where it is: " + std::string(error.what());
        file_->log({line.logger_name, spdlog::level::err, why});
      }
    }
    file_->log(line);
  }
  void flush_() override { file_->flush(); }
  void set_pattern_(const std::string& pattern) override {
    set_formatter_(std::make_unique<spdlog::pattern_formatter>(pattern));
  }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    file_->set_formatter(formatter->clone());
    formatter_ = std::move(formatter);
  }

 private:
  std::shared_ptr<spdlog::sinks::rotating_file_sink_st> Open() const {
    return std::make_shared<spdlog::sinks::rotating_file_sink_st>(path_, kFileBytes, kEarlierFiles, false,
                                                                  handlers_);
  }

  const std::string path_;
  const spdlog::file_event_handlers handlers_;
  std::shared_ptr<spdlog::sinks::rotating_file_sink_st> file_;
  std::atomic<bool> reopens_{false};
};

struct Logs {
  std::vector<std::shared_ptr<LogFile>> files;                        // of the two below
  std::shared_ptr<spdlog::logger> logger;                             // writes at once
  spdlog::sink_ptr audit_sink;                                        // none: off
  std::atomic<std::shared_ptr<spdlog::details::thread_pool>> thread;  // of LogAside()
  std::shared_ptr<spdlog::logger> aside;
  std::shared_ptr<spdlog::logger> audit;
  std::atomic<spdlog::logger*> current{nullptr};
  std::atomic<size_t> lost_said{0};
};
Logs& TheLogs() {
  static auto* logs = new Logs;  // threads may log while the process ends
  return *logs;
}

std::shared_ptr<spdlog::logger> MakeAside(const std::string& name, const spdlog::sink_ptr& sink) {
  auto logger = std::make_shared<spdlog::async_logger>(name, sink, TheLogs().thread.load(),
                                                       spdlog::async_overflow_policy::overrun_oldest);
  logger->flush_on(spdlog::level::debug);
  return logger;
}

void SayWhatWasLost() {
  Logs& logs = TheLogs();
  const auto thread = logs.thread.load();
  if (!thread) return;
  const size_t lost = thread->overrun_counter();
  const size_t said = logs.lost_said.exchange(lost);
  if (lost <= said) return;
  logs.aside->error("the log has lost {} lines: is its disk stuck?", lost - said);
}

}  // namespace

Status CheckLogLevel(std::string_view level) {
  constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error", "off"};
  if (std::ranges::find(kLevels, level) != std::end(kLevels)) return {};
  return {Code::kInvalidArgument,
          "log.level: '" + std::string(level) + "' is not one of debug, info, warn, error, off"};
}

Status StartLog(std::string_view level, const std::string& file) {
  PROFD_RETURN_IF_ERROR(CheckLogLevel(level));
  const spdlog::level::level_enum parsed = spdlog::level::from_str(std::string(level));
  if (!file.empty()) {
    if (const Status place = CheckPlaceOf(file); !place.ok()) return place.In("log.file");
  }
  try {
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else if (std::error_code error;
               std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error)) {
      sink =
          std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);  // a pipe or a terminal stays what it is
    } else {
      sink = TheLogs().files.emplace_back(std::make_shared<LogFile>(file, spdlog::file_event_handlers{}));
    }
    sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    Logs& logs = TheLogs();
    logs.logger = std::make_shared<spdlog::logger>("profd", std::move(sink));
    logs.logger->set_level(parsed);
    logs.logger->flush_on(spdlog::level::debug);
    logs.current = logs.logger.get();
  } catch (const spdlog::spdlog_ex& error) {
    return {Code::kInvalidArgument, "log.file: " + std::string(error.what())};
  }
  return Status::Ok();
}

void ReopenLogs() {
  for (const auto& file : TheLogs().files) file->Reopen();
}

void SetLogLevel(std::string_view level) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(std::string(level));
  Logs& logs = TheLogs();
  logs.logger->set_level(parsed);
  if (logs.aside) logs.aside->set_level(parsed);
}

Status StartAudit(const std::string& where) {
  if (where == "off") return Status::Ok();
  Logs& logs = TheLogs();
  if (where.empty()) {
    logs.audit_sink = logs.logger->sinks().front();
    return Status::Ok();
  }
  if (const Status place = CheckPlaceOf(where); !place.ok()) return place.In("log.audit");
  try {
    spdlog::file_event_handlers private_file;
    private_file.after_open = [](const spdlog::filename_t&, std::FILE* file) {
      ::fchmod(::fileno(file), 0640);
    };
    logs.audit_sink = logs.files.emplace_back(std::make_shared<LogFile>(where, private_file));
    logs.audit_sink->set_pattern("%v");
  } catch (const spdlog::spdlog_ex& error) {
    return {Code::kInvalidArgument, "log.audit: " + std::string(error.what())};
  }
  return Status::Ok();
}

void LogAside() {
  Logs& logs = TheLogs();
  logs.thread = std::make_shared<spdlog::details::thread_pool>(kWaitingLines, 1);
  logs.aside = MakeAside("profd", logs.logger->sinks().front());
  logs.aside->set_level(logs.logger->level());
  if (logs.audit_sink) logs.audit = MakeAside("audit", logs.audit_sink);
  logs.current = logs.aside.get();
}

void AuditLine(const std::string& line) {
  Logs& logs = TheLogs();
  if (!logs.audit) return;
  SayWhatWasLost();
  logs.audit->info("{}", line);
}

void StopLog() {
  Logs& logs = TheLogs();
  logs.current = logs.logger.get();
  logs.thread.store(nullptr);  // writes what waits
}

bool IsLogged(LogLevel level) {
  const spdlog::logger* const logger = TheLogs().current.load(std::memory_order_acquire);
  return logger != nullptr && logger->should_log(ToSpdlog(level));
}

void Log(LogLevel level, std::string_view message) {
  spdlog::logger* logger = TheLogs().current.load(std::memory_order_acquire);
  if (logger == nullptr) return;
  SayWhatWasLost();
  logger->log(ToSpdlog(level), "{}", message);
}

}  // namespace profd::base
