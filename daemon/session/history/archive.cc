#include "daemon/session/history/archive.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

#include "base/unique_fd.h"
#include "daemon/base/log.h"
#include "daemon/store/spool/mover.h"

namespace profd::session {

namespace {

using base::Code;
using base::Result;
using base::Status;
using store::Kept;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kTryAgainNs = 10 * kSecond;
constexpr uint64_t kCheckAgeEveryS = 3600;
constexpr uint64_t kMeasureEveryNs = 10 * kSecond;
constexpr uint64_t kRoomComesWithinNs = kSecond;

Result<store::Space> SpaceOfSpool(const std::string& spool) {
  const base::UniqueFd dir(::open(spool.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return store::SpaceOf(dir.get());
}

// Whoever has called finds more room than he called for, or he would call with every chunk.
uint64_t ExcessOf(const store::Quota& quota, bool early) {
  const uint64_t limit = quota.limit_bytes();
  const uint64_t slack = store::Quota::SlackOf(limit);
  const uint64_t most = early ? limit - slack - slack / 2 : limit + slack;
  return limit > 0 && quota.used_bytes() > most ? quota.used_bytes() - most : 0;
}

}  // namespace

Archive::Archive(base::Executor& ctl, base::Timers& timers, base::Aside& aside, const config::Config& config,
                 Removed removed)
    : timers_(timers), aside_(aside), config_(config), removed_(std::move(removed)) {
  tidier_ = std::make_shared<store::Tidier>([this, &ctl, alive = std::weak_ptr(alive_)] {
    ctl.Post([this, alive] {
      if (!alive.expired()) Tidy();
    });
  });
  spool_ = std::make_shared<store::Quota>(config.store.quota_spool_bytes,
                                          "the quota of the spool (store.quota_spool_bytes)", tidier_);
}

void Archive::Begin(std::function<void()> counted) {
  ++taking_;
  aside_.Run(
      [this, alive = std::weak_ptr(alive_), spool = config_.store.spool, counted = std::move(counted)] {
        auto found = std::make_shared<store::KeptSpool>(store::ScanSpool(spool));
        return [this, alive, found, counted] {
          if (alive.expired()) return;
          for (Kept& kept : found->kept) {
            // A session may have ended since.
            if (Find(kept.user, kept.name) == nullptr) Add(std::move(kept));
          }
          for (const auto& [uid, bytes] : found->other_bytes) {
            UserQuota(uid, std::to_string(uid))->Change(0, bytes);
            spool_->Change(0, bytes);
            other_bytes_[uid] = bytes;
          }
          counted();
          --taking_;
          Tidy();
          if (config_.store.max_age_s > 0) CheckAge();
        };
      });
}

void Archive::CheckAge() {
  const uint64_t every = std::min(config_.store.max_age_s, kCheckAgeEveryS);
  timers_.After(every * kSecond, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    Tidy();
    CheckAge();
  });
}

std::shared_ptr<store::Quota>& Archive::UserQuota(uid_t uid, const std::string& user) {
  std::shared_ptr<store::Quota>& quota = users_[uid];
  if (!quota) {
    quota = std::make_shared<store::Quota>(config_.store.quota_per_user_bytes,
                                           "the quota of user " + user + " (store.quota_per_user_bytes)",
                                           tidier_);
  }
  return quota;
}

std::vector<std::shared_ptr<store::Bound>> Archive::BoundsFor(const auth::Caller& caller, int parent,
                                                              bool in_spool) {
  // The settings may have been read anew.
  spool_->set_limit(config_.store.quota_spool_bytes);
  for (const auto& [uid, quota] : users_) quota->set_limit(config_.store.quota_per_user_bytes);
  ++running_;
  auto dir = std::make_shared<base::UniqueFd>(::fcntl(parent, F_DUPFD_CLOEXEC, 0));
  auto free = std::make_shared<store::FreeSpace>([dir] { return store::SpaceOf(dir->get()); },
                                                 config_.store.keep_free_bytes, in_spool ? tidier_ : nullptr);
  if (!in_spool) return {std::move(free)};
  return {std::move(free), UserQuota(caller.uid, caller.user), spool_};
}

const Kept* Archive::Find(const std::string& user, const std::string& name) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.name == name && kept.user == user; });
  return found == kept_.end() ? nullptr : &*found;
}

Kept* Archive::Find(const std::string& user, const std::string& name) {
  return const_cast<Kept*>(std::as_const(*this).Find(user, name));
}

