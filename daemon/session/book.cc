#include "daemon/session/book.h"

#include <algorithm>
#include <utility>

#include "base/calendar.h"
#include "base/text.h"
#include "daemon/base/log.h"
#include "daemon/session/history/shares.h"
#include "daemon/session/plan/spec_check.h"

namespace profd::session {

using auth::Action;
using auth::Caller;
using auth::May;
using base::Code;
using base::Result;
using base::Status;

namespace {

// Of this life, ended.
constexpr ShareLimits kEnded = {.of_user = 256, .of_all = 2048};
constexpr ShareLimits kGone = {.of_user = 256, .of_all = 4096};
constexpr int kMoveAttempts = 5;

Status HasEnded(const SessionInfo& info) {
  if (info.state == State::kSealed || info.state == State::kFailed) return {};
  return {Code::kFailedPrecondition,
          "session " + info.id + " is " + StateName(info.state) + "; profctl stop " + info.id + " first"};
}

}  // namespace

Book::Book(base::Executor& ctl, base::Timers& timers, base::Aside& aside, const config::Config& config)
    : timers_(timers),
      aside_(aside),
      config_(config),
      archive_(ctl, timers, aside, config,
               [this](const store::Kept& kept, const store::RemovedTrace& trace, const std::string& why) {
                 OnRemoved(kept, trace, why);
               }) {}

void Book::Begin() {
  // profd may end before all of the past is read.
  aside_.RunInParts([this, alive = std::weak_ptr(alive_), spool = config_.store.spool,
                     now = timers_.WallNs()](const base::Aside::Answer& answer) {
    ReadPast(spool, now, [&](std::vector<SessionInfo> of_user) {
      answer([this, alive, past = std::make_shared<std::vector<SessionInfo>>(std::move(of_user))] {
        if (!alive.expired()) TakePast(std::move(*past));
      });
    });
    answer([this, alive] {
      if (!alive.expired()) archive_.Begin();
    });
  });
}

void Book::TakePast(std::vector<SessionInfo> past) {
  // One that has begun meanwhile is not of the past.
  std::erase_if(past, [this](const SessionInfo& info) {
    return std::any_of(sessions_.begin(), sessions_.end(),
                       [&](const auto& session) { return session->id() == info.id; });
  });
  for (const SessionInfo& info : past) {
    for (const std::string& warning : info.warnings)
      base::LogWarn("session " + info.id + ": " + base::OneLine(warning, 300));
  }
  past_.Add(std::move(past));
}

size_t Book::open() const {
  return static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(),
                                           [](const auto& session) { return !session->ended(); }));
}

Totals Book::totals() const {
  Totals totals = ended_;
  for (const auto& session : sessions_) {
    if (!session->counted()) totals.Add(session->Info());
  }
  return totals;
}

void Book::Bind(Session::Setup& setup) {
  const bool in_spool = setup.spec.output.empty() || setup.move_to;
  setup.bounds = archive_.BoundsFor(setup.owner, setup.parent.get(), in_spool);
  setup.on_rolled = [this, id = setup.id, uid = setup.owner.uid](const std::string& directory) {
    archive_.TakeRolled({id, uid, {directory}});
  };
}

void Book::Add(const std::shared_ptr<Session>& session) {
  ForgetOld();
  sessions_.push_back(session);
  session->WhenEnded([this, weak = std::weak_ptr(session)](const SessionInfo& info) {
    ended_.Add(info);
    if (const auto session = weak.lock()) session->NoteCounted();
    archive_.TakeEnded({info.id, info.uid, info.directories}, [this, weak] {
      const auto session = weak.lock();
      if (!session) return;
      session->LeaveBounds();
      MoveToOutput(session);
    });
  });
}

void Book::Erase(const std::shared_ptr<Session>& session) { std::erase(sessions_, session); }

std::string Book::NewestOf(uid_t uid) const {
  const auto own = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                [uid](const auto& session) { return session->uid() == uid; });
  if (own != sessions_.rend()) return (*own)->id();
  const auto past = std::find_if(past_.all().begin(), past_.all().end(),
                                 [uid](const SessionInfo& info) { return info.uid == uid; });
  return past == past_.all().end() ? kNewestSession : past->id;
}

