#include "daemon/live/live.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/host_port.h"
#include "base/text.h"
#include "daemon/agent/registry.h"
#include "daemon/base/executor.h"
#include "daemon/base/log.h"
#include "daemon/driver/offers.h"
#include "daemon/host/sampler.h"
#include "daemon/live/device_questions.h"
#include "daemon/live/held_channels.h"
#include "daemon/live/jobs.h"
#include "daemon/live/lacks.h"
#include "daemon/live/values/health_values.h"
#include "daemon/live/values/host_values.h"
#include "daemon/live/values/kind_values.h"
#include "daemon/live/values/metrics.h"
#include "daemon/live/values/self_values.h"
#include "daemon/live/values/step_values.h"
#include "daemon/session/manager.h"
#include "format/kind.h"

namespace profd::live {

using base::Code;
using base::Status;

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kSlowNs = 10 * kSecondNs;  // of a profd that has to save
constexpr int kSlow = 1, kOff = 2;            // levels
constexpr double kHzPerMhz = 1e6;
constexpr uint64_t kStaleHealthNs = 20 * kSecondNs;  // the card library hangs
constexpr size_t kMostLabelBytes = 128;

// Of somebody's own choice.
std::string Plain(std::string_view untrusted) { return base::OneLine(untrusted, kMostLabelBytes); }

Status CheckHasValues(const config::Config::Live& live) {
  if (live.hz > 0) return Status::Ok();
  return {Code::kFailedPrecondition, "this profd keeps no values: live.hz is 0 in its settings"};
}

}  // namespace

const std::vector<std::string_view>& Kinds() {
  static const std::vector<std::string_view> kKinds = {
      "device",       "health",  "hbm",       "ddr",      "llc",      "pcie",           "hccs",
      "ub",           "nic",     "roce",      "dvpp",     "npu-mem",  "npu-module-mem", "qos",
      "soc-profile",  "aicore",  "low-power", "host-cpu", "host-mem", "host-load",      "host-disk",
      "host-network", "process", "step",      "session",  "profd"};
  return kKinds;
}

Status CheckSettings(const config::Config& config) {
  for (const std::string& kind : config.live.off) {
    if (std::ranges::find(Kinds(), kind) != Kinds().end()) continue;
    std::string known;
    for (const std::string_view one : Kinds()) known += (known.empty() ? "" : " ") + std::string(one);
    return {Code::kInvalidArgument, "live.off: '" + kind + "' is not a kind of values; there are " + known};
  }
  for (const std::string& kind : config.live.channels) {
    const auto known = format::FindKind(kind);
    if (known && driver::AnyCapability(*known) != nullptr && HasValues(kind)) continue;
    return {Code::kInvalidArgument,
            "live.channels: '" + kind + "' is not a device kind with values; see docs/metrics.md"};
  }
  if (config.live.jobs) PROFD_RETURN_IF_ERROR(CheckHasValues(config.live).In("live.jobs"));
  const config::Config::Metrics& metrics = config.metrics;
  if (!metrics.listen.empty() || !metrics.otlp.empty()) {
    PROFD_RETURN_IF_ERROR(CheckHasValues(config.live).In("metrics"));
  }
  if (!metrics.listen.empty()) {
    const Status address = base::ParseHostPort(metrics.listen).status();
    if (!address.ok()) return address.In("metrics.listen");
  }
  return Status::Ok();
}

class Live::Impl {
 public:
  Impl(base::Executor& ctl, const config::Config& config, session::Manager& manager, agent::Registry& agents,
       DeviceQuestions& questions)
      : ctl_(ctl),
        config_(config),
        manager_(manager),
        agents_(agents),
        questions_(questions),
        held_(config.live.channels, manager),
        history_(config.live.history_s * kSecondNs, config.live.history_mb << 20) {}
  ~Impl() {
    ctl_.Cancel(timer_);
    ctl_.Cancel(forget_);
  }

  Status Usable() const { return CheckHasValues(config_.live); }
  uint64_t period_ns() const { return kSecondNs / config_.live.hz; }
  uint32_t max_hz() const { return static_cast<uint32_t>(std::max(config_.live.hz, config_.live.max_hz)); }
  SnapshotPtr newest() const { return newest_; }
  std::vector<History::Later> Since(uint64_t wall_ns) const {
    std::vector<History::Later> sets = history_.Since(wall_ns);
    std::erase_if(sets, [this](const History::Later& later) {
      const auto set = later.lock();
      return newest_ != nullptr && set->number == newest_->number;
    });
    return sets;
  }

