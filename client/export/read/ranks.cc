#include "client/export/read/ranks.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "client/export/read/agent_stream.h"
#include "format/decode/agents/agent_lanes.h"
#include "format/records/packed.h"
#include "libagent/abi/record.h"

namespace profd::client {

namespace {

constexpr size_t kMostDevices = 1024;  // of a program: more is damage
constexpr size_t kMostValues = 1 << 14;

std::optional<int64_t> Number(const std::map<std::string, std::string>& labels, const std::string& name) {
  const auto found = labels.find(name);
  if (found == labels.end()) return std::nullopt;
  int64_t number = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number <= INT32_MAX ? std::optional(number) : std::nullopt;
}

// What one program's records say of devices and groups. **Thread:** one.
class Uses {
 public:
  void Lane(const format::Block& block) {
    using format::AgentKind;
    const auto has = [&](AgentKind kind) { return block.header.kind_records[static_cast<size_t>(kind)] > 0; };
    if (!has(AgentKind::kKernel) && !has(AgentKind::kComm)) return;
    for (auto rest = block.payload; rest.size() >= abi::kRecordBytes;) {
      const auto record = format::Load<abi::Record>(rest.data());
      const size_t bytes = std::min(rest.size(), (size_t{record.more} + 1) * abi::kRecordBytes);
      if (record.kind == abi::kKernel || record.kind == abi::kComm) Add(record, rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  }
  const std::set<int>& devices() const { return devices_; }
  // Of the groups: reference of a key, of its value, and a device.
  const std::set<std::tuple<uint32_t, uint32_t, int>>& values() const { return values_; }

 private:
  void Add(const abi::Record& record, std::span<const std::byte> slots) {
    if (record.category == format::kNoId) return;
    const auto device = static_cast<int>(record.category & 0x7FFFFFFF);
    if (device != last_ && devices_.size() < kMostDevices) devices_.insert(last_ = device);
    if (record.kind != abi::kComm || values_.size() >= kMostValues) return;
    while ((slots = slots.subspan(abi::kRecordBytes)).size() >= abi::kRecordBytes) {
      const auto slot = format::Load<abi::ValueSlot>(slots.data());
      if (slot.kind == abi::kValue && slot.type == abi::kName)
        values_.emplace(slot.key, static_cast<uint32_t>(slot.bits), device);
    }
  }

  int last_ = -1;
  std::set<int> devices_;
  std::set<std::tuple<uint32_t, uint32_t, int>> values_;
};

DeviceUser UserOf(const Capture& capture, const format::ManifestAgent& agent) {
  DeviceUser user{agent.lanes_file, agent.labels, {}, {}};
  Report unused;  // whoever decodes the records says what is wrong with them
  const Stream* lanes = FindAgentStream(capture, agent.lanes_file);
  const Stream* names = FindAgentStream(capture, agent.names_file);
  if (lanes == nullptr) return user;
  Uses uses;
  AgentStream stream(capture, *lanes, unused, nullptr);
  for (format::Block block; stream.Next(block);) {
    if (block.header.type == static_cast<uint16_t>(format::BlockType::kLane)) uses.Lane(block);
  }
  user.devices = uses.devices();
  if (names == nullptr || uses.values().empty()) return user;
  class Nowhere : public format::SpanSink {
    void Spans(const format::SpanBatch&) override {}
  } nowhere;
  format::Texts texts;
  const format::ClockMap no_clock(0, 0);
  format::AgentLanes table(agent, 0, no_clock, texts, nowhere);
  AgentStream entries(capture, *names, unused, nullptr);
  for (format::Block block; entries.Next(block);) {
    if (block.header.type == static_cast<uint16_t>(format::BlockType::kNames)) table.Names(block);
  }
  for (const auto& [key, value, device] : uses.values()) {
    const std::string_view group = texts.Get(table.Name(value));
    if (texts.Get(table.Name(key)) == "group" && !group.empty())
      user.groups[std::string(group)].insert(device);
  }
  return user;
}

}  // namespace

std::set<int> DevicesOf(const std::map<int, int64_t>& known, const DeviceUser& user, bool only) {
  if (!user.devices.empty()) return user.devices;
  const auto local = Number(user.labels, "local_rank");
  std::set<int> devices;
  for (const auto& [device, rank] : known) devices.insert(device);
  if (only || !local) return only ? devices : std::set<int>();
  if (*local >= static_cast<int64_t>(devices.size())) return {};
  return {*std::next(devices.begin(), static_cast<ptrdiff_t>(*local))};
}

namespace {

// Whether each of a program's devices is a rank of its own: where several of them take part in one
// collective, and where the program is the whole job. Launchers number programs, and a program of theirs is
// one rank.
bool HasRankForEach(const DeviceUser& user, int64_t rank) {
  const auto has_several = [](const auto& group) { return group.second.size() > 1; };
  const int64_t world = Number(user.labels, "world_size").value_or(1);
  return std::ranges::any_of(user.groups, has_several) || (rank == 0 && world <= 1);
}

}  // namespace

std::map<int, int64_t> RanksOf(const std::map<int, int64_t>& known, const std::vector<DeviceUser>& users) {
  std::map<int, int64_t> ranks = known;
  for (const DeviceUser& user : users) {
    for (const int device : user.devices) ranks.try_emplace(device, -1);
  }
  for (const DeviceUser& user : users) {
    const std::set<int> devices = DevicesOf(known, user, users.size() == 1);
    const auto rank = Number(user.labels, "rank");
    if (!rank) continue;
    const bool for_each = HasRankForEach(user, *rank);
    int64_t next = for_each ? *rank * static_cast<int64_t>(devices.size()) : *rank;
    for (const int device : devices) {
      int64_t& place = ranks[device];
      if (place < 0) place = next;
      if (for_each) ++next;
    }
  }
  if (users.size() == 1 && ranks.size() == 1 && ranks.begin()->second < 0) ranks.begin()->second = 0;
  return ranks;
}

bool AreWholeJob(const std::vector<DeviceUser>& users) {
  std::set<int64_t> ranks;
  int64_t world = 0;
  for (const DeviceUser& user : users) {
    if (const auto rank = Number(user.labels, "rank")) ranks.insert(*rank);
    world = std::max(world, Number(user.labels, "world_size").value_or(0));
  }
  return world > 0 && std::cmp_greater_equal(ranks.size(), world);
}

void FindRanks(Capture& capture) {
  std::map<int, int64_t> known;
  for (const Side& side : capture.sides) {
    if (!side.is_host()) known[side.facts.device] = side.facts.rank_id;
  }
  std::vector<DeviceUser> users;
  if (capture.manifest) {
    for (const format::ManifestAgent& agent : capture.manifest->agents)
      users.push_back(UserOf(capture, agent));
    // Of the session, where no program says better.
    if (users.empty() && capture.manifest->labels.contains("rank")) {
      users.push_back({"", capture.manifest->labels, {}, {}});
    }
  }
  capture.ranks = RanksOf(known, users);
  capture.has_all_ranks = AreWholeJob(users);
  for (const DeviceUser& user : users) {
    capture.devices_of[user.lanes_file] = DevicesOf(known, user, users.size() == 1);
    for (const auto& [group, devices] : user.groups) {
      for (const int device : devices) capture.groups[group].insert(capture.ranks[device]);
    }
  }
  for (Side& side : capture.sides) {
    if (!side.is_host()) side.facts.rank_id = capture.ranks[side.facts.device];
  }
}

}  // namespace profd::client
