// Every message that a client, an agent or another node sends, from its bytes to the plan: what is accepted
// is within its bounds and plain text, what is not has one line that says why.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "daemon/config/config.h"
#include "daemon/rpc/calls/convert.h"
#include "daemon/rpc/calls/convert_agent.h"
#include "daemon/rpc/relay/relay_check.h"
#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/spec_check.h"

namespace {

namespace v1 = profd::v1;
using namespace profd::rpc;
using namespace profd::session;

NodeFacts Node() {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.api_version = 0x072316;
  for (uint32_t id = 0; id < 2; ++id) {
    profd::driver::DeviceFacts& device = facts.devices.emplace_back();
    device.id = id;
    device.chip = profd::driver::Chip::k910B;
    device.chip_name = "910B3";
    device.status = 1;
    device.counter_mhz = 50;
    for (uint32_t channel = 1; channel < 150; ++channel) device.channels.push_back(channel);
  }
  facts.leased_devices = {1};
  facts.processes.push_back({.pid = 42, .uid = 1000, .name = "job", .exists = true, .open_devices = {0}});
  return facts;
}

template <typename Value>
bool Accepted(const profd::base::Result<Value>& result) {
  PROFD_CHECK(result.ok() || !result.status().message().empty());
  return result.ok();
}

void Start(const v1::StartRequest& request) {
  auto spec = DecodeSpec(request.spec());
  if (!Accepted(spec)) return;
  PROFD_CHECK(spec->kinds.size() <= 1024 && spec->devices.size() <= 1024);
  static const profd::config::Config kConfig;
  if (!CheckSpec(*spec, kConfig).ok()) return;
  PROFD_CHECK(spec->pids.size() <= 256 && spec->labels.size() <= 64);
  PROFD_CHECK(spec->duration_ns <= kConfig.session.max_duration_s * 1'000'000'000);
  static const NodeFacts kNode = Node();
  const auto plan = MakePlan(*spec, kNode);
  if (!Accepted(plan)) return;
  PROFD_CHECK(!plan->channels.empty() || !plan->host.empty() || !plan->agents.empty());
  for (const ChannelStart& start : plan->channels) {
    PROFD_CHECK(start.format != nullptr && start.kind_index < plan->kinds.size() && start.device < 2);
  }
}

void Register(const v1::AgentMessage& message) {
  DecodeAck(message.ack());
  DecodeStepWindow(message.step_window());
  const auto hello = DecodeHello(message.hello());
  if (!Accepted(hello)) return;
  PROFD_CHECK(hello->labels.size() <= 64 && hello->devices.size() <= 64);
  PROFD_CHECK(profd::base::IsPlainText(hello->executable));
  for (const std::string& argument : hello->command_line) PROFD_CHECK(profd::base::IsPlainText(argument));
  for (const auto& [key, value] : hello->labels) {
    PROFD_CHECK(profd::base::IsPlainText(key) && profd::base::IsPlainText(value));
  }
}

void Relay(const v1::RelayRequest& request) {
  profd::auth::Caller operator_of_many;
  operator_of_many.role = profd::auth::Role::kOperator;
  const profd::base::Status may = CheckRelay(operator_of_many, request, {"node*", "gpu[0-9]:9478"});
  PROFD_CHECK(may.ok() || !may.message().empty());
  if (!may.ok()) return;
  PROFD_CHECK(request.calls_size() <= 4096);
  for (const v1::RelayCall& call : request.calls())
    PROFD_CHECK(call.host().starts_with("node") || call.host().starts_with("gpu"));
}

template <typename Message, typename Use>
void As(std::string_view bytes, Use use) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) use(message);
}

}  // namespace

// First byte: which message; the rest is the message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      As<v1::StartRequest>(bytes, Start);
      break;
    case 1:
      As<v1::StopRequest>(bytes, [](const v1::StopRequest& request) { Accepted(DecodeStop(request)); });
      break;
    case 2:
      As<v1::AddLeaseRequest>(bytes, [](const v1::AddLeaseRequest& request) {
        const auto order = DecodeLease(request);
        if (!Accepted(order)) return;
        PROFD_CHECK(order->lease.until_wall_ns > order->lease.since_wall_ns);
        PROFD_CHECK(order->all_devices == order->lease.devices.empty());
      });
      break;
    case 3:
      As<v1::AgentMessage>(bytes, Register);
      break;
    default:
      As<v1::RelayRequest>(bytes, Relay);
  }
  return 0;
}