std::string Book::IdOf(const Caller& caller, const std::string& session) const {
  if (session == kNewestSession) return NewestOf(caller.uid);
  std::string named;
  const auto is_meant = [&](const std::string& id, const std::string& name, uid_t uid) {
    if (id != session && name != session) return false;
    if (!May(caller, Action::kSeeSession, {.owner = uid}).ok()) return false;
    if (id != session && named.empty()) named = id;
    return id == session;
  };
  for (auto known = sessions_.rbegin(); known != sessions_.rend(); ++known) {
    if (is_meant((*known)->id(), (*known)->spec().name, (*known)->uid())) return session;
  }
  for (const SessionInfo& info : past_.all()) {
    if (is_meant(info.id, info.name, info.uid)) return session;
  }
  return named.empty() ? session : named;
}

Result<SessionInfo> Book::Get(const Caller& caller, const std::string& session) const {
  const std::string id = IdOf(caller, session);
  const auto may_see = [&](uid_t uid) { return May(caller, Action::kSeeSession, {.owner = uid}).ok(); };
  for (auto known = sessions_.rbegin(); known != sessions_.rend(); ++known) {
    if ((*known)->id() == id && may_see((*known)->uid())) return Shown((*known)->Info());
  }
  for (const SessionInfo& info : past_.all()) {
    if (info.id == id && may_see(info.uid)) return Shown(OnDisk(info));
  }
  const auto gone = std::find_if(gone_.rbegin(), gone_.rend(), [&](const Gone& one) {
    return (one.id == id || one.name == id) && may_see(one.uid);
  });
  if (gone != gone_.rend()) {
    return Status{Code::kNotFound, "session " + gone->id + " is gone: profd removed it at " +
                                       base::TimeOfDay(gone->wall_ns) + ", " + gone->why +
                                       "; make room, or keep the next one with profctl pin"};
  }
  if (id == kNewestSession)
    return Status{Code::kNotFound, "last: you have no session yet; profctl start begins one"};
  return Status{Code::kNotFound,
                "no session has the id or the name '" + session + "'; profctl list shows them"};
}

bool Book::Has(const std::string& id) const {
  return std::ranges::any_of(sessions_, [&](const auto& session) { return session->id() == id; }) ||
         std::ranges::any_of(past_.all(), [&](const SessionInfo& info) { return info.id == id; });
}

Result<StoredTrace> Book::Locate(const Caller& caller, const std::string& session,
                                 const std::string& directory) const {
  PROFD_ASSIGN_OR_RETURN(const SessionInfo info, Get(caller, session));
  PROFD_RETURN_IF_ERROR(HasEnded(info));
  if (std::find(info.directories.begin(), info.directories.end(), directory) == info.directories.end()) {
    return Status{Code::kNotFound, "session " + info.id + " has no directory '" + directory + "'"};
  }
  const std::string spool = config_.store.spool + "/";
  const size_t slash = directory.rfind('/');
  if (!directory.starts_with(spool) || slash < spool.size()) {
    return Status{Code::kFailedPrecondition, directory + " is not in profd's spool: its owner has it"};
  }
  return StoredTrace{config_.store.spool, directory.substr(spool.size(), slash - spool.size()),
                     directory.substr(slash + 1)};
}

// A session that the caller may pin and remove.
Result<SessionInfo> Book::Changeable(const Caller& caller, const std::string& session) const {
  PROFD_ASSIGN_OR_RETURN(SessionInfo info, Get(caller, session));
  PROFD_RETURN_IF_ERROR(May(caller, Action::kKeepSession, {.owner = info.uid}));
  return info;
}

void Book::Pin(const Caller& caller, const std::string& session, bool pinned, Done done) {
  const Result<SessionInfo> info = Changeable(caller, session);
  if (!info.ok()) return done(info);
  archive_.Pin({info->id, info->uid, info->directories}, pinned,
               [this, caller, id = info->id, done = std::move(done)](const Status& status) {
                 done(status.ok() ? Get(caller, id) : Result<SessionInfo>(status));
               });
}

// … and that nothing is written to any more.
Result<SessionInfo> Book::Ended(const Caller& caller, const std::string& session) const {
  PROFD_ASSIGN_OR_RETURN(SessionInfo info, Changeable(caller, session));
  PROFD_RETURN_IF_ERROR(HasEnded(info));
  return info;
}

void Book::Remove(const Caller& caller, const std::string& session, Done done) {
  const Result<SessionInfo> info = Ended(caller, session);
  if (!info.ok()) return done(info);
  archive_.Remove({info->id, info->uid, info->directories},
                  [info = *info, done = std::move(done)](const Status& status) {
                    done(status.ok() ? Result<SessionInfo>(info) : Result<SessionInfo>(status));
                  });
}

