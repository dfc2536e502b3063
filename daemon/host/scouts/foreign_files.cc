#include "daemon/host/scouts/foreign_files.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "daemon/host/process/process.h"
#include "daemon/host/process/values.h"

namespace profd::host {

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kPatienceNs = 2 * kSecondNs;
constexpr uint64_t kMostLateNs = kSecondNs / 5;  // of what still says something of the present
// One that hung and does so no more, as far as can be seen, is read again then.
constexpr uint64_t kLookAgainNs = kSecondNs;
constexpr uint64_t kTryAgainNs = kSecondNs;
// Users beyond the most readers have one for all of them.
constexpr uid_t kOthers = static_cast<uid_t>(-1);
constexpr size_t kMostAtOnce = 1024;  // files, so that the answer is no longer than may be said
static_assert(kMostAtOnce * (sizeof(FileText) + kMostTextBytes) <= TextChannel::kMostBytes);

struct Taken {
  std::mutex mutex;
  std::vector<bool> places;
};
Taken& TheTaken() {
  static auto* taken = new Taken;
  return *taken;
}

// So many off the end, at most.
std::vector<uint64_t> TakeSome(std::vector<uint64_t>& keys) {
  const auto from = keys.end() - static_cast<ptrdiff_t>(std::min(keys.size(), kMostAtOnce));
  std::vector<uint64_t> some(from, keys.end());
  keys.erase(from, keys.end());
  return some;
}

}  // namespace

ForeignFiles::~ForeignFiles() = default;

void ForeignFiles::Begin(uint64_t until_mono_ns) {
  begun_ns_ = base::MonotonicNs();
  until_ns_ = until_mono_ns;
  for (const uint64_t key : wanted_) {
    if (const auto file = files_.find(key); file != files_.end()) file->second.state = File::State::kUnread;
  }
  wanted_.clear();
  if (!hanging_.empty()) LookAtHanging(begun_ns_);
  for (auto& [user, reader] : readers_) {
    if (!reader.asked) continue;
    Hear(reader, InTime::kNo);
    if (reader.asked && begun_ns_ - reader.asked_ns > kPatienceNs) GiveUp(reader);
  }
  std::erase_if(readers_, [](const auto& reader) { return reader.second.files == 0; });
}

// A process that hangs so sleeps, and nobody can wake it.
void ForeignFiles::LookAtHanging(uint64_t now_ns) {
  for (auto at = hanging_.begin(); at != hanging_.end();) {
    auto& [pid, hanging] = *at;
    const bool look = now_ns >= hanging.look_again_ns;
    if (look) hanging.look_again_ns = now_ns + kLookAgainNs;
    at = look && StateOf(pid) != 'D' ? hanging_.erase(at) : std::next(at);
  }
}

std::optional<uint64_t> ForeignFiles::HangsSince(pid_t pid) const {
  const auto hanging = hanging_.find(pid);
  if (hanging == hanging_.end()) return std::nullopt;
  return hanging->second.since_wall_ns;
}

uid_t ForeignFiles::Shared(uid_t user) const {
  return readers_.contains(user) || readers_.size() < kMostReaders ? user : kOthers;
}

ForeignFiles::Place::Place() {
  const std::lock_guard lock(TheTaken().mutex);
  std::vector<bool>& places = TheTaken().places;
  places.resize(StandIn::Board().size());
  const auto free = std::ranges::find(places, false);
  if (free == places.end()) return;
  *free = true;
  number_ = static_cast<size_t>(free - places.begin());
}

ForeignFiles::Place::~Place() {
  if (!number_) return;
  const std::lock_guard lock(TheTaken().mutex);
  TheTaken().places[*number_] = false;
}

uint64_t ForeignFiles::Add(bool io, pid_t pid, pid_t tid, uid_t user) {
  user = Shared(user);
  ++readers_[user].files;
  files_[++last_key_] = {.user = user, .pid = pid, .tid = tid, .io = io, .text = {}, .late_since_ns = {}};
  return last_key_;
}

void ForeignFiles::Forget(uint64_t key) {
  const auto file = files_.find(key);
  Reader& reader = readers_.at(file->second.user);
  --reader.files;
  if (reader.stand_in) reader.forgotten.push_back(key);
  files_.erase(file);
}

void ForeignFiles::Want(uint64_t key) {
  File& file = files_.at(key);
  if (file.state != File::State::kUnread) return;
  file.state = File::State::kWanted;
  const auto late_since_ns = std::exchange(file.late_since_ns, std::nullopt);
  if (!late_since_ns || begun_ns_ - *late_since_ns > kMostLateNs) file.error = EAGAIN;
  wanted_.push_back(key);
  if (!hanging_.contains(file.pid)) readers_.at(file.user).wanted.push_back(key);
}

