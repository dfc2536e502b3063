#include "daemon/session/history/resumer.h"

#include <algorithm>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/host/process/process.h"
#include "daemon/store/spool/notes.h"

namespace profd::session {

namespace {

constexpr uint64_t kLookEveryNs = 100'000'000;
constexpr int kLooks = 30;

constexpr char kNotePrefix[] = "session-";

std::string NoteName(const std::string& session) { return kNotePrefix + session + ".json"; }

void KeepThoseThatLive(ResumeRecord& record) {
  std::vector<pid_t> live;
  for (const host::ProcessFacts& facts : host::ReadProcessFacts(record.spec.pids)) {
    if (facts.exists && !facts.is_thread && facts.start_ticks == record.start_ticks[facts.pid])
      live.push_back(facts.pid);
  }
  record.spec.pids = std::move(live);
}

}  // namespace

Resumer::Resumer(base::Timers& timers, base::Aside& aside, agent::Registry& agents, std::string spool)
    : timers_(timers), aside_(aside), agents_(agents), spool_(std::move(spool)) {}
Resumer::~Resumer() = default;

void Resumer::Remember(const ResumeRecord& record) {
  aside_.Run([spool = spool_, name = NoteName(record.session),
              content = WriteResume(record)]() -> std::function<void()> {
    const base::Status status = store::WriteNote(spool, name, content);
    return [status] {
      if (!status.ok()) base::LogWarn("a session will not go on after a restart: " + status.message());
    };
  });
}

void Resumer::Forget(const std::string& session) {
  aside_.Run([spool = spool_, name = NoteName(session)]() -> std::function<void()> {
    store::RemoveNote(spool, name);
    return [] {};
  });
}

void Resumer::Resume(std::function<void(ResumeRecord)> begin) {
  begin_ = std::move(begin);
  aside_.Run([this, alive = std::weak_ptr(alive_), spool = spool_]() -> std::function<void()> {
    auto records = std::make_shared<std::vector<ResumeRecord>>();
    std::vector<std::string> broken;
    for (const auto& [name, content] : store::ReadNotes(spool)) {
      if (!name.starts_with(kNotePrefix)) continue;
      auto record = ParseResume(content);
      if (record.ok() && name == NoteName(record->session)) {
        records->push_back(std::move(record).value());
        KeepThoseThatLive(records->back());
      } else {
        broken.push_back(spool);
        broken.back().append(": ").append(name).append(": ").append(record.status().message());
      }
    }
    return [this, alive, records, broken] {
      if (alive.expired()) return;
      for (const std::string& why : broken) base::LogWarn(why);
      for (ResumeRecord& record : *records) Consider(std::move(record));
    };
  });
}

void Resumer::Consider(ResumeRecord record) {
  const bool over = record.boot != BootId() || record.end_wall_ns <= timers_.WallNs();
  const bool had_targets = !record.start_ticks.empty();
  if (over || (had_targets && record.spec.pids.empty())) {
    Forget(record.session);
    return;
  }
  record.spec.duration_ns = record.end_wall_ns - timers_.WallNs();
  Wait(std::move(record), kLooks);
}

void Resumer::Wait(ResumeRecord record, int looks) {
  const bool back = std::all_of(record.spec.pids.begin(), record.spec.pids.end(),
                                [this](pid_t pid) { return agents_.Find(pid) != nullptr; });
  if (back || looks == 0) {
    begin_(std::move(record));
    return;
  }
  auto kept = std::make_shared<ResumeRecord>(std::move(record));
  timers_.After(kLookEveryNs, [this, alive = std::weak_ptr(alive_), kept, looks] {
    if (!alive.expired()) Wait(std::move(*kept), looks - 1);
  });
}

}  // namespace profd::session
