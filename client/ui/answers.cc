#include "client/ui/answers.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/analyze/report/json.h"
#include "client/export/exporter.h"
#include "client/files/temporary_folder.h"
#include "client/report/compared.h"
#include "client/report/report.h"
#include "client/show/json.h"
#include "client/ui/page.h"
#include "client/words/args.h"
#include "client/words/jobs.h"
#include "client/words/text.h"
#include "format/preset.h"

namespace profd::ui {

using base::Code;
using base::Result;
using base::Status;
using client::ControlClient;
using Json = nlohmann::ordered_json;

namespace {

std::string Dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

unsigned HttpCode(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return 400;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kAborted:
      return 409;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return 503;
    default:
      return 500;
  }
}

Answer Failed(const Status& status) {
  return {.status = HttpCode(status.code()),
          .body = Dumped({{"error", client::OneLine(std::string(status.message()))}})};
}

// To whoever has opened it in a tab of its own.
Answer FailedPage(const Status& status) {
  return {.status = HttpCode(status.code()),
          .type = "text/plain; charset=utf-8",
          .body = client::OneLine(std::string(status.message())) + "\n"};
}

Answer AsJson(const Result<std::string>& body) {
  return body.ok() ? Answer{.body = *body} : Failed(body.status());
}

// "report/ID" → ID; "" = it is something else.
std::string Behind(const std::string& path, const std::string& prefix) {
  return path.starts_with(prefix) ? path.substr(prefix.size()) : "";
}

// A member of a POST, "" where there is none.
Result<std::string> TextOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return std::string();
  if (!found->is_string()) return Status(Code::kInvalidArgument, std::string(name) + ": expected a text");
  return found->get<std::string>();
}

Result<Json> Parsed(const std::string& body) {
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return Status(Code::kInvalidArgument, "expected an object of JSON");
  return json;
}

Result<analyze::Request> RequestFor(const v1::SessionInfo& session) {
  analyze::Request request;
  request.paths.assign(session.directories().begin(), session.directories().end());
  if (request.paths.empty())
    return Status(Code::kFailedPrecondition, "session " + session.session() + " has no data");
  request.jobs = client::OwnJobs();
  return request;
}

Result<std::unique_ptr<analyze::Analysis>> Analyse(const v1::SessionInfo& session) {
  PROFD_ASSIGN_OR_RETURN(analyze::Request request, RequestFor(session));
  return analyze::Analysis::Run(std::move(request));
}

bool HasEnded(const v1::SessionInfo& info) {
  return info.state() == v1::SESSION_STATE_SEALED || info.state() == v1::SESSION_STATE_FAILED;
}

}  // namespace

Result<Answers::Control> Answers::Connected() {
  const std::lock_guard lock(mutex_);
  if (!connection_) {
    PROFD_ASSIGN_OR_RETURN(client::Connection made, client::Connect(context_));
    connection_ = std::make_shared<client::Connection>(std::move(made));
  }
  return connection_;
}

template <typename Reply>
Result<Reply> Answers::Ask(const std::function<Result<Reply>(ControlClient&)>& ask) {
  for (bool again = false;; again = true) {
    PROFD_ASSIGN_OR_RETURN(const Control connection, Connected());
    Result<Reply> reply = ask(*connection->control);
    const bool is_gone = !reply.ok() && (reply.status().code() == Code::kUnavailable ||
                                         reply.status().code() == Code::kUnauthenticated);
    if (!is_gone || again) return reply;
    const std::lock_guard lock(mutex_);
    if (connection_ == connection) connection_.reset();  // profd was restarted: our ticket is of the old one
  }
}