  WatchId Watch(std::function<void(const SnapshotPtr&)> each, uint64_t period_ns) {
    const WatchId id = next_watch_++;
    if (newest_ != nullptr) each(newest_);
    ctl_.Cancel(forget_);
    watches_.emplace(id, Watcher{std::move(each), period_ns});
    if (!Usable().ok() || closed_) return id;
    if (watches_.size() == 1) {
      Beat();
    } else if (BeatNs() < next_beat_in_ns_) {
      ctl_.Cancel(timer_);
      PlanBeat();
    }
    return id;
  }
  void Unwatch(WatchId id) {
    if (watches_.erase(id) == 0 || !watches_.empty()) return;
    ctl_.Cancel(timer_);
    newest_ = nullptr;  // nobody is told of values of long ago, but who asks for them
    forget_ = ctl_.After(history_.most_ns(), [this] { history_.Clear(); });
    host_values_ = {};
    step_values_ = {};
    held_.Release([] {});
  }
  void Shutdown(std::function<void()> done) {
    watches_.clear();
    closed_ = true;
    ctl_.Cancel(timer_);
    ctl_.Cancel(forget_);
    held_.Release(std::move(done));
  }
  void AddSource(std::function<void(std::vector<Sample>&)> add) { sources_.push_back(std::move(add)); }
  void SetLevel(int level) {
    level_ = level;
    if (level_ < kSlow) return;
    held_.Release([] {});
    history_.Clear();
  }

 private:
  struct Watcher {
    std::function<void(const SnapshotPtr&)> each;
    uint64_t period_ns = 0;  // 0: that of the settings
  };
  struct Device {
    driver::DeviceReading reading;
    bool asked = false;  // the answer is under way
    bool answered = false;
    uint64_t read_wall_ns = 0;
  };

  bool Wants(std::string_view kind) const {
    if (level_ >= kOff && kind != "profd" && kind != "session") return false;
    return std::ranges::find(config_.live.off, kind) == config_.live.off.end();
  }
  uint64_t BeatNs() const {
    if (level_ >= kSlow) return kSlowNs;
    uint64_t shortest_ns = period_ns();
    for (const auto& [id, watcher] : watches_) {
      if (watcher.period_ns != 0) shortest_ns = std::min(shortest_ns, watcher.period_ns);
    }
    return std::max(shortest_ns, kSecondNs / max_hz());
  }
  void PlanBeat() {
    next_beat_in_ns_ = BeatNs();
    timer_ = ctl_.After(next_beat_in_ns_, [this] { Beat(); });
  }

  void Beat();
  void AskDevices();
  void AskChannels();
  void AskHost();
  std::function<void()> OnePart();
  void Publish();
  void AddDevices(std::vector<Sample>& samples);
  void AddHealth(const driver::DeviceFacts& facts, const std::vector<Label>& labels, uint64_t wall_ns,
                 std::vector<Sample>& samples);
  std::vector<Lack> Lacks(const std::vector<Sample>& samples) const;
  std::map<pid_t, ProcessLabels> Processes() const;
  std::vector<SteppingProcess> Stepping(const std::map<pid_t, ProcessLabels>& processes);

  base::Executor& ctl_;
  const config::Config& config_;
  session::Manager& manager_;
  agent::Registry& agents_;
  DeviceQuestions& questions_;
  std::map<WatchId, Watcher> watches_;
  WatchId next_watch_ = 1;
  base::Executor::TimerId timer_ = 0, forget_ = 0;
  uint64_t next_beat_in_ns_ = 0;  // as it was planned
  int level_ = 0;

