#include "daemon/host/stacks/profile_reader.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace profd::host {

namespace {

constexpr uint64_t kMillisecondNs = 1'000'000, kSecondNs = 1'000'000'000;
// What a sample may cost on average, which is 1 % of a CPU at 99 Hz, and a switch; and what is needed to get
// going.
constexpr uint64_t kSampleBudgetNs = 100'000, kSwitchBudgetNs = 10'000;
constexpr uint64_t kFirstBudgetNs = 20 * kMillisecondNs;

struct AnswerHead {
  uint64_t lost = 0, lost_from_ns = 0, lost_to_ns = 0, switches = 0;
  uint64_t names_bytes = 0, samples_bytes = 0;  // then the strangers
  bool has_python = false;
};

// Takes it off the front.
template <typename T>
bool Take(std::string_view& text, T& value) {
  if (text.size() < sizeof value) return false;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return true;
}
bool Take(std::string_view& text, uint64_t bytes, std::string_view& part) {
  if (text.size() < bytes) return false;
  part = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return true;
}

template <typename T>
std::string_view Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// **Thread:** the only one of its process.
class Reader {
 public:
  std::string Read(std::string_view request) {
    ProfileRound::Head head;
    std::string_view members;
    if (!Take(request, head) || !Take(request, head.member_bytes, members)) return {};
    if (!book_) {
      kernel_ = KernelNames::Load();
      book_.emplace(head.off_cpu ? ProfileBook::What::kOffCpu : ProfileBook::What::kOnCpu);
    }
    TakeIn(members);
    if (head.forget) book_->ForgetWaits();
    Govern();
    for (perf_event_header record; head.records > 0; --head.records) {
      std::string_view text;
      std::memcpy(&record, request.data(), std::min(sizeof record, request.size()));
      if (request.size() < sizeof record || !Take(request, record.size, text)) break;
      book_->Take(std::as_bytes(std::span(text)), *kernel_);
    }
    if (head.end_ns == 0) {
      book_->LookAtWaits(*kernel_);
    } else {
      // Nobody tells any more who goes on meanwhile.
      book_->EndWaits(head.end_ns, *kernel_);
      if (book_->spared() > 0) book_->lines.names += "spared " + std::to_string(book_->spared()) + '\n';
    }
    book_->CloseMemories();
    return Said();
  }

 private:
  void TakeIn(std::string_view members) {
    uint32_t bytes = 0;
    std::string_view name;
    for (pid_t pid = 0; Take(members, pid) && Take(members, bytes) && Take(members, bytes, name);)
      book_->TakeIn(pid, name);
  }

  // Whoever costs more than its budget in a second goes without the dear part until the next.
  void Govern() {
    const uint64_t now_ns = base::MonotonicNs(), cpu_ns = base::ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
    if (now_ns - second_begin_ns_ >= kSecondNs) {
      second_begin_ns_ = now_ns;
      second_cpu_ns_ = cpu_ns;
      second_samples_ = book_->samples();
      second_switches_ = book_->switches();
    }
    const uint64_t budget_ns = kFirstBudgetNs + (book_->samples() - second_samples_) * kSampleBudgetNs +
                               (book_->switches() - second_switches_) * kSwitchBudgetNs;
    book_->Spare(cpu_ns - second_cpu_ns_ > budget_ns);
  }

  std::string Said() {
    const ProfileLines lines = std::exchange(book_->lines, {});
    const std::vector<pid_t> strangers = book_->TakeStrangers();
    const AnswerHead head{.lost = lines.lost,
                          .lost_from_ns = lines.lost_from_ns,
                          .lost_to_ns = lines.lost_to_ns,
                          .switches = book_->switches(),
                          .names_bytes = lines.names.size(),
                          .samples_bytes = lines.samples.size(),
                          .has_python = book_->has_python()};
    std::string said(Bytes(head));
    said += lines.names;
    said += lines.samples;
    said.append(reinterpret_cast<const char*>(strangers.data()), strangers.size() * sizeof(pid_t));
    return said;
  }

  std::optional<ProfileBook> book_;
  std::shared_ptr<const KernelNames> kernel_;
  uint64_t second_begin_ns_ = 0, second_cpu_ns_ = 0, second_samples_ = 0, second_switches_ = 0;
};

}  // namespace

void ProfileRound::TakeIn(const std::vector<NamedPid>& members) {
  for (const auto& [pid, name] : members) {
    body_ += Bytes(pid);
    body_ += Bytes(static_cast<uint32_t>(name.size()));
    body_ += name;
  }
  head_.member_bytes = static_cast<uint32_t>(body_.size());
}

bool ReadProfileAnswer(std::string_view text, ProfileAnswer& answer) {
  AnswerHead head;
  std::string_view names, samples;
  if (!Take(text, head) || !Take(text, head.names_bytes, names) || !Take(text, head.samples_bytes, samples))
    return false;
  answer.lines = {.names = std::string(names),
                  .samples = std::string(samples),
                  .lost = head.lost,
                  .lost_from_ns = head.lost_from_ns,
                  .lost_to_ns = head.lost_to_ns};
  answer.switches = head.switches;
  answer.has_python = head.has_python;
  answer.strangers.clear();
  for (pid_t pid = 0; Take(text, pid);) answer.strangers.push_back(pid);
  return true;
}

StandIn::Answer ProfileDuty() {
  return [reader = std::make_shared<Reader>()](std::string_view request) { return reader->Read(request); };
}

}  // namespace profd::host
