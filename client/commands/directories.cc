#include <climits>
#include <utility>

#include "base/clock.h"
#include "client/commands/commands.h"
#include "client/export/capture.h"
#include "client/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kPatienceNs = 2'000'000'000;  // with a profd that has nothing to do with it otherwise

// "" = there is no profd, or it knows no such session.
std::string DirectoryOf(Common common, const std::string& session) {
  if (!common.host.empty()) return "";  // what another node has is not here
  if (common.deadline_ns == 0) common.deadline_ns = base::MonotonicNs() + kPatienceNs;
  const Result<Connection> connection = Connect(common);
  if (!connection.ok()) return "";
  const Result<v1::SessionInfo> info = connection->control->Get(session);
  return info.ok() ? info->directory() : "";
}

}  // namespace

Result<std::vector<std::string>> FindDirectories(const Common& common, const std::string& given,
                                                 bool only_right_in_it) {
  auto found = FindCaptures(given, only_right_in_it);
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  std::string message =
      "'" + Excerpt(given, PATH_MAX) + "': no such directory; DIR is a PROF directory or has some in it";
  if (given.find('/') == std::string::npos) {
    const std::string directory = DirectoryOf(common, given);
    if (!directory.empty())
      message = "'" + given + "' is a session, not a directory: its newest one is " + directory;
  }
  return Status(Code::kNotFound, std::move(message));
}

Result<std::vector<Found>> FindSides(const Common& common, const std::string& given, bool only_right_in_it) {
  if (auto side = SideOf(given)) return std::vector{Found{std::move(side->capture), side->device}};
  PROFD_ASSIGN_OR_RETURN(std::vector<std::string> directories,
                         FindDirectories(common, given, only_right_in_it));
  std::vector<Found> found;
  for (std::string& directory : directories) found.push_back({std::move(directory), std::nullopt});
  return found;
}

}  // namespace profd::client