ssize_t ForeignFiles::Read(uint64_t key, char* buffer, size_t size) {
  const File& file = files_.at(key);
  if (file.state == File::State::kUnread) {
    Want(key);
    Ask();
  }
  if (file.error != 0) {
    errno = file.error;
    return -1;
  }
  const size_t bytes = std::min(size, file.text.size());
  std::memcpy(buffer, file.text.data(), bytes);
  return static_cast<ssize_t>(bytes);
}

void ForeignFiles::Ask() {
  std::vector<std::pair<uid_t, Reader*>> asked;
  for (auto& [user, reader] : readers_) {
    if (reader.wanted.empty()) continue;
    // One that still owes an answer is not asked again, nor waited for.
    if (!reader.asked && Send(reader, user)) {
      asked.emplace_back(user, &reader);
    } else {
      reader.wanted.clear();
    }
  }
  std::vector<pollfd> waits;
  for (;;) {
    std::erase_if(asked, [](const auto& one) { return !one.second->asked; });
    const uint64_t now_ns = base::MonotonicNs();
    if (asked.empty() || now_ns >= until_ns_) break;
    waits.clear();
    for (const auto& [user, reader] : asked) {
      const TextChannel& channel = reader->stand_in->channel();
      waits.push_back({channel.fd(), static_cast<short>(channel.idle() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    const uint64_t left_ns = std::min(until_ns_ - now_ns, kPatienceNs);
    const timespec timeout{static_cast<time_t>(left_ns / kSecondNs), static_cast<long>(left_ns % kSecondNs)};
    ::ppoll(waits.data(), waits.size(), &timeout, nullptr);
    for (const auto& [user, reader] : asked) {
      Hear(*reader, InTime::kYes);
      if (!reader->asked && !reader->wanted.empty()) Send(*reader, user);
    }
  }
  for (auto& [user, reader] : readers_) reader.wanted.clear();
}

bool ForeignFiles::Send(Reader& reader, uid_t user) {
  const uint64_t now_ns = base::MonotonicNs();
  if (!reader.place.number()) return false;
  if (!reader.stand_in) {
    if (now_ns < reader.try_again_ns) return false;
    reader.try_again_ns = now_ns + kTryAgainNs;
    auto started = StandIn::Start(user, duty_);
    if (!started.ok()) return false;
    reader.stand_in.emplace(std::move(started).value());
  }
  std::string request;
  AppendValue(request, FileRound{.place = *reader.place.number(), .most_open = most_open_});
  for (const uint64_t key : TakeSome(reader.forgotten))
    AppendValue(request, FileOrder{.key = key, .what = FileOrder::What::kForget});
  for (const uint64_t key : TakeSome(reader.wanted)) {
    const auto file = files_.find(key);
    if (file == files_.end()) continue;
    AppendValue(
        request,
        FileOrder{.key = key, .pid = file->second.pid, .tid = file->second.tid, .io = file->second.io});
  }
  reader.stand_in->Say(request);
  reader.asked = true;
  reader.asked_ns = now_ns;
  reader.asked_wall_ns = base::WallNs();
  return true;
}

void ForeignFiles::Hear(Reader& reader, InTime in_time) {
  const auto answer = reader.stand_in->Hear();
  if (answer.ok() && !*answer) return;
  reader.asked = false;
  if (answer.ok()) {
    TakeAnswer(reader, **answer, in_time);
  } else {
    reader.stand_in.reset();  // it has died
  }
}

// Only of files that it was asked for.
void ForeignFiles::TakeAnswer(const Reader& reader, std::string_view answer, InTime in_time) {
  const bool late = in_time == InTime::kNo;
  FileTexts texts(answer);
  while (const auto said = texts.Next()) {
    const auto found = files_.find(said->key);
    if (found == files_.end() || &readers_.at(found->second.user) != &reader) continue;
    File& file = found->second;
    if (!late && file.state != File::State::kWanted) continue;
    file.error = said->error;
    file.text = said->text;
    if (late) file.late_since_ns = reader.asked_ns;
  }
}

void ForeignFiles::GiveUp(Reader& reader) {
  (void)reader.stand_in->GiveUp();
  reader.stand_in.reset();
  reader.asked = false;
  reader.forgotten.clear();
  const uint64_t pid = StandIn::Board()[*reader.place.number()].exchange(0);
  const bool known = std::ranges::any_of(files_, [&](const auto& entry) {
    return static_cast<uint64_t>(entry.second.pid) == pid && &readers_.at(entry.second.user) == &reader;
  });
  // Nobody's: it had no processor, or no memory.
  if (known)
    hanging_[static_cast<pid_t>(pid)] = {.since_wall_ns = reader.asked_wall_ns,
                                         .look_again_ns = base::MonotonicNs() + kLookAgainNs};
}

}  // namespace profd::host
