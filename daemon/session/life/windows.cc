#include "daemon/session/life/windows.h"

#include <fcntl.h>

#include <utility>

#include "daemon/base/log.h"
#include "daemon/host/process/process_image.h"
#include "daemon/store/files/collect.h"
#include "format/directory/own_folder.h"

namespace profd::session {

namespace {

constexpr uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;
constexpr uint64_t kLookEveryNs = kSecond;
constexpr uint64_t kBeginsWithinNs = 60 * kSecond;  // else it has not been told, or has nothing to say
constexpr char kTmp[] = "/tmp";

// Into the timers: the next look at what a program has written, and when it must have begun.
constexpr size_t LookOf(size_t index) { return 2 * index; }
constexpr size_t LimitOf(size_t index) { return 2 * index + 1; }

// What a program sees as /tmp, and the number that it has for itself.
struct Place {
  std::shared_ptr<base::UniqueFd> folder;
  pid_t pid = 0;
};

// May wait for the program's mounts.
Place PlaceOf(pid_t pid) {
  const std::string tmp = "/proc/" + std::to_string(pid) + "/root" + kTmp;
  auto folder =
      std::make_shared<base::UniqueFd>(::open(tmp.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return {*folder ? std::move(folder) : nullptr, host::InnerPid(pid)};
}

// Of what may come into `folder` with these quotas.
store::ShortOf ShortOf(std::vector<std::shared_ptr<store::Bound>> bounds,
                       const std::shared_ptr<base::UniqueFd>& folder, uint64_t keep_free_bytes) {
  bounds.push_back(std::make_shared<store::FreeSpace>([folder] { return store::SpaceOf(folder->get()); },
                                                      keep_free_bytes, nullptr));
  return [bounds = std::move(bounds)](uint64_t bytes) -> std::string {
    for (const auto& bound : bounds) {
      if (bound->Excess(bytes) > 0) return bound->what();
    }
    return "";
  };
}

// "to record 2 s" of what was said before it was told.
std::string WhatItIsTold(const std::string& text) {
  const size_t from = text.find("to record ");
  return from == std::string::npos ? "" : text.substr(from, text.find(';') - from);
}

}  // namespace

Windows::Windows(Services services, Setup setup) : services_(services), setup_(std::move(setup)) {
  for (const WindowStart& start : setup_.starts) {
    Entry entry;
    entry.start = start;
    entry.shown = ShownWindow(start);
    entries_.push_back(std::move(entry));
  }
  timers_.resize(2 * entries_.size());
}

Windows::~Windows() { Stop(); }

const char* Windows::StateName(State state) {
  switch (state) {
    case State::kWaiting:
      return "waiting";
    case State::kHanded:
      return "told";
    case State::kRunning:
      return "running";
    case State::kDone:
      return "done";
    case State::kFailed:
      return "failed";
  }
  return "";
}

bool Windows::is_open() const {
  for (const Entry& entry : entries_) {
    if (IsOpen(entry)) return true;
  }
  return false;
}

std::vector<Window> Windows::Info() const {
  std::vector<Window> infos = setup_.refused;
  for (const Entry& entry : entries_) {
    infos.push_back(entry.shown);
    infos.back().state = StateName(entry.state);
  }
  return infos;
}

void Windows::Begin() {
  for (size_t i = 0; i < entries_.size(); ++i) Prepare(i);
}

// kineto writes below /tmp only, and puts its own pid before the first ".pt.trace.json".
void Windows::Prepare(size_t index) {
  Entry& entry = entries_[index];
  const fabric::Sender& sender = entry.start.client.sender;
  const std::string stem = "profd_" + setup_.session;
  const bool is_kineto = entry.start.client.family == fabric::Family::kKineto;
  entry.start.window.path = std::string(kTmp) + "/" + stem + (is_kineto ? ".pt.trace.json" : "");
  entry.shown.path = entry.start.window.path;
  if (!is_kineto) return Place(index);
  services_.aside.RunFor(
      sender.uid,
      [weak = weak_from_this(), index, stem, pid = sender.pid]() -> std::function<void()> {
        session::Place place = PlaceOf(pid);
        return [weak, index, stem, place] {
          const auto self = weak.lock();
          if (!self) return;
          Entry& entry = self->entries_[index];
          entry.folder = place.folder;
          entry.file = stem + "_" + std::to_string(place.pid) + ".pt.trace.json";
          entry.shown.path = std::string(kTmp) + "/" + entry.file;
          self->Place(index);
        };
      },
      [weak = weak_from_this(), index](const base::Status& status) {
        if (const auto self = weak.lock()) self->End(index, State::kFailed, status.message());
      });
}

void Windows::Place(size_t index) {
  Entry& entry = entries_[index];
  if (stopped_) return End(index, State::kFailed, "the session ended before it was told");
  fabric::Order order;
  order.of = setup_.holder;
  order.text = ConfigText(entry.start.client.family, entry.start.window, setup_.session);
  order.on_event = [weak = weak_from_this(), index](fabric::Order::Event event,
                                                    const fabric::Client& client) {
    if (const auto self = weak.lock()) self->OnEvent(index, event, client);
  };
  const base::Status placed = services_.fabric.Place(entry.start.client.id, std::move(order));
  if (!placed.ok()) return End(index, State::kFailed, placed.message());
  if (entry.start.window.steps > 0) return;  // as long as the session
  timers_[LimitOf(index)] = services_.timers.After(kBeginsWithinNs, [weak = weak_from_this(), index] {
    const auto self = weak.lock();
    if (!self || self->entries_[index].state != State::kWaiting) return;
    self->services_.fabric.Withdraw(self->entries_[index].start.client.id);
    self->End(index, State::kFailed, "its profiler took nothing within a minute");
  });
}

void Windows::OnEvent(size_t index, fabric::Order::Event event, const fabric::Client& client) {
  Entry& entry = entries_[index];
  if (!IsOpen(entry)) return;
  switch (event) {
    case fabric::Order::Event::kHanded:
      entry.state = State::kHanded;
      entry.handed_ns = services_.timers.RawNs();
      entry.shown.text = entry.shown.client + " has been told " + WhatItIsTold(entry.shown.text);
      base::LogInfo("session " + setup_.session + ": pid " + std::to_string(client.sender.pid) + " of uid " +
                    std::to_string(client.sender.uid) + " is told through the dynolog fabric to record to " +
                    entry.start.window.path);
      if (entry.folder) LookLater(index, entry.start.window.duration_ms * kMs);
      break;
    case fabric::Order::Event::kReport:
      if (client.trace) OnReport(index, *client.trace);
      break;
    case fabric::Order::Event::kGone:
      OnExit(entry.start.pid);
      break;
  }
}

// A monitor's word: how far it is. It says "idle" before it has begun, too.
void Windows::OnReport(size_t index, const fabric::Report& report) {
  Entry& entry = entries_[index];
  if (report.status == fabric::Report::kRunning) {
    entry.state = State::kRunning;
    entry.ran = true;
    entry.shown.text = "records steps " + std::to_string(report.first) + " to " +
                       std::to_string(report.last) + ", is at " + std::to_string(report.step);
  } else if (report.status == fabric::Report::kReady) {
    entry.shown.text = "waits for step " + std::to_string(report.first);
  } else if (entry.ran) {
    End(index, State::kDone, "recorded; its folder is where the program sees " + entry.shown.path);
  }
}

void Windows::OnExit(pid_t pid) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!IsOpen(entry) || entry.start.pid != pid || entry.exited) continue;
    entry.exited = true;
    if (entry.state == State::kWaiting || !entry.folder) {
      services_.fabric.Withdraw(entry.start.client.id);
      End(i, State::kFailed, "the program ended, or polls no more");
    } else {
      Look(i);
    }
  }
}

