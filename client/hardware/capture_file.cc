#include "client/hardware/capture_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/unique_fd.h"
#include "base/version.h"
#include "client/files/own_folder.h"
#include "client/words/ascii.h"

namespace profd::client {

using base::Status;

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBlock = 512;
constexpr int kVersion = 1;
constexpr char kRead[] = "prof_channel_read", kByBuffer[] = "halGetDeviceInfoByBuff";
constexpr int32_t kPcie = 6;  // MODULE_TYPE_PCIE of the vendor's ascend_hal_base.h

std::string Line(const Json& json) {
  // Foreign text may be broken UTF-8: replaced, never thrown at.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Its answer says where in the host the device is.
bool TellsItsPlace(const v1::DriverCall& call) {
  int32_t module = 0;
  if (call.call() != kByBuffer || call.given().size() < sizeof module) return false;
  std::memcpy(&module, call.given().data(), sizeof module);
  return module == kPcie;
}

// One block of a tar's member: POSIX ustar, of nobody, of no time.
std::string TarHeader(const std::string& name, uint64_t size) {
  std::string block(kBlock, '\0');
  const auto put = [&block](size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<ptrdiff_t>(at));
  };
  const auto octal = [](uint64_t value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
    return std::string(text);
  };
  put(0, name.substr(0, 99));
  put(100, octal(0644, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(0, 11));
  put(148, "        ");
  put(156, "0");
  put(257, "ustar");
  put(263, "00");
  uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + '\0' + ' ');
  return block;
}

// Of the calls of all devices, in order.
class CallLog {
 public:
  CallLog(uint64_t begin_ns, Scrubber* scrubber) : begin_ns_(begin_ns), scrubber_(scrubber) {}

  void Add(const v1::DriverCall& call) {
    Json line = {{"call", call.call()}};
    if (call.has_device()) line["device"] = call.device();
    if (call.channel() != 0) line["channel"] = call.channel();
    line["at"] = call.began_ns() - std::min(begin_ns_, call.began_ns());
    line["took"] = call.ended_ns() - call.began_ns();
    line["code"] = call.code();
    if (call.call() == kRead) {
      if (call.code() > 0) raw_[{call.device(), call.channel()}] += call.answered();
    } else {
      const bool is_place = TellsItsPlace(call);
      const auto clean = [&](const std::string& bytes) {
        return Hex(is_place ? std::string(bytes.size(), '\0') : scrubber_->Clean(bytes));
      };
      if (!call.given().empty()) {
        // The question is two numbers, then what the buffer held.
        line["given"] = is_place ? Hex(call.given().substr(0, 8)) : Hex(scrubber_->Clean(call.given()));
      }
      if (!call.answered().empty()) line["answered"] = clean(call.answered());
    }
    lines_ += Line(line);
    ++count_;
  }

  uint64_t count() const { return count_; }
  std::string& lines() { return lines_; }
  std::map<std::pair<uint32_t, uint32_t>, std::string>& raw() { return raw_; }

