#include "daemon/session/history/past.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/unique_fd.h"
#include "daemon/base/log.h"
#include "daemon/driver/offers.h"
#include "daemon/session/history/shares.h"
#include "daemon/store/files/user_folder.h"
#include "daemon/store/spool/recovery.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/kind.h"
#include "format/mend/files.h"

namespace profd::session {

namespace {

constexpr uint64_t kUserPatienceNs = 30'000'000'000;
constexpr size_t kMostSaid = 16;
// Of what a user's manifests say: a true one says some KB.
constexpr size_t kMostBytesOfUser = 16u << 20;

Verdict ToVerdict(const std::string& name) {
  for (const Verdict verdict : {Verdict::kStarted, Verdict::kPending, Verdict::kSkipped, Verdict::kFailed}) {
    if (name == VerdictName(verdict)) return verdict;
  }
  return Verdict::kFailed;
}

EndReason ToEndReason(const std::string& name) {
  for (const EndReason reason :
       {EndReason::kStopped, EndReason::kDuration, EndReason::kTargetExit, EndReason::kDaemonStop,
        EndReason::kFailed, EndReason::kSteps, EndReason::kDisk, EndReason::kLease}) {
    if (name == EndReasonName(reason)) return reason;
  }
  return EndReason::kInterrupted;
}

bool IsFileOf(const std::string& kind, format::Chip chip, std::string_view file) {
  driver::DeviceFacts device;
  device.chip = chip;
  const auto known = format::FindKind(kind);
  if (!known) return false;
  const driver::Offer offer = driver::LookUp(*known, device, UINT32_MAX);
  return offer.capability != nullptr &&
         std::any_of(offer.capability->wanted.begin(), offer.capability->wanted.end(),
                     [&](const driver::ChannelUse& use) { return use.channel != 0 && use.file == file; });
}

SessionInfo FromManifest(const format::Manifest& manifest, const std::string& directory, uid_t uid) {
  SessionInfo info;
  info.id = manifest.session;
  info.name = manifest.name;
  info.labels = manifest.labels;
  info.uid = uid;  // the folder's owner: the manifest is in the user's hands
  info.user = manifest.user;
  info.directory = directory;
  info.directories = {directory};
  info.state = State::kSealed;
  info.end_reason = manifest.state == "sealed" ? ToEndReason(manifest.end_reason) : EndReason::kInterrupted;
  info.degraded = manifest.degraded;
  for (const int64_t pid : manifest.pids) info.pids.push_back(static_cast<pid_t>(pid));
  info.duration_ns = manifest.duration_ns;
  info.storage_limit_bytes = manifest.storage_limit_bytes;
  if (const auto output = manifest.settings.find("move_to"); output != manifest.settings.end()) {
    info.warnings = {"profd ended before its directory was moved to " + output->second +
                     ", which only you can open: profctl mv " + info.id + " " + output->second};
  }
  info.start_wall_ns = manifest.begin_wall_ns;
  info.elapsed_ns = manifest.elapsed_ns;
  for (const format::ManifestKind& kind : manifest.kinds) {
    info.bytes += kind.bytes;
    info.lost += kind.lost;
    const auto known = format::FindKind(kind.kind);
    if (!known) continue;  // of a younger profd
    KindState state;
    state.kind = *known;
    state.unit = kind.unit;
    state.requested_hz = kind.requested_hz;
    state.effective_hz = kind.effective_hz;
    state.verdict = ToVerdict(kind.verdict);
    state.reason = kind.reason;
    state.bytes = kind.bytes;
    state.records = kind.records;
    state.lost = kind.lost;
    info.kinds.push_back(std::move(state));
  }
  for (const format::ManifestPause& pause : manifest.pauses) {
    info.pauses.push_back({SinceBegin(manifest, pause.from_ns),
                           pause.to_ns == 0 ? 0 : SinceBegin(manifest, pause.to_ns), pause.reason});
  }
  for (const format::ManifestPerturbation& found : manifest.perturbations) {
    info.perturbations.push_back({found.kind, found.text, SinceBegin(manifest, found.from_ns),
                                  found.to_ns == 0 ? 0 : SinceBegin(manifest, found.to_ns)});
  }
  for (const format::ManifestStream& stream : manifest.streams) {
    info.aged_bytes += stream.aged.bytes;
    info.aged_records += stream.aged.records;
  }
  return info;
}

// `earlier` is the directory before those of `session`.
void Join(SessionInfo& session, SessionInfo earlier) {
  const uint64_t end = session.start_wall_ns + session.elapsed_ns;
  session.start_wall_ns = std::min(session.start_wall_ns, earlier.start_wall_ns);
  session.elapsed_ns = end - session.start_wall_ns;
  session.directories.insert(session.directories.begin(), earlier.directory);
  session.bytes += earlier.bytes;
  session.lost += earlier.lost;
  session.aged_bytes += earlier.aged_bytes;
  session.aged_records += earlier.aged_records;
  // What lasted is in both.
  std::erase_if(earlier.perturbations, [&session](const Perturbation& before) {
    return before.to_ns == 0 &&
           std::ranges::any_of(session.perturbations, [&before](const Perturbation& after) {
             return after.kind == before.kind && after.text == before.text;
           });
  });
  session.perturbations.insert(session.perturbations.begin(), earlier.perturbations.begin(),
                               earlier.perturbations.end());
  for (KindState& kind : session.kinds) {
    for (const KindState& before : earlier.kinds) {
      if (kind.kind != before.kind || kind.unit != before.unit) continue;
      kind.bytes += before.bytes;
      kind.records += before.records;
      kind.lost += before.lost;
    }
  }
}

// What a session takes in profd's memory, about: a user may have written its manifest.
size_t SizeOf(const SessionInfo& info) {
  constexpr size_t kEach = 64;  // of a text or a number, with what holds it
  size_t bytes = 1024 + info.name.size() + info.user.size();
  for (const auto& [key, value] : info.labels) bytes += 2 * kEach + key.size() + value.size();
  for (const std::string& directory : info.directories) bytes += kEach + directory.size();
  for (const std::string& reason : info.degraded) bytes += kEach + reason.size();
  for (const std::string& warning : info.warnings) bytes += kEach + warning.size();
  for (const KindState& kind : info.kinds) bytes += 4 * kEach + kind.unit.size() + kind.reason.size();
  for (const Pause& pause : info.pauses) bytes += kEach + pause.reason.size();
  for (const Perturbation& found : info.perturbations) bytes += 2 * kEach + found.text.size();
  return bytes + info.pids.size() * sizeof(pid_t);
}

// What has been read of a user's sessions, newest first.
struct PastOfUser {
  std::vector<SessionInfo> sessions;
  std::map<std::string, size_t> places;  // by id
  size_t bytes = 0;
  size_t said = 0;

