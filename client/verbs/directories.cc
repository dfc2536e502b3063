#include "client/verbs/directories.h"

#include <climits>
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

// "" = there is no profd, or it knows no such session.
std::string DirectoryOf(Context context, const std::string& session) {
  if (!context.host.empty()) return "";  // what another node has is not here
  if (context.deadline_ns == 0) context.deadline_ns = base::MonotonicNs() + kPatienceNs;
  const Result<Connection> connection = Connect(context);
  if (!connection.ok()) return "";
  const Result<v1::SessionInfo> info = connection->control->Get(session).Now();
  return info.ok() ? info->directory() : "";
}

}  // namespace

Result<std::vector<std::string>> FindDirectories(const Context& context, const std::string& given,
                                                 bool only_right_in_it) {
  auto found = FindCaptures(given, only_right_in_it);
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  std::string message =
      "'" + Excerpt(given, PATH_MAX) + "': no such directory; DIR is a PROF directory or has some in it";
  if (given.find('/') == std::string::npos) {
    const std::string directory = DirectoryOf(context, given);
    if (!directory.empty())
      message = "'" + given + "' is a session, not a directory: its newest one is " + directory;
  }
  return Status(Code::kNotFound, std::move(message));
}

Result<std::vector<Found>> FindSides(const Context& context, const std::string& given,
                                     bool only_right_in_it) {
  if (auto side = SideOf(given)) return std::vector{Found{std::move(side->capture), side->device}};
  PROFD_ASSIGN_OR_RETURN(std::vector<std::string> directories,
                         FindDirectories(context, given, only_right_in_it));
  std::vector<Found> found;
  for (std::string& directory : directories) found.push_back({std::move(directory), std::nullopt});
  return found;
}

}  // namespace profd::client
