#include "daemon/summary/summary.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/files/whole_file.h"
#include "base/fnv.h"
#include "base/text.h"
#include "daemon/base/log.h"
#include "daemon/summary/keeper.h"
#include "daemon/summary/step_follower.h"

namespace profd::summary {

namespace {

constexpr uint64_t kLookEveryNs = 1'000'000'000;
constexpr size_t kMostPrograms = 4096;
// Of one user, in a look: a program may say what it likes.
constexpr uint64_t kMostRowsOfUser = 4096;
constexpr char kStepColumns[] =
    "\"user\",\"job\",\"attempt\",\"rank\",\"seq\",\"proc\",\"device\",\"t\",\"ver\",\"step\",\"open\","
    "\"step_us\"";

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

const std::string* LabelOf(const agent::Hello& hello, const std::string& name) {
  const auto found = hello.labels.find(name);
  return found == hello.labels.end() ? nullptr : &found->second;
}

// A number as the file has it, nothing where it is none.
std::string NumberOf(const std::string* text) {
  int64_t number = 0;
  if (text == nullptr) return "";
  const char* const end = text->data() + text->size();
  const auto [read, error] = std::from_chars(text->data(), end, number);
  return error == std::errc() && read == end ? std::to_string(number) : "";
}

std::string BigInt(uint64_t number) { return number > INT64_MAX ? "" : std::to_string(number); }

// What all rows of a process begin with, but for the number of the row.
struct Whose {
  uid_t uid = 0;
  std::string user;
  std::string before, behind;  // columns before `seq`, and from there to `t`
};

Whose WhoseAre(const agent::Peer& peer, const std::string& boot) {
  const agent::Identity& identity = peer.identity();
  const agent::Hello& hello = peer.hello();
  const std::string* job = LabelOf(hello, "job");
  if (job == nullptr) job = LabelOf(hello, "job_id");
  const std::string process =
      boot + ":" + std::to_string(identity.pid) + ":" + std::to_string(hello.start_time_ticks);
  const std::string device = hello.devices.size() == 1 ? std::to_string(hello.devices.front()) : "";
  std::string user = Quoted(identity.user);
  return {identity.uid, user,
          user + "," + (job == nullptr ? "" : Quoted(*job)) + "," + NumberOf(LabelOf(hello, "attempt")) +
              "," + NumberOf(LabelOf(hello, "rank")) + ",",
          ",\"" + base::Fnv1aName(process) + "\"," + device + ","};
}

}  // namespace

class Summary::Impl {
 public:
  Impl(RowsFolder folder, agent::Registry& agents, base::Timers& ctl)
      : agents_(agents),
        ctl_(ctl),
        boot_(base::ReadWholeOrNothing("/proc/sys/kernel/random/boot_id")),
        keeper_(Keeper::Start(std::move(folder))),
        arrivals_(agents.WatchArrivals([this](const std::shared_ptr<agent::Peer>& peer) {
          if (programs_.size() >= kMostPrograms) Look(false);  // they come and go faster than it looks
          if (peer->region() != nullptr) programs_.push_back({peer, {}});
          Begin();
        })) {}

  ~Impl() {
    agents_.Unwatch(arrivals_);
    if (timer_) ctl_.Cancel(*timer_);
    Look(true);
    keeper_->Stop();
  }

 private:
  struct Program {
    std::shared_ptr<agent::Peer> peer;
    StepFollower steps;
  };

  void Begin() {
    if (!timer_) timer_ = ctl_.After(kLookEveryNs, [this] { OnTimer(); });
  }

  void OnTimer() {
    timer_.reset();
    Look(false);
    if (!programs_.empty()) Begin();
  }