void Windows::LookLater(size_t index, uint64_t after_ns) {
  timers_[LookOf(index)] = services_.timers.After(after_ns, [weak = weak_from_this(), index] {
    if (const auto self = weak.lock()) self->Look(index);
  });
}

// Twice the same, and whole: it is written.
void Windows::Look(size_t index) {
  Entry& entry = entries_[index];
  if (!IsOpen(entry) || entry.looking) return;
  entry.looking = true;
  const fabric::Sender& sender = entry.start.client.sender;
  const std::string as = "pid_" + std::to_string(entry.start.pid) + ".pt.trace.json";
  const auto answer = [weak = weak_from_this(), index, as](const base::Result<store::Collected>& found) {
    const auto self = weak.lock();
    if (!self) return;
    Entry& entry = self->entries_[index];
    entry.looking = false;
    if (!self->IsOpen(entry)) return;
    if (!found.ok()) {
      self->End(index, State::kFailed, "its trace stays where it is: " + found.status().message());
    } else if (found->moved) {
      entry.shown.path = self->setup_.directory + "/" + format::kOwnFolder + "/" + kFolder + "/" + as;
      self->End(index, State::kDone, "recorded, " + std::to_string(found->bytes) + " bytes");
    } else if (entry.exited && !found->there) {
      self->End(index, State::kFailed, "the program ended without a trace");
    } else if (!found->there && entry.start.window.steps == 0 &&
               self->services_.timers.RawNs() - entry.handed_ns >
                   entry.start.window.duration_ms * kMs + kBeginsWithinNs) {
      self->End(index, State::kFailed, "it was told, and a minute later there is no trace");
    } else if (entry.exited && found->bytes == entry.seen_bytes) {
      self->End(index, State::kFailed, "the program ended while it wrote its trace");
    } else {
      if (found->there) entry.state = State::kRunning;
      if (found->there) entry.shown.text = "writes its trace";
      entry.seen_bytes = found->bytes;
      self->LookLater(index, kLookEveryNs);
    }
  };
  services_.aside.RunFor(
      sender.uid,
      [answer, folder = entry.folder, file = entry.file, seen = entry.seen_bytes, parent = setup_.parent,
       name = setup_.name, as, source = store::FileOwner{sender.uid, sender.gid},
       target = store::FileOwner{setup_.uid, setup_.gid},
       short_of = ShortOf(setup_.quotas, setup_.parent,
                          services_.config.store.keep_free_bytes)]() -> std::function<void()> {
        auto found = std::make_shared<base::Result<store::Collected>>(
            store::CollectJson(folder->get(), file, source, seen, parent->get(),
                               {name, format::kOwnFolder, kFolder}, as, target, short_of));
        return [answer, found] { answer(*found); };
      },
      [answer](const base::Status& status) { answer(status); });
}

void Windows::End(size_t index, State state, std::string text) {
  Entry& entry = entries_[index];
  if (!IsOpen(entry)) return;
  entry.state = state;
  entry.shown.text = std::move(text);
  entry.folder.reset();
  services_.fabric.Withdraw(entry.start.client.id);
  if (is_open() || stopped_ || !on_over_) return;
  services_.timers.After(0, [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->on_over_) self->on_over_();
  });
}

void Windows::Stop() {
  if (std::exchange(stopped_, true)) return;
  for (const auto timer : timers_) services_.timers.Cancel(timer);
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!IsOpen(entry)) continue;
    const bool told = entry.state != State::kWaiting;
    End(i, State::kFailed,
        told ? "the session ended before; it goes on by itself, to " + entry.shown.path
             : "the session ended before it was told");
  }
}

}  // namespace profd::session