  uint64_t beat_ = 0;  // the one whose answers are waited for
  size_t parts_ = 0;   // not answered yet; 0 = published
  std::map<uint32_t, Device> devices_;
  std::vector<device::Peeked> peeked_;
  std::optional<host::HostReading> host_;
  uint64_t host_read_wall_ns_ = 0;
  HostValues host_values_;
  StepValues step_values_;
  HeldChannels held_;
  bool closed_ = false;
  std::vector<std::function<void(std::vector<Sample>&)>> sources_;
  size_t left_out_ = 0;
  uint64_t number_ = 0;  // of the newest snapshot
  SnapshotPtr newest_;
  History history_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// Asks all; what has not answered by the next beat is shown without.
void Live::Impl::Beat() {
  PlanBeat();
  if (parts_ != 0) Publish();
  ++beat_;
  parts_ = 1;
  peeked_.clear();
  host_.reset();
  if (level_ < kSlow) held_.Hold();
  AskDevices();
  AskChannels();
  AskHost();
  OnePart()();
}

// To be called when that part of this beat has its answer; harmless after the beat.
std::function<void()> Live::Impl::OnePart() {
  return [this, alive = std::weak_ptr(alive_), beat = beat_] {
    if (alive.expired() || beat != beat_ || parts_ == 0) return;
    if (--parts_ == 0) Publish();
  };
}

void Live::Impl::AskDevices() {
  session::Node& node = manager_.node();
  if (node.hub() == nullptr || !Wants("device")) return;
  for (const driver::DeviceFacts& facts : node.devices()) {
    Device& device = devices_[facts.id];
    if (std::exchange(device.asked, true)) {
      device.answered = false;  // the last call hangs: one is enough
      continue;
    }
    ++parts_;
    const auto reading = std::make_shared<driver::DeviceReading>();
    node.hub()->Call(
        facts.id, [driver = node.shared_driver(), id = facts.id, reading] { *reading = driver->ReadNow(id); },
        [this, alive = std::weak_ptr(alive_), id = facts.id, reading, part = OnePart()](bool in_time) {
          if (alive.expired()) return;
          Device& device = devices_[id];
          device.asked = false;
          device.answered = in_time;
          if (in_time) device.reading = *reading;
          device.read_wall_ns = base::WallNs();
          part();
        });
  }
}

void Live::Impl::AskChannels() {
  session::Node& node = manager_.node();
  if (node.hub() == nullptr || level_ >= kOff) return;
  ++parts_;
  node.hub()->Peek([this, alive = std::weak_ptr(alive_), beat = beat_,
                    part = OnePart()](std::vector<device::Peeked> peeked) {
    if (alive.expired() || beat != beat_) return;
    peeked_ = std::move(peeked);
    part();
  });
}

void Live::Impl::AskHost() {
  host::ReadingRequest request{.cpu = Wants("host-cpu"),
                               .memory = Wants("host-mem"),
                               .load = Wants("host-load"),
                               .disk = Wants("host-disk"),
                               .network = Wants("host-network"),
                               .pids = {}};
  if (Wants("process")) {
    for (const auto& [pid, labels] : Processes()) request.pids.push_back(pid);
  }
  ++parts_;
  manager_.sampler().Read(std::move(request), [this, alive = std::weak_ptr(alive_), beat = beat_,
                                               part = OnePart()](const host::HostReading& reading) {
    if (alive.expired() || beat != beat_) return;
    host_ = reading;
    host_read_wall_ns_ = base::WallNs();
    part();
  });
}

std::map<pid_t, ProcessLabels> Live::Impl::Processes() const {
  std::map<pid_t, ProcessLabels> processes;
  for (const auto& peer : agents_.All()) {
    const agent::Hello& hello = peer->hello();
    const std::string name = hello.executable.substr(hello.executable.rfind('/') + 1);
    ProcessLabels process{.uid = peer->identity().uid,
                          .labels = {{"pid", std::to_string(peer->identity().pid)},
                                     {"name", Plain(name)},
                                     {"user", peer->identity().user}}};
    for (const std::string_view key : kAgentLabels) {
      const auto found = hello.labels.find(std::string(key));
      if (found != hello.labels.end()) process.labels.push_back({key, Plain(found->second)});
    }
    processes.insert_or_assign(peer->identity().pid, std::move(process));
  }
  return processes;
}

std::vector<SteppingProcess> Live::Impl::Stepping(const std::map<pid_t, ProcessLabels>& processes) {
  std::vector<SteppingProcess> stepping;
  for (const auto& peer : agents_.All()) {
    const auto process = processes.find(peer->identity().pid);
    const auto totals = peer->region() != nullptr ? peer->region()->steps() : std::nullopt;
    if (!totals || process == processes.end()) continue;
    if (peer->hello().devices.empty() && Wants("step")) questions_.Ask(*peer);
    stepping.push_back({process->first, process->second, peer->hello().devices, *totals});
  }
  return stepping;
}

void Live::Impl::AddHealth(const driver::DeviceFacts& facts, const std::vector<Label>& labels,
                           uint64_t wall_ns, std::vector<Sample>& samples) {
  const driver::DeviceHealth health = manager_.node().driver()->Health(facts.id);
  if (health.wall_ns == 0 || wall_ns > health.wall_ns + kStaleHealthNs) return;
  const size_t first = samples.size();
  AddHealthValues(health, labels, samples);
  for (size_t i = first; i < samples.size(); ++i) {
    samples[i].needs = auth::Action::kSeeDevice;
    samples[i].target.device = facts.id;
    samples[i].wall_ns = health.wall_ns;
  }
}

void Live::Impl::AddDevices(std::vector<Sample>& samples) {
  session::Node& node = manager_.node();
  if (node.hub() == nullptr) return;
  std::map<uint32_t, size_t> held;
  for (const device::Holding& holding : node.hub()->Holdings()) ++held[holding.device];
  size_t unanswered = 0;
  const uint64_t wall_ns = base::WallNs(), raw_ns = base::RawNs();
  for (const driver::DeviceFacts& facts : node.devices()) {
    const std::vector<Label> labels = {{"device", std::to_string(facts.id)}, {"chip", facts.chip_name}};
    const size_t first = samples.size();
    for (const device::Peeked& peeked : peeked_) {
      if (peeked.device != facts.id || !HasValues(peeked.kind)) continue;
      std::vector<Sample> of_kind;
      AddKindValues(peeked, facts, labels, of_kind);
      for (Sample& sample : of_kind) {
        sample.needs = auth::Action::kSeeDevice;
        sample.target.device = facts.id;
        sample.wall_ns = wall_ns - std::min(wall_ns, raw_ns - std::min(raw_ns, peeked.read_ns));
        // A kind of several channels may be told by two of them (dvpp, of all engines and of each).
        const bool known = std::any_of(samples.begin() + static_cast<std::ptrdiff_t>(first), samples.end(),
                                       [&](const Sample& other) { return other.IsSame(sample); });
        if (!known && Wants(sample.metric->kind)) samples.push_back(std::move(sample));
      }
    }
    if (Wants("health")) AddHealth(facts, labels, wall_ns, samples);
    if (!Wants("device")) continue;
    const Device& device = devices_[facts.id];
    const driver::DeviceReading& reading = device.reading;
    if (!device.answered) ++unanswered;
    const size_t said = samples.size();
    samples.push_back(
        {&kDeviceStatus, labels, device.answered ? static_cast<double>(reading.status.value_or(-1)) : -1});
    samples.push_back({&kDeviceHeld, labels, static_cast<double>(held[facts.id])});
    if (!device.answered) continue;
    if (facts.aic_mhz > 0) samples.push_back({&kDeviceAiCoreRated, labels, facts.aic_mhz * kHzPerMhz});
    if (reading.ai_core_utilization)
      samples.push_back({&kDeviceAiCore, labels, *reading.ai_core_utilization});
    if (reading.ai_core_mhz)
      samples.push_back({&kDeviceAiCoreHertz, labels, *reading.ai_core_mhz * kHzPerMhz});
    for (size_t i = said; i < samples.size(); ++i) samples[i].wall_ns = device.read_wall_ns;
  }
  if (Wants("profd")) samples.push_back({&kUnanswered, {}, static_cast<double>(unanswered)});
}

void Live::Impl::Publish() {
  parts_ = 0;
  if (watches_.empty()) return;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->number = ++number_;
  snapshot->wall_ns = base::WallNs();
  snapshot->period_ns = BeatNs();
  std::vector<Sample>& samples = snapshot->samples;
  AddDevices(samples);
  const size_t devices = samples.size();
  const std::map<pid_t, ProcessLabels> processes = Processes();
  if (host_) host_values_.Add(*host_, processes, samples);
  for (size_t i = devices; i < samples.size(); ++i) samples[i].wall_ns = host_read_wall_ns_;
  step_values_.Add(Stepping(processes), base::RawNs(), samples);
  AddSelfValues(manager_, agents_, samples);
  for (const auto& add : sources_) add(samples);
  samples.push_back({&kLivePeriod, {}, static_cast<double>(snapshot->period_ns) / 1e9});
  samples.push_back({&kBudget, {}, static_cast<double>(level_)});
  samples.push_back({&kLiveLeftOut, {}, 0});
  samples.push_back({&kLiveValues, {}, 0});
  std::erase_if(samples, [this](const Sample& sample) { return !Wants(sample.metric->kind); });
  // What there may be most of is left out first, and profd's own never.
  std::ranges::stable_sort(samples, {}, [](const Sample& sample) {
    return sample.metric->kind == "profd" ? 0 : sample.needs == auth::Action::kSeeProcess ? 2 : 1;
  });
  const size_t whole = samples.size();
  samples.resize(std::min<size_t>(whole, config_.metrics.max_series));
  for (Sample& sample : samples) {
    if (sample.metric == &kLiveLeftOut) sample.value = static_cast<double>(whole - samples.size());
    if (sample.metric == &kLiveValues) sample.value = static_cast<double>(samples.size());
  }
  std::ranges::stable_sort(samples,
                           [](const Sample& a, const Sample& b) { return a.metric->name < b.metric->name; });
  if (whole > samples.size() && left_out_ == 0) {
    base::LogWarn("live: " + std::to_string(whole - samples.size()) +
                  " values are beyond metrics.max_series and left out");
  }
  left_out_ = whole - samples.size();
  snapshot->lacks = Lacks(samples);
  if (level_ < kSlow) history_.Add(*snapshot);
  newest_ = std::move(snapshot);
  // A watcher may go while it is told.
  for (const auto& [id, watcher] : std::map(watches_)) {
    if (watches_.contains(id)) watcher.each(newest_);
  }
}

std::vector<Lack> Live::Impl::Lacks(const std::vector<Sample>& samples) const {
  session::Node& node = manager_.node();
  const bool driver = node.hub() != nullptr;
  std::vector<Lack> lacks;
  for (const std::string_view kind : Kinds()) {
    if (std::ranges::any_of(samples, [&](const Sample& sample) { return sample.metric->kind == kind; }))
      continue;
    lacks.push_back(
        LackOf(kind, {.off = std::ranges::find(config_.live.off, kind) != config_.live.off.end(),
                      .saves = !Wants(kind),
                      .held = std::ranges::find(config_.live.channels, kind) != config_.live.channels.end(),
                      .driver = driver,
                      .known = node.is_known(),
                      .devices = &node.devices(),
                      .api_version = driver ? node.driver()->api_version() : 0}));
  }
  return lacks;
}

Live::Live(base::Executor& ctl, const config::Config& config, session::Manager& manager,
           agent::Registry& agents)
    : questions_(std::make_unique<DeviceQuestions>()),
      impl_(std::make_unique<Impl>(ctl, config, manager, agents, *questions_)) {
  if (config.live.jobs) jobs_ = std::make_unique<Jobs>(*this, agents, *questions_);
}
Live::~Live() = default;
Status Live::Usable() const { return impl_->Usable(); }
uint64_t Live::period_ns() const { return impl_->period_ns(); }
uint32_t Live::max_hz() const { return impl_->max_hz(); }
SnapshotPtr Live::newest() const { return impl_->newest(); }
std::vector<History::Later> Live::Since(uint64_t wall_ns) const { return impl_->Since(wall_ns); }
Live::WatchId Live::Watch(std::function<void(const SnapshotPtr&)> each, uint64_t period_ns) {
  return impl_->Watch(std::move(each), period_ns);
}
void Live::Unwatch(WatchId id) { impl_->Unwatch(id); }
const JobBook* Live::jobs() const { return jobs_ == nullptr ? nullptr : &jobs_->book(); }
void Live::AddSource(std::function<void(std::vector<Sample>&)> add) { impl_->AddSource(std::move(add)); }
void Live::SetLevel(int level) { impl_->SetLevel(level); }
void Live::Shutdown(std::function<void()> done) { impl_->Shutdown(std::move(done)); }

std::vector<const Sample*> Visible(const Snapshot& snapshot, const auth::Caller& caller,
                                   const std::vector<std::string>& kinds) {
  std::map<std::tuple<auth::Action, uid_t, uint32_t>, bool> may;  // asked once for each
  std::vector<const Sample*> visible;
  for (const Sample& sample : snapshot.samples) {
    if (!kinds.empty() && std::ranges::find(kinds, sample.metric->kind) == kinds.end()) continue;
    const auto [known, fresh] =
        may.try_emplace({sample.needs, sample.target.owner, sample.target.device}, false);
    if (fresh) known->second = auth::May(caller, sample.needs, sample.target).ok();
    if (known->second) visible.push_back(&sample);
  }
  return visible;
}

}  // namespace profd::live