std::vector<Archive::Place> Archive::PlacesOf(const Whole& session) const {
  const std::string spool = config_.store.spool + "/";
  std::vector<Place> places;
  for (const std::string& directory : session.directories) {
    const size_t name = directory.rfind('/');
    if (!directory.starts_with(spool) || name < spool.size()) continue;
    places.emplace_back(directory.substr(spool.size(), name - spool.size()), directory.substr(name + 1));
  }
  return places;
}

void Archive::Add(Kept kept) {
  // Those of a running session are counted by its budget until it ends.
  if (!kept.of_running) Count(kept, true);
  if (kept.pinned) pinned_.emplace(kept.uid, kept.session);
  const uint64_t wall_ns = timers_.WallNs();
  kept.age_ns = wall_ns > kept.end_wall_ns ? wall_ns - kept.end_wall_ns : 0;
  kept.seen_raw_ns = timers_.RawNs();
  kept_.push_back(std::move(kept));
}

void Archive::Count(const Kept& kept, bool added) {
  const uint64_t before = added ? 0 : kept.disk_bytes;
  UserQuota(kept.uid, kept.user)->Change(before, kept.disk_bytes - before);
  spool_->Change(before, kept.disk_bytes - before);
}

void Archive::Take(const Whole& session, bool of_running, std::function<void()> done) {
  const std::vector<Place> places = PlacesOf(session);
  if (places.empty()) return done();
  ++taking_;
  tidier_->Renew();
  aside_.Run([this, alive = std::weak_ptr(alive_), places, of_running, spool = config_.store.spool,
              pinned = Pinned(session.session, session.uid), done = std::move(done)] {
    auto found = std::make_shared<std::vector<Kept>>();
    for (const auto& [user, name] : places) {
      if (pinned) [[maybe_unused]]
        const Status status = store::PinKept(spool, user, name, true);  // what it came to is read below
      Result<Kept> kept = store::FindKept(spool, user, name);
      if (kept.ok()) found->push_back(std::move(kept).value());
    }
    return [this, alive, found, of_running, done] {
      if (alive.expired()) return;
      for (Kept& kept : *found) {
        kept.of_running = of_running;
        if (Find(kept.user, kept.name) == nullptr) Add(std::move(kept));
      }
      done();
      --taking_;
      Tidy();
    };
  });
}

void Archive::TakeEnded(const Whole& session, std::function<void()> counted) {
  --running_;
  Take(session, false, [this, session, counted = std::move(counted)] {
    for (const auto& [user, name] : PlacesOf(session)) {
      Kept* kept = Find(user, name);
      if (kept != nullptr && std::exchange(kept->of_running, false)) Count(*kept, true);
    }
    counted();
  });
}

uint64_t Archive::DiskBytes(const Whole& session) const {
  uint64_t bytes = 0;
  for (const auto& [user, name] : PlacesOf(session)) {
    if (const Kept* kept = Find(user, name)) bytes += kept->disk_bytes;
  }
  return bytes;
}

void Archive::Pin(const Whole& session, bool pinned, std::function<void(Status)> done) {
  const std::vector<Place> places = PlacesOf(session);
  if (places.empty() && pinned) {
    return done({Code::kFailedPrecondition,
                 "session " + session.session + " is not in profd's spool: profd never removes it"});
  }
  aside_.Run([this, alive = std::weak_ptr(alive_), session, places, pinned, spool = config_.store.spool,
              done = std::move(done)] {
    Status first;
    for (const auto& [user, name] : places) {
      const Status status = store::PinKept(spool, user, name, pinned);
      if (first.ok()) first = status;
    }
    return [this, alive, session, places, pinned, first, done] {
      if (alive.expired()) return;
      if (first.ok()) {
        if (pinned) {
          pinned_.emplace(session.uid, session.session);
        } else {
          pinned_.erase({session.uid, session.session});
        }
        for (const auto& [user, name] : places) {
          if (Kept* kept = Find(user, name)) kept->pinned = pinned;
        }
      }
      done(first);
      if (pinned) return;
      tidier_->Renew();
      Tidy();
    };
  });
}

void Archive::Remove(const Whole& session, std::function<void(Status)> done) {
  const std::string& id = session.session;
  std::vector<Place> places = PlacesOf(session);
  if (places.empty()) {
    return done(
        {Code::kFailedPrecondition, "session " + id + " is not in profd's spool: remove it yourself"});
  }
  if (Pinned(id, session.uid)) {
    return done({Code::kFailedPrecondition, "session " + id + " is pinned; profctl unpin " + id + " first"});
  }
  if (moving_.contains({session.uid, id})) {
    return done({Code::kAborted, "session " + id + " is being moved; try again later"});
  }
  RemoveNext(std::move(places), std::move(done));
}

