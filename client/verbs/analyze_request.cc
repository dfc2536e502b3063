#include "client/verbs/analyze_request.h"

#include <algorithm>
#include <thread>

#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kMostJobs = 64;

Status CheckRules(const std::vector<std::string>& wanted) {
  for (const std::string& word : wanted) {
    const std::string_view name = std::string_view(word).substr(word.starts_with('-') ? 1 : 0);
    const auto is_named = [name](const analyze::Rule& rule) {
      return rule.id == name || (rule.id.starts_with(name) && rule.id.substr(name.size()).starts_with('.'));
    };
    if (name != "all" && std::ranges::none_of(analyze::Rules(), is_named))
      return {Code::kInvalidArgument,
              "--rules " + Excerpt(word) + ": there is no such rule; profctl analyze --list"};
  }
  return {};
}

std::vector<std::string> Words(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end > at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

Result<analyze::Request> AnalyzeRequest(const std::string& verb, const std::vector<std::string>& directories,
                                        const std::string& rules, const std::string& settings,
                                        const std::string& jobs) {
  if (directories.empty())
    return Status(Code::kInvalidArgument, verb + ": name at least one directory or database");
  analyze::Request request;
  request.paths = directories;
  request.rules = Words(rules);
  PROFD_RETURN_IF_ERROR(CheckRules(request.rules));
  for (const std::string& setting : Words(settings)) PROFD_RETURN_IF_ERROR(request.settings.Set(setting));
  request.jobs = std::clamp<unsigned>(std::thread::hardware_concurrency(), 1, kMostJobs);
  if (!jobs.empty()) {
    PROFD_ASSIGN_OR_RETURN(const auto count, ParseCount("--jobs", jobs, kMostJobs));
    request.jobs = static_cast<unsigned>(count);
  }
  return request;
}

}  // namespace profd::client