Answer Answers::To(const Question& question) {
  const std::string& path = question.path;
  if (question.is_post) return AsJson(Do(path, question.body));
  if (path.empty()) return {.type = "text/html; charset=utf-8", .body = std::string(page::kMarkup)};
  if (path == "ui.css") return {.type = "text/css; charset=utf-8", .body = std::string(page::kStyle)};
  if (path == "ui.js") return {.type = "text/javascript; charset=utf-8", .body = std::string(page::kScript)};
  if (const std::string wanted = Behind(path, "report/"); !wanted.empty()) {
    const size_t slash = wanted.find('/');  // no session's name or id has one
    const Result<std::string> html =
        Report(wanted.substr(0, slash), slash == std::string::npos ? "" : wanted.substr(slash + 1));
    if (!html.ok()) return FailedPage(html.status());
    return {.type = "text/html; charset=utf-8", .body = *html, .foreign = true};
  }
  if (const std::string session = Behind(path, "timeline/"); !session.empty()) {
    const Result<std::string> file = Timeline(session);
    if (!file.ok()) return FailedPage(file.status());
    return {.type = "application/gzip",
            .body = *file,
            .file_name = "timeline_" + client::Excerpt(session, 16) + ".json.gz"};
  }
  return AsJson(Read(path));
}

Result<std::string> Answers::Read(const std::string& path) {
  if (path == "api/node") return Node();
  if (path == "api/live") return Live();
  if (path == "api/sessions") {
    PROFD_ASSIGN_OR_RETURN(const v1::ListReply reply,
                           Ask<v1::ListReply>([](ControlClient& control) { return control.List().Now(); }));
    return client::SessionsJson({reply.sessions().begin(), reply.sessions().end()});
  }
  if (const std::string session = Behind(path, "api/findings/"); !session.empty()) return Findings(session);
  return Status(Code::kNotFound, "there is no such page");
}

Result<std::string> Answers::Do(const std::string& path, const std::string& body) {
  if (path == "api/start") return Start(body);
  if (path == "api/stop") return Stop(body);
  return Status(Code::kNotFound, "there is no such action");
}

Result<std::string> Answers::Node() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  Json presets = Json::array();
  for (const format::Preset& preset : format::Presets())
    presets.push_back({{"name", preset.name}, {"about", preset.about}});
  PROFD_ASSIGN_OR_RETURN(const v1::DevicesReply reply, Ask<v1::DevicesReply>([](ControlClient& control) {
                           return control.Devices().Now();
                         }));
  Json devices = Json::array();
  for (const v1::Device& device : reply.devices())
    devices.push_back({{"device", device.device()}, {"chip", device.chip()}, {"status", device.status()}});
  return Dumped({{"host", client::OneLine(host)}, {"presets", presets}, {"devices", devices}});
}

Result<std::string> Answers::Live() {
  return Ask<std::string>([](ControlClient& control) -> Result<std::string> {
    std::string json;
    PROFD_RETURN_IF_ERROR(control.Live({}, [&json](const v1::LiveValues& values) {
      json = client::LiveJson(values);
      return false;
    }));
    return json;
  });
}

Result<std::string> Answers::Start(const std::string& body) {
  PROFD_ASSIGN_OR_RETURN(const Json json, Parsed(body));
  PROFD_ASSIGN_OR_RETURN(const std::string preset, TextOf(json, "preset"));
  PROFD_ASSIGN_OR_RETURN(const std::string duration, TextOf(json, "duration"));
  PROFD_ASSIGN_OR_RETURN(const std::string name, TextOf(json, "name"));
  PROFD_ASSIGN_OR_RETURN(const std::string devices, TextOf(json, "devices"));
  PROFD_ASSIGN_OR_RETURN(const std::string pids, TextOf(json, "pids"));
  v1::SessionSpec spec;
  spec.set_preset(preset);
  PROFD_RETURN_IF_ERROR(client::CheckName("name", name));
  spec.set_name(name);
  if (!duration.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, client::ParseDurationNs("for", duration));
    spec.set_duration_ns(ns);
  }
  if (!devices.empty()) {
    PROFD_ASSIGN_OR_RETURN(const client::DeviceList list, client::ParseDevices(devices));
    spec.set_all_devices(list.all);
    spec.mutable_devices()->Assign(list.devices.begin(), list.devices.end());
  }
  if (!pids.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> list, client::ParsePids(pids));
    spec.mutable_pids()->Assign(list.begin(), list.end());
  }
  PROFD_ASSIGN_OR_RETURN(const v1::SessionInfo info, Ask<v1::SessionInfo>([&spec](ControlClient& control) {
                           return control.Start(spec).Now();
                         }));
  return client::SessionJson(info);
}