void Archive::RemoveNext(std::vector<Place> places, std::function<void(Status)> done) {
  if (places.empty()) return done({});
  Kept kept;
  std::tie(kept.user, kept.name) = places.front();
  if (const Kept* known = Find(kept.user, kept.name)) kept = *known;
  places.erase(places.begin());  // oldest first
  aside_.Run([this, alive = std::weak_ptr(alive_), kept, places = std::move(places),
              spool = config_.store.spool, done = std::move(done)] {
    const Result<store::RemovedTrace> removed = store::RemoveKept(spool, kept);
    return [this, alive, kept, places, removed, done] {
      if (alive.expired()) return;
      if (!removed.ok() && removed.status().code() != Code::kNotFound) return done(removed.status());
      Forget(kept, removed.ok() ? *removed : store::RemovedTrace{}, "");
      RemoveNext(places, done);
    };
  });
}

Status Archive::Move(Moving moving) {
  const std::string& id = moving.session.session;
  if (PlacesOf(moving.session).empty()) {
    return {Code::kFailedPrecondition,
            "session " + id + " is not in profd's spool: there is nothing to move"};
  }
  // Its text would make it one of the spool's own.
  if ((moving.output + "/").starts_with(config_.store.spool + "/")) {
    return {Code::kInvalidArgument, moving.output + " is in profd's spool: name a directory outside"};
  }
  if (!moving_.emplace(moving.session.uid, id).second) {
    return {Code::kAborted, "session " + id + " is being moved already"};
  }
  MoveNext(std::make_shared<Moving>(std::move(moving)));
  return {};
}

void Archive::EndMove(const Moving& moving, const Status& status) {
  moving_.erase({moving.session.uid, moving.session.session});
  // A pin is the spool's: outside of it nothing is removed.
  if (status.ok()) pinned_.erase({moving.session.uid, moving.session.session});
  moving.done(status);
}

void Archive::MoveNext(const std::shared_ptr<Moving>& moving) {
  const std::vector<Place> places = PlacesOf(moving->session);
  if (places.empty()) return EndMove(*moving, {});
  aside_.Run([this, alive = std::weak_ptr(alive_), moving, place = places.front(),
              spool = config_.store.spool, rate = config_.store.move_mb_per_s * 1'000'000] {
    const Status copied = store::CopyTrace(spool, place.first, place.second, moving->to->get(), rate);
    return [this, alive, moving, place, copied] {
      if (alive.expired()) return;
      const bool may_help = copied.code() == Code::kInternal || copied.code() == Code::kResourceExhausted ||
                            copied.code() == Code::kDataLoss;
      if (may_help && --moving->attempts > 0) {
        timers_.After(kTryAgainNs, [this, alive, moving] {
          if (!alive.expired()) MoveNext(moving);
        });
        return;
      }
      if (!copied.ok()) return EndMove(*moving, copied);
      const std::string directory = config_.store.spool + "/" + place.first + "/" + place.second;
      moving->moved(directory);
      std::erase(moving->session.directories, directory);
      RemoveNext({place}, [this, moving, directory](const Status& removed) {
        if (removed.ok()) return MoveNext(moving);
        EndMove(*moving, removed.In("moved, but the original is still there"));
      });
    };
  });
}

void Archive::Forget(const Kept& kept, const store::RemovedTrace& trace, const std::string& why) {
  Kept gone = kept;
  if (const Kept* known = Find(kept.user, kept.name)) {
    gone = *known;
    kept_.erase(kept_.begin() + (known - kept_.data()));
    if (!gone.of_running) Count(gone, false);
  }
  tidier_->Renew();
  removed_(gone, trace, why);
}

void Archive::Tidy() {
  if (std::exchange(tidying_, true)) return;
  aside_.Run([this, alive = std::weak_ptr(alive_), calls = tidier_->calls(), spool = config_.store.spool] {
    const Result<store::Space> space = SpaceOfSpool(spool);
    return [this, alive, space, calls] {
      if (!alive.expired()) TidyOnce(space, calls);
    };
  });
}

bool Archive::MeasureFirst(uint64_t free_bytes, uint64_t matters_bytes) {
  if (timers_.RawNs() < next_measure_ns_ && free_bytes + matters_bytes >= free_then_) {
    free_then_ = std::max(free_then_, free_bytes);
    return false;
  }
  free_then_ = free_bytes;
  aside_.Run([this, alive = std::weak_ptr(alive_), spool = config_.store.spool] {
    const auto sizes = store::MeasureFolders(spool);
    return [this, alive, sizes] {
      if (alive.expired()) return;
      TakeSizes(sizes);
      next_measure_ns_ = timers_.RawNs() + kMeasureEveryNs;
      tidying_ = false;
      Tidy();
    };
  });
  return true;
}

