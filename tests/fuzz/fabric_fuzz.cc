// The dynolog fabric: whatever a process says, it is dropped or answered as its client expects it, with the
// size that the answer has, and never with another's order.
#include <cstdint>
#include <cstring>
#include <string>

#include "base/status.h"
#include "daemon/fabric/clients.h"
#include "tests/unit/support/fake_timers.h"

namespace {

using namespace profd;

constexpr char kOrder[] = "ACTIVITIES_LOG_FILE=/tmp/t.json\n";
constexpr pid_t kOrdered = 1;

}  // namespace

// First byte: which process says it, and how long after the one before; the rest is the datagram.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FakeTimers timers;
  static fabric::Clients clients(timers);
  if (size == 0) return 0;
  fabric::Sender sender;
  sender.pid = 1 + data[0] % 64;
  sender.uid = static_cast<uid_t>(sender.pid % 3);
  sender.address = std::string("\0client", 7);
  timers.Advance((data[0] / 64U) * uint64_t{500'000'000});
  if (const auto known = clients.Find(kOrdered)) {
    const base::Status placed = clients.Place(known->id, {"session", kOrder, [](auto, const auto&) {}});
    PROFD_CHECK(placed.ok() || placed.code() == base::Code::kAborted);
  }
  const fabric::Message message = fabric::Read({data + 1, size - 1});
  if (std::holds_alternative<fabric::Drop>(message)) return 0;
  const std::string answer = clients.Take(sender, message).datagram;
  PROFD_CHECK(clients.All().size() <= fabric::Clients::kMost);
  PROFD_CHECK(answer.empty() == std::holds_alternative<fabric::Report>(message));
  if (answer.empty()) return 0;
  uint64_t body = 0;
  std::memcpy(&body, answer.data(), sizeof body);
  PROFD_CHECK(answer.size() == fabric::kHeaderBytes + body);
  const bool has_order = answer.find(kOrder) != std::string::npos;
  PROFD_CHECK(!has_order || sender.pid == kOrdered);
  if (has_order) clients.Withdraw(clients.Find(kOrdered)->id);
  return 0;
}
