#include "daemon/session/history/past.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/unique_fd.h"
#include "daemon/base/log.h"
#include "daemon/driver/offers.h"
#include "daemon/store/spool/recovery.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/kind.h"
#include "format/mend/files.h"

namespace profd::session {

namespace {

constexpr size_t kMaxManifestBytes = 16u << 20;

// A user may have made millions of directories that are called like one.
constexpr size_t kMostFound = 10'000;

// The directory `path` below `at`, which no user's link may lead away from.
base::UniqueFd OpenBelow(int at, const char* path) {
  return base::UniqueFd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::optional<std::string> ReadWhole(int at, const std::string& path) {
  const base::UniqueFd fd(::openat(at, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (static_cast<size_t>(facts.st_size) > kMaxManifestBytes) return std::nullopt;
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return std::nullopt;
  text.resize(static_cast<size_t>(got));
  return text;
}

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

}  // namespace

void RecoverPastSessions(const std::string& spool, uint64_t before_wall_ns) {
  for (const mend::Mended& one : store::RecoverSpool(spool, before_wall_ns, IsFileOf)) {
    if (one.sealed) {
      base::LogInfo(one.directory + ": was left open by a profd that ended; sealed as interrupted, " +
                    std::to_string(one.cut_bytes) + " bytes cut that were no whole record");
    }
    for (const std::string& remark : one.remarks) base::LogWarn(one.directory + ": " + remark);
  }
}

std::vector<SessionInfo> ReadPastSessions(const std::string& spool, size_t most) {
  struct Found {
    std::string user, name;
  };
  // The name carries the time after the number.
  const auto is_newer = [](const Found& a, const Found& b) { return a.name.substr(12) > b.name.substr(12); };
  std::vector<Found> found;
  const base::UniqueFd root = OpenBelow(AT_FDCWD, spool.c_str());
  mend::Entries users(root.get());
  for (std::string user; root && users.Next(user);) {
    if (user.starts_with('.')) continue;
    const base::UniqueFd dir = OpenBelow(root.get(), user.c_str());
    if (!dir) continue;
    // Each user's newest: nobody's make another's disappear.
    std::vector<Found> of_user;
    mend::Entries entries(dir.get());
    for (std::string name; entries.Next(name);) {
      if (!format::IsProfDirName(name)) continue;
      of_user.push_back({user, name});
      if (of_user.size() < 2 * kMostFound) continue;
      std::nth_element(of_user.begin(), of_user.begin() + kMostFound, of_user.end(), is_newer);
      of_user.resize(kMostFound);
    }
    found.insert(found.end(), of_user.begin(), of_user.end());
  }
  std::sort(found.begin(), found.end(), is_newer);
  std::vector<SessionInfo> sessions;
  for (const Found& entry : found) {
    const base::UniqueFd user(
        ::openat(root.get(), entry.user.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const base::UniqueFd dir(
        ::openat(user.get(), entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const base::UniqueFd ours(::openat(dir.get(), format::OwnFolderIn(dir.get()).c_str(),
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!ours || ::fstat(dir.get(), &facts) != 0) continue;
    const auto text = ReadWhole(ours.get(), format::kManifestFile);
    if (!text) continue;
    const auto manifest = format::ParseManifest(*text);
    if (!manifest.ok()) continue;
    SessionInfo found_here =
        FromManifest(*manifest, spool + "/" + entry.user + "/" + entry.name, facts.st_uid);
    const auto later = std::find_if(sessions.begin(), sessions.end(), [&](const SessionInfo& session) {
      return session.id == found_here.id && session.uid == found_here.uid;
    });
    if (later != sessions.end()) {
      Join(*later, std::move(found_here));
    } else if (sessions.size() < most) {
      sessions.push_back(std::move(found_here));
    }
  }
  return sessions;
}

std::string MovedTo(const std::string& directory, const std::string& output) {
  return output + directory.substr(directory.rfind('/'));
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