void Archive::TakeSizes(const std::map<std::string, store::FolderSize>& sizes) {
  for (const auto& [user, size] : sizes) {
    names_[size.uid] = user;
    uint64_t of_kept = 0;
    for (const Kept& kept : kept_) of_kept += kept.uid == size.uid ? kept.files : 0;
    other_files_[size.uid] = size.files - std::min(size.files, of_kept);
    const auto& quota = UserQuota(size.uid, user);
    uint64_t& other = other_bytes_[size.uid];
    const uint64_t of_sessions = quota->used_bytes() - std::min(quota->used_bytes(), other);
    const uint64_t now = size.bytes - std::min(size.bytes, of_sessions);
    quota->Change(other, now);
    spool_->Change(other, now);
    other = now;
  }
}

void Archive::Blame(const store::Pressure& pressure, bool of_files) {
  const std::optional<uid_t> uid = pressure.excess > 0 ? store::HoldsTooMuch(pressure) : std::nullopt;
  if (!uid) return tidier_->Blame("");
  const auto named = names_.find(*uid);
  const std::string user = named == names_.end() ? std::to_string(*uid) : named->second;
  const uint64_t fixed = pressure.holdings.at(*uid).fixed;
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%.1f GB", static_cast<double>(fixed) / 1e9);
  const std::string holder = "user " + user + " holds " +
                             (of_files ? std::to_string(fixed) + " files" : std::string(size.data())) +
                             " that are not profd's to remove";
  if (tidier_->blamed().empty()) {
    base::LogWarn("the spool's file system is full: " + holder +
                  "; nothing of others is removed for it: see to " + config_.store.spool + "/" + user);
  }
  tidier_->Blame(holder);
}

void Archive::TidyOnce(const Result<store::Space>& space, uint64_t calls) {
  store::Pressure pressure;
  pressure.raw_ns = timers_.RawNs();
  pressure.max_age_ns = config_.store.max_age_s * kSecond;
  const bool early = tidier_->busy() && running_ > 0;
  for (const auto& [uid, quota] : users_) pressure.excess_by_uid[uid] = ExcessOf(*quota, early);
  pressure.excess = ExcessOf(*spool_, early);
  bool of_files = false;
  if (space.ok()) {
    const uint64_t keep = store::KeepFreeBytes(config_.store.keep_free_bytes, space->total_bytes);
    const uint64_t wanted = early ? keep + keep / 2 : keep / 2;
    const uint64_t room = store::RoomIn(*space, keep);
    if (room < wanted) {
      if (MeasureFirst(room, keep / 8)) return;
      pressure.excess = std::max(pressure.excess, wanted - room);
      of_files = room < space->free_bytes;
    }
    pressure.fair = (of_files ? space->total_files : space->total_bytes) / std::max<size_t>(1, users_.size());
  }
  for (const auto& [uid, quota] : users_) {
    const uint64_t other = of_files ? other_files_[uid] : other_bytes_[uid];
    pressure.holdings[uid] = {of_files ? other : quota->used_bytes(), other};
  }
  for (const Kept& kept : kept_) {
    store::Pressure::Holding& holding = pressure.holdings[kept.uid];
    if (of_files) holding.all += kept.files;
    if (kept.pinned) holding.fixed += of_files ? kept.files : kept.disk_bytes;
  }
  Blame(pressure, of_files);
  const auto next = store::ChooseNextToGo(kept_, pressure);
  if (!next) {
    tidying_ = false;
    if (taking_ > 0) return;
    tidier_->Answer(calls);
    if (tidier_->busy()) Tidy();  // somebody has called meanwhile
    return;
  }
  // Or the next look would find no more room than this one, and another directory would have to go.
  const uint64_t patience_ns = early ? kRoomComesWithinNs : 0;
  aside_.Run([this, alive = std::weak_ptr(alive_), kept = kept_[next->index], why = next->why, patience_ns,
              spool = config_.store.spool] {
    const Result<store::RemovedTrace> removed = store::RemoveKept(spool, kept, patience_ns);
    return [this, alive, kept, why, removed] {
      if (alive.expired()) return;
      if (removed.ok() || removed.status().code() == Code::kNotFound) {
        base::LogInfo(kept.user + "/" + kept.name + " of session " + kept.session + " removed " + why);
        Forget(kept, removed.ok() ? *removed : store::RemovedTrace{}, why);
      } else if (Kept* known = Find(kept.user, kept.name)) {
        known->not_before_ns = timers_.RawNs() + kTryAgainNs;
        base::LogWarn(kept.user + "/" + kept.name + " should go " + why + ": " + removed.status().message());
      }
      tidying_ = false;
      Tidy();
    };
  });
}

}  // namespace profd::session
