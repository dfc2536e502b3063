#include "daemon/session/leases.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/session/history/resume.h"
#include "daemon/session/new_id.h"
#include "daemon/store/spool/notes.h"

namespace profd::session {

using auth::Lease;
using base::Code;
using base::Result;
using base::Status;
using nlohmann::json;

namespace {

constexpr char kNote[] = "leases.json";
constexpr size_t kMostLeases = 4096;
// The wall clock may be set: it is looked at this often while there are leases.
constexpr uint64_t kLookNs = 60'000'000'000;

}  // namespace

Leases::Leases(base::Timers& ctl, base::Aside& aside, auth::Rights& rights, std::string spool,
               std::function<void()> on_less)
    : ctl_(ctl), aside_(aside), rights_(rights), spool_(std::move(spool)), on_less_(std::move(on_less)) {}
Leases::~Leases() {
  if (timer_ != 0) ctl_.Cancel(timer_);
}

void Leases::Begin(std::function<void()> ready) {
  aside_.Run([this, alive = std::weak_ptr(alive_), spool = spool_, ready = std::move(ready)] {
    const auto notes = store::ReadNotes(spool);
    const auto note = notes.find(kNote);
    auto kept = std::make_shared<std::vector<Lease>>();
    if (note != notes.end()) {
      auto parsed = ParseLeases(note->second, BootId());
      if (parsed.ok()) {
        *kept = std::move(parsed).value();
      } else {
        base::LogWarn(spool + ": " + kNote + ": " + parsed.status().message());
      }
    }
    return [this, alive, kept, ready] {
      if (alive.expired()) return;
      leases_.insert(leases_.begin(), kept->begin(), kept->end());
      EndThoseOver();
      ready();
    };
  });
}

Result<Lease> Leases::Add(Lease lease) {
  if (leases_.size() >= kMostLeases) {
    return Status(Code::kResourceExhausted,
                  "there are " + std::to_string(kMostLeases) +
                      " leases, the most there may be: remove some (profctl lease rm)");
  }
  lease.id = NewId();
  leases_.push_back(lease);
  Publish();
  Save();
  return lease;
}

Result<Lease> Leases::Remove(const std::string& id) {
  const auto found =
      std::find_if(leases_.begin(), leases_.end(), [&](const Lease& lease) { return lease.id == id; });
  if (found == leases_.end()) {
    return Status(Code::kNotFound, "no lease '" + id + "'; profctl lease list shows them");
  }
  Lease lease = std::move(*found);
  leases_.erase(found);
  Publish();
  Save();
  on_less_();
  return lease;
}

void Leases::Publish() {
  rights_.SetLeases(leases_);
  if (timer_ != 0) ctl_.Cancel(std::exchange(timer_, 0));
  if (leases_.empty()) return;
  const auto next = std::min_element(leases_.begin(), leases_.end(), [](const Lease& a, const Lease& b) {
    return a.until_wall_ns < b.until_wall_ns;
  });
  const uint64_t now = ctl_.WallNs();
  const uint64_t left = next->until_wall_ns > now ? next->until_wall_ns - now : 0;
  timer_ = ctl_.After(std::min(left, kLookNs), [this] {
    timer_ = 0;
    EndThoseOver();
  });
}

void Leases::EndThoseOver() {
  const bool over = std::erase_if(leases_, [now = ctl_.WallNs()](const Lease& lease) {
                      return lease.until_wall_ns <= now;
                    }) > 0;
  Publish();
  if (!over) return;
  Save();
  on_less_();
}

// One write after the other, the last with the newest.
void Leases::Save() {
  save_again_ = saving_;
  if (std::exchange(saving_, true)) return;
  aside_.Run([this, alive = std::weak_ptr(alive_), spool = spool_,
              content = WriteLeases(leases_, BootId())]() -> std::function<void()> {
    const Status status = store::WriteNote(spool, kNote, content);
    return [this, alive, status] {
      if (alive.expired()) return;
      if (!status.ok()) base::LogWarn("leases will not outlive this profd: " + status.message());
      saving_ = false;
      if (save_again_) Save();
    };
  });
}

std::string WriteLeases(const std::vector<Lease>& leases, const std::string& boot) {
  json all = json::array();
  for (const Lease& lease : leases) {
    all.push_back({{"lease", lease.id},
                   {"uid", lease.uid},
                   {"user", lease.user},
                   {"devices", lease.devices},
                   {"since_wall_ns", lease.since_wall_ns},
                   {"until_wall_ns", lease.until_wall_ns},
                   {"given_by", lease.given_by}});
  }
  return json{{"boot", boot}, {"leases", std::move(all)}}.dump(1, ' ', false,
                                                               json::error_handler_t::replace) +
         "\n";
}

// The file is profd's own; a damaged one throws inside the library, which is caught here.
Result<std::vector<Lease>> ParseLeases(std::string_view text, const std::string& boot) {
  try {
    const json all = json::parse(text);
    std::vector<Lease> leases;
    if (all.at("boot").get<std::string>() != boot) return leases;
    for (const json& entry : all.at("leases")) {
      Lease& lease = leases.emplace_back();
      entry.at("lease").get_to(lease.id);
      entry.at("uid").get_to(lease.uid);
      entry.at("user").get_to(lease.user);
      entry.at("devices").get_to(lease.devices);
      entry.at("since_wall_ns").get_to(lease.since_wall_ns);
      entry.at("until_wall_ns").get_to(lease.until_wall_ns);
      entry.at("given_by").get_to(lease.given_by);
    }
    return leases;
  } catch (const json::exception& error) {
    return Status(Code::kDataLoss, std::string("no leases: ") + error.what());
  }
}

}  // namespace profd::session