 private:
  const uint64_t begin_ns_;
  Scrubber* const scrubber_;
  uint64_t count_ = 0;
  std::string lines_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> raw_;  // by device and channel
};

Json DeviceJson(const DeviceEvidence& evidence) {
  const v1::Device& device = evidence.device;
  Json kinds = Json::array();
  for (const v1::KindOffer& offer : device.kinds()) {
    Json channels = Json::object();
    for (const v1::ChannelUse& use : offer.channels()) channels[std::to_string(use.channel())] = use.file();
    kinds.push_back({{"kind", offer.kind()},
                     {"available", offer.available()},
                     {"reason", offer.reason()},
                     {"channels", std::move(channels)}});
  }
  Json rounds = Json::array();
  for (const HardwareRound& round : evidence.rounds) {
    Json states = Json::array();
    for (const v1::KindState& kind : round.session.kinds()) {
      states.push_back({{"kind", kind.kind()},
                        {"verdict", v1::Verdict_Name(kind.verdict())},
                        {"hz", kind.effective_hz()},
                        {"records", kind.records()},
                        {"lost", kind.lost()},
                        {"reason", kind.reason()}});
    }
    rounds.push_back({{"refused", round.refused}, {"kinds", std::move(states)}});
  }
  return {{"device", device.device()},
          {"product", device.chip()},
          {"status", device.status()},
          {"error", device.error()},
          {"counter_mhz", device.counter_mhz()},
          {"kinds", std::move(kinds)},
          {"sessions", std::move(rounds)},
          {"left_out", {{"calls", evidence.left_out_calls}, {"bytes", evidence.left_out_bytes}}}};
}

std::string IndexOf(const NodeEvidence& evidence, const std::vector<CaptureMember>& members, uint64_t calls,
                    uint64_t begin_ns, Scrubber* scrubber) {
  const v1::DevicesReply& node = evidence.node;
  Json devices = Json::array(), symbols = Json::array(), versions = Json::object(), listed = Json::array();
  for (const DeviceEvidence& device : evidence.devices) devices.push_back(DeviceJson(device));
  for (const std::string& symbol : node.missing_symbols()) symbols.push_back(symbol);
  for (const auto& [what, version] : node.versions()) versions[what] = scrubber->Clean(version);
  for (const CaptureMember& member : members)
    listed.push_back({{"name", member.name}, {"bytes", member.bytes.size()}, {"what", member.what}});
  const std::string& path = node.driver_path();
  const Json index = {{"format", "profcap"},
                      {"version", kVersion},
                      {"profd", node.profd_version()},
                      {"profctl", base::kVersion},
                      {"driver",
                       {{"library", path.substr(path.rfind('/') + 1)},
                        {"api_version", node.driver_api_version()},
                        {"missing_symbols", std::move(symbols)},
                        {"versions", std::move(versions)}}},
                      {"calls", calls},
                      {"begin_host_raw_ns", begin_ns},
                      {"devices", std::move(devices)},
                      {"members", std::move(listed)},
                      {"names_taken_out", scrubber->places()}};
  return index.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<CaptureMember> MakeCapture(const NodeEvidence& evidence,
                                       const std::map<std::string, std::string>& facts, Scrubber* scrubber) {
  std::vector<const v1::DriverCall*> calls;
  for (const DeviceEvidence& device : evidence.devices) {
    for (const v1::DriverCall& call : device.facts) calls.push_back(&call);
    for (const HardwareRound& round : device.rounds) {
      for (const v1::DriverCall& call : round.calls) calls.push_back(&call);
    }
  }
  std::ranges::stable_sort(calls, {}, &v1::DriverCall::began_ns);
  const uint64_t begin_ns = calls.empty() ? 0 : calls.front()->began_ns();
  CallLog log(begin_ns, scrubber);
  for (const v1::DriverCall* call : calls) log.Add(*call);

  std::vector<CaptureMember> members;
  members.push_back({"calls.jsonl",
                     std::to_string(log.count()) + " calls of the driver: codes, payloads, times",
                     std::move(log.lines())});
  for (auto& [of, bytes] : log.raw()) {
    const std::string device = std::to_string(of.first), channel = std::to_string(of.second);
    members.push_back({"device_" + device + "/channel_" + channel + ".bin",
                       "what channel " + channel + " of device " + device + " brought",
                       scrubber->Clean(std::move(bytes))});
  }
  for (const auto& [name, text] : facts) members.push_back({name, "of this machine", scrubber->Clean(text)});
  members.insert(members.begin(), {"index.json", "what this is, profd's view of it, this list",
                                   IndexOf(evidence, members, log.count(), begin_ns, scrubber)});
  return members;
}

uint64_t SizeOf(const std::vector<CaptureMember>& members) {
  uint64_t bytes = 2 * kBlock;
  for (const CaptureMember& member : members)
    bytes += kBlock + (member.bytes.size() + kBlock - 1) / kBlock * kBlock;
  return bytes;
}

Status WriteCapture(const std::string& path, const std::vector<CaptureMember>& members) {
  const size_t name_at = path.rfind('/') + 1;  // without a slash: 0
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd folder, OpenWay(path.substr(0, name_at), IfMissing::kFail));
  const std::string place = PathOf(folder) + "/" + path.substr(name_at);
  const base::UniqueFd file(
      ::open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file) return Status::FromErrno("cannot make " + path);
  std::string bytes;
  bytes.reserve(SizeOf(members));
  for (const CaptureMember& member : members) {
    bytes += TarHeader(member.name, member.bytes.size());
    bytes += member.bytes;
    bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  bytes.resize(bytes.size() + 2 * kBlock, '\0');
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (written < 0) {
      Status why = Status::FromErrno("cannot write " + path);
      ::unlink(place.c_str());
      return why;
    }
    at += static_cast<size_t>(written);
  }
  return {};
}

}  // namespace profd::client