  // `ends`: profd does, and so far as it knows every program.
  void Look(bool ends) {
    raw_ns_ = ctl_.RawNs();
    wall_ns_ = ctl_.WallNs();
    rows_of_.clear();
    for (auto at = programs_.begin(); at != programs_.end();) {
      Program& program = *at;
      if (const auto log = program.peer->region()->step_log())
        Take(program, program.steps.Take(*log, raw_ns_, wall_ns_, numbers_));
      if (ends || program.peer->gone()) {
        Take(program, program.steps.End(raw_ns_, wall_ns_, numbers_));
        at = programs_.erase(at);
      } else {
        ++at;
      }
    }
    for (auto& [uid, of] : rows_of_) {
      if (of.rows > 0) keeper_->Keep(std::move(of));
    }
    rows_of_.clear();
  }

  void Take(const Program& program, const StepFollower::Look& look) {
    if (look.rows.empty() && look.lost == 0) return;
    const Whose whose = WhoseAre(*program.peer, boot_);  // labels and devices may come later than the program
    RowsOf& rows =
        rows_of_.try_emplace(whose.uid, RowsOf{whose.uid, whose.user, "steps", kStepColumns, {}, 0, 0, 0})
            .first->second;
    uint64_t too_many = 0;
    for (const StepRow& row : look.rows) {
      if (rows.rows >= kMostRowsOfUser) {
        ++too_many;
        continue;
      }
      rows.text += whose.before + std::to_string(row.number) + whose.behind + std::to_string(row.wall_ns) +
                   (row.open ? ",0," : ",1,") + BigInt(row.step) + (row.open ? ",1," : ",0,") +
                   BigInt(row.took_ns / 1000) + "\n";
      rows.first_ns = rows.rows == 0 ? row.wall_ns : std::min(rows.first_ns, row.wall_ns);
      rows.last_ns = std::max(rows.last_ns, row.wall_ns);
      ++rows.rows;
    }
    if (too_many > 0) Lost(whose, "too many of one user", too_many);
    if (look.lost > 0) Lost(whose, "overwritten", look.lost);
  }

  // Since the look before this one.
  void Lost(const Whose& whose, const char* why, uint64_t rows) {
    keeper_->Count({whose.uid, "steps", why, whose.before.substr(0, whose.before.size() - 1), rows,
                    wall_ns_ - std::min(wall_ns_, kLookEveryNs), wall_ns_});
  }

  agent::Registry& agents_;
  base::Timers& ctl_;
  const std::string boot_;
  const std::shared_ptr<Keeper> keeper_;
  const agent::Registry::WatchId arrivals_;
  std::optional<base::Timers::Id> timer_;
  std::list<Program> programs_;
  Numbers numbers_;
  // Of the look that is under way.
  uint64_t raw_ns_ = 0, wall_ns_ = 0;
  std::map<uid_t, RowsOf> rows_of_;
};

base::Status CheckSettings(const config::Config::Summary& config) {
  for (const auto& [name, path] : {std::pair("folder", &config.folder), std::pair("acked", &config.acked)}) {
    if (!path->empty() && !path->starts_with('/')) {
      return {base::Code::kInvalidArgument, std::string("summary.") + name + ": '" + base::Excerpt(*path) +
                                                "': expected a path that begins with /"};
    }
  }
  return base::Status::Ok();
}

base::Result<std::unique_ptr<Summary>> Summary::Start(const config::Config::Summary& config,
                                                      agent::Registry& agents, base::Timers& ctl) {
  auto folder = RowsFolder::Open({.folder = config.folder,
                                  .acked = config.acked,
                                  .node = HostName(),
                                  .seal_after_ns = config.file_s * 1'000'000'000,
                                  .keep_bytes = config.keep_mb << 20});
  if (!folder.ok()) {
    return base::Status(folder.status().code(), "summary.folder: " + folder.status().message());
  }
  base::LogInfo("summary: rows of programs' steps go to " + config.folder);
  return std::unique_ptr<Summary>(
      new Summary(std::make_unique<Impl>(std::move(folder).value(), agents, ctl)));
}

Summary::Summary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Summary::~Summary() = default;

}  // namespace profd::summary