void Book::Move(const Caller& caller, const std::string& session, const std::string& output,
                std::shared_ptr<base::UniqueFd> to, Done done) {
  const Result<SessionInfo> info = Ended(caller, session);
  if (!info.ok()) return done(info);
  MoveTo(*info, std::move(to), output, 1,
         [this, caller, id = info->id, done = std::move(done)](const Status& status) {
           done(status.ok() ? Get(caller, id) : Result<SessionInfo>(status));
         });
}

void Book::OnRemoved(const store::Kept& kept, const store::RemovedTrace& trace, const std::string& why) {
  std::string name;
  for (const auto& session : sessions_) {
    if (session->id() == kept.session) name = session->spec().name;
  }
  for (const SessionInfo& info : past_.all()) {
    if (info.id == kept.session) name = info.name;
  }
  const std::string directory = config_.store.spool + "/" + kept.user + "/" + kept.name;
  past_.NoteRemoved(directory, trace.bytes, trace.records);
  for (const auto& session : sessions_) {
    session->NoteRemoved(directory, kept.disk_bytes, trace.bytes, trace.records, why);
  }
  std::erase_if(sessions_, [](const auto& session) {
    return session->state() == State::kSealed && session->Info().directories.empty();
  });
  if (why.empty() || Has(kept.session)) return;
  gone_.push_back({kept.session, name, kept.uid, why, timers_.WallNs()});
  std::vector<Share> oldest_first;
  for (const Gone& gone : gone_) oldest_first.push_back({gone.uid});
  if (const auto next = NextToForget(oldest_first, kGone))
    gone_.erase(gone_.begin() + static_cast<ptrdiff_t>(*next));
}

std::vector<SessionInfo> Book::List(const Caller& caller) const {
  std::vector<SessionInfo> infos;
  for (auto session = sessions_.rbegin(); session != sessions_.rend(); ++session) {
    if (May(caller, Action::kSeeSession, {.owner = (*session)->uid()}).ok())
      infos.push_back((*session)->Info());
  }
  for (const SessionInfo& info : past_.all()) {
    if (May(caller, Action::kSeeSession, {.owner = info.uid}).ok()) infos.push_back(OnDisk(info));
  }
  for (SessionInfo& info : infos) info = Shown(std::move(info));
  return infos;
}

SessionInfo Book::OnDisk(SessionInfo past) const {
  past.used_bytes += archive_.DiskBytes({past.id, past.uid, past.directories});
  return past;
}

SessionInfo Book::Shown(SessionInfo info) const {
  info.pinned = archive_.Pinned(info.id, info.uid);
  const std::string holder = archive_.blamed();
  if (!holder.empty() && !HasEnded(info).ok() && info.directory.starts_with(config_.store.spool + "/"))
    info.warnings.push_back("the spool's file system is full: " + holder);
  return info;
}

// --output, of a session that recorded into the spool first.
void Book::MoveToOutput(const std::shared_ptr<Session>& session) {
  auto to = std::make_shared<base::UniqueFd>(session->TakeMoveTo());
  if (!*to || session->state() != State::kSealed) return;
  MoveTo(session->Info(), std::move(to), session->spec().output, kMoveAttempts, [](const Status&) {});
}

void Book::MoveTo(const SessionInfo& info, std::shared_ptr<base::UniqueFd> to, const std::string& output,
                  int attempts, const std::function<void(Status)>& done) {
  const auto with = [this, id = info.id, uid = info.uid](auto note) {
    for (const auto& session : sessions_) {
      if (session->id() == id && session->uid() == uid) note(*session);
    }
  };
  const Status begun =
      archive_.Move({.session = {info.id, info.uid, info.directories},
                     .to = std::move(to),
                     .output = output,
                     .attempts = attempts,
                     .moved =
                         [this, with, output](const std::string& directory) {
                           with([&](Session& session) { session.NoteMoved(directory, output); });
                           past_.NoteMoved(directory, output);
                         },
                     .done =
                         [this, with, output, info, done](const Status& status) {
                           with([&](Session& session) { session.NoteMoveEnded(output, status); });
                           if (status.ok()) past_.NoteMoveEnded(info.id, info.uid, info.used_bytes);
                           done(status);
                         }});
  if (!begun.ok()) return done(begun);
  with([&](Session& session) { session.NoteMoving(output); });
}

void Book::ForgetOld() {
  std::vector<Share> oldest_first;
  std::vector<std::shared_ptr<Session>> ended;
  for (const auto& session : sessions_) {
    if (!session->ended()) continue;
    oldest_first.push_back({session->uid()});
    ended.push_back(session);
  }
  if (const auto next = NextToForget(oldest_first, kEnded)) std::erase(sessions_, ended[*next]);
}

}  // namespace profd::session
