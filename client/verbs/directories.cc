#include "client/verbs/directories.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "client/export/read/capture.h"
#include "client/node/connection.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kPatienceNs = 2'000'000'000;  // with a profd that has nothing to do with it otherwise

// Of `given`, which is no directory here. An error says what to do.
Result<std::vector<std::string>> DirectoriesOf(Context context, const std::string& given) {
  const std::string quoted = "'" + Excerpt(given, PATH_MAX) + "'";
  if (!context.host.empty()) {
    return Status(Code::kNotFound, quoted + ": no such directory here, and what " + Excerpt(context.host) +
                                       " has is not read from here: profctl --host " + Excerpt(context.host) +
                                       " fetch " + Excerpt(given) + " --out DIR copies it first");
  }
  if (context.deadline_ns == 0) context.deadline_ns = base::MonotonicNs() + kPatienceNs;
  const Result<Connection> connection = Connect(context);
  if (!connection.ok()) {
    return Status(Code::kNotFound, quoted +
                                       ": no such directory; only profd knows whether it is a session: " +
                                       connection.status().message());
  }
  const Result<v1::SessionInfo> info = connection->control->Get(given).Now();
  if (info.status().code() == Code::kNotFound && given != "last") {
    // It may have been removed: profd says so.
    return Status(Code::kNotFound, quoted + ": no such directory here, and " + info.status().message());
  }
  if (!info.ok()) return info.status();
  if (info->directories().empty())
    return Status(Code::kNotFound, "session " + given + " has no directory: nothing of it was stored");
  return std::vector<std::string>(info->directories().begin(), info->directories().end());
}

bool MayBeSession(const std::string& given) {
  return !given.empty() && given.find('/') == std::string::npos && ::access(given.c_str(), F_OK) != 0;
}

}  // namespace

Result<std::vector<std::string>> WithSessions(const Context& context, const std::vector<std::string>& given) {
  std::vector<std::string> directories;
  for (const std::string& word : given) {
    if (!MayBeSession(word)) {
      directories.push_back(word);
      continue;
    }
    PROFD_ASSIGN_OR_RETURN(std::vector<std::string> of_session, DirectoriesOf(context, word));
    std::ranges::move(of_session, std::back_inserter(directories));
  }
  return directories;
}

Result<std::vector<std::string>> FindDirectories(const Context& context, const std::string& given,
                                                 bool only_right_in_it) {
  if (MayBeSession(given)) return DirectoriesOf(context, given);
  auto found = FindCaptures(given, only_right_in_it);
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  return Status(Code::kNotFound, "'" + Excerpt(given, PATH_MAX) +
                                     "': no such directory; DIR is a PROF directory or has some in it");
}

Result<std::vector<Found>> FindSides(const Context& context, const std::string& given,
                                     bool only_right_in_it) {
  if (auto side = SideOf(given))
    return std::vector{Found{std::move(side->capture), side->device, false, false}};
  PROFD_ASSIGN_OR_RETURN(std::vector<std::string> directories,
                         FindDirectories(context, given, only_right_in_it));
  const bool of_session = MayBeSession(given);
  std::vector<Found> found;
  found.reserve(directories.size());
  for (std::string& directory : directories)
    found.push_back({std::move(directory), std::nullopt, of_session, false});
  return found;
}

}  // namespace profd::client