Result<std::string> Answers::Stop(const std::string& body) {
  PROFD_ASSIGN_OR_RETURN(const Json json, Parsed(body));
  PROFD_ASSIGN_OR_RETURN(const std::string session, TextOf(json, "session"));
  if (session.empty()) return Status(Code::kInvalidArgument, "stop: name the session");
  v1::StopRequest request;
  request.set_session(session);
  PROFD_ASSIGN_OR_RETURN(const v1::StopReply reply, Ask<v1::StopReply>([&request](ControlClient& control) {
                           return control.Stop(request).Now();
                         }));
  return client::SessionsJson({reply.sessions().begin(), reply.sessions().end()});
}

Result<v1::SessionInfo> Answers::Session(const std::string& session) {
  return Ask<v1::SessionInfo>([&session](ControlClient& control) { return control.Get(session).Now(); });
}

Result<std::string> Answers::Findings(const std::string& session) {
  PROFD_ASSIGN_OR_RETURN(const v1::SessionInfo info, Session(session));
  {
    const std::lock_guard lock(mutex_);
    const auto known = findings_.find(info.session());
    if (known != findings_.end()) return known->second;
  }
  const std::lock_guard one(heavy_);
  const auto analysis = Analyse(info);
  std::string json;
  if (analysis.ok()) {
    json = analyze::FindingsJson(**analysis);
  } else if (analysis.status().code() == Code::kNotFound) {
    json = Dumped(
        {{"findings", Json::array()},
         {"nothing", "nothing to analyse: neither tasks of a device nor steps of a program are in it"}});
  } else {
    return analysis.status();
  }
  const std::lock_guard lock(mutex_);
  if (HasEnded(info)) findings_[info.session()] = json;
  return json;
}

Result<std::string> Answers::Report(const std::string& session, const std::string& before) {
  PROFD_ASSIGN_OR_RETURN(const v1::SessionInfo info, Session(session));
  const std::lock_guard one(heavy_);
  PROFD_ASSIGN_OR_RETURN(const auto analysis, Analyse(info));
  report::Options options;
  options.title = info.name().empty() ? "session " + info.session() : info.name();
  if (!before.empty()) {
    PROFD_ASSIGN_OR_RETURN(const v1::SessionInfo earlier, Session(before));
    PROFD_ASSIGN_OR_RETURN(const analyze::Request request, RequestFor(info));
    PROFD_ASSIGN_OR_RETURN(const analyze::Request of_earlier, RequestFor(earlier));
    PROFD_ASSIGN_OR_RETURN(options.compared, report::ComparedPart({of_earlier.paths}, request));
  }
  return report::Page(*analysis, options);
}

Result<std::string> Answers::Timeline(const std::string& session) {
  PROFD_ASSIGN_OR_RETURN(const v1::SessionInfo info, Session(session));
  if (info.directory().empty())
    return Status(Code::kFailedPrecondition, "session " + info.session() + " has no data");
  const std::lock_guard one(heavy_);
  PROFD_ASSIGN_OR_RETURN(const client::TemporaryFolder folder, client::TemporaryFolder::Make("ui"));
  client::ExportOptions options;
  options.formats = {client::ExportFormat::kChrome};
  options.out = folder.path() + "/out";
  options.gzip = true;
  options.jobs = client::OwnJobs();
  client::Progress progress;
  PROFD_ASSIGN_OR_RETURN(const client::ExportResult made,
                         client::Export(info.directory(), options, progress));
  if (made.files.empty()) return Status(Code::kNotFound, "nothing to draw: " + made.nothing);
  std::ifstream file(made.files.front(), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace profd::ui