  void Add(SessionInfo found) {
    bytes += SizeOf(found);
    if (bytes > kMostBytesOfUser) return;
    if (const auto later = places.find(found.id); later != places.end()) {
      Join(sessions[later->second], std::move(found));
    } else if (sessions.size() < PastSessions::kMostOfUser) {
      places.emplace(found.id, sessions.size());
      sessions.push_back(std::move(found));
    }
  }
};

std::optional<SessionInfo> ReadDirectory(const store::UserFolder& folder, const std::string& path,
                                         const std::string& name) {
  const base::UniqueFd dir = mend::OpenDir(folder.dir(), name, folder.uid());
  const base::UniqueFd own = mend::OpenDir(dir.get(), format::OwnFolderIn(dir.get()), folder.uid());
  const auto text = own ? mend::ReadSmall(own.get(), format::kManifestFile) : std::nullopt;
  if (!text) return std::nullopt;
  const auto manifest = format::ParseManifest(*text);
  if (!manifest.ok()) return std::nullopt;
  return FromManifest(*manifest, path + "/" + name, folder.uid());
}

}  // namespace

void ReadPast(const std::string& spool, uint64_t before_wall_ns,
              const std::function<void(std::vector<SessionInfo>)>& take) {
  std::map<std::string, PastOfUser> users;
  const auto say = [](const mend::Mended& one) {
    if (one.sealed) {
      base::LogInfo(one.directory + ": was left open by a profd that ended; sealed as interrupted, " +
                    std::to_string(one.cut_bytes) + " bytes cut that were no whole record");
    }
    for (const std::string& remark : one.remarks) base::LogWarn(one.directory + ": " + remark);
  };
  store::FolderVisit visit;
  visit.directory = [&](const store::UserFolder& folder, const std::string& user, const std::string& name) {
    const std::string path = spool + "/" + user;
    const auto mended = store::RecoverDirectory(folder, path, name, before_wall_ns, IsFileOf);
    PastOfUser& past = users[user];
    // A user can make more of them than a log should hold.
    if (mended && past.said++ < kMostSaid) say(*mended);
    if (auto found = ReadDirectory(folder, path, name)) past.Add(std::move(*found));
  };
  visit.done = [&](const std::string& user, uid_t, size_t left) {
    if (left > 0) {
      base::LogWarn(spool + "/" + user + ": there is too much to look through; the " + std::to_string(left) +
                    " oldest directories at the next start");
    }
    take(std::move(users[user].sessions));
    users.erase(user);
  };
  visit.failed = [](const std::string&, const base::Status& why) { base::LogWarn(why.message()); };
  store::VisitFolders(spool, kUserPatienceNs, visit);
}

std::string MovedTo(const std::string& directory, const std::string& output) {
  return output + directory.substr(directory.rfind('/'));
}

void PastSessions::Add(std::vector<SessionInfo> of_user) {
  sessions_.insert(sessions_.end(), std::make_move_iterator(of_user.begin()),
                   std::make_move_iterator(of_user.end()));
  // The name of a directory carries the time after the number.
  const auto time = [](const SessionInfo& info) {
    return std::string_view(info.directory)
        .substr(std::min(info.directory.rfind('/') + 13, info.directory.size()));
  };
  std::stable_sort(sessions_.begin(), sessions_.end(),
                   [&](const SessionInfo& a, const SessionInfo& b) { return time(a) > time(b); });
  std::vector<Share> newest_first;
  for (const SessionInfo& info : sessions_) newest_first.push_back({info.uid, SizeOf(info)});
  std::vector<Share> oldest_first(newest_first.rbegin(), newest_first.rend());
  while (const auto next = NextToForget(oldest_first, {kMostOfUser, kMostOfAll, kMostBytesOfAll})) {
    oldest_first.erase(oldest_first.begin() + static_cast<ptrdiff_t>(*next));
    sessions_.erase(sessions_.end() - 1 - static_cast<ptrdiff_t>(*next));
  }
}

void PastSessions::Forget(const std::string& session) {
  std::erase_if(sessions_, [&](const SessionInfo& info) { return info.id == session; });
}

void PastSessions::NoteRemoved(const std::string& directory, uint64_t bytes, uint64_t records) {
  for (SessionInfo& info : sessions_) {
    if (std::erase(info.directories, directory) == 0) continue;
    info.aged_bytes += bytes;
    info.aged_records += records;
    if (!info.directories.empty()) info.directory = info.directories.back();
  }
  std::erase_if(sessions_, [](const SessionInfo& info) { return info.directories.empty(); });
}

void PastSessions::NoteMoved(const std::string& directory, const std::string& output) {
  for (SessionInfo& info : sessions_) {
    std::replace(info.directories.begin(), info.directories.end(), directory, MovedTo(directory, output));
    info.directory = info.directories.back();
  }
}

void PastSessions::NoteMoveEnded(const std::string& session, uid_t uid, uint64_t used_bytes) {
  for (SessionInfo& info : sessions_) {
    if (info.id != session || info.uid != uid) continue;
    info.warnings.clear();
    info.used_bytes = used_bytes;
  }
}

}  // namespace profd::session
