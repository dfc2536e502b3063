#include "sim/hal/capture/capture.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sim/abi.h"

namespace profd::sim {
namespace {

constexpr size_t kBlock = 512, kMostBytes = 256U << 20, kMostMembers = 4096, kMostCalls = 4'000'000;
constexpr char kCalls[] = "calls.jsonl";

using Json = nlohmann::json;
using Members = std::map<std::string, std::string_view, std::less<>>;

std::optional<uint64_t> Octal(std::string_view field) {
  uint64_t value = 0;
  const size_t begin = field.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  const char* const from = field.data() + begin;
  const auto [end, error] = std::from_chars(from, field.data() + field.size(), value, 8);
  if (error != std::errc{} || end == from) return std::nullopt;
  return value;
}

// The plain files of a tar.
Members ReadTar(std::string_view file) {
  Members members;
  for (size_t at = 0; at + kBlock <= file.size();) {
    const std::string_view header = file.substr(at, kBlock);
    if (header[0] == '\0') break;  // its end
    const std::optional<uint64_t> size = Octal(header.substr(124, 12));
    if (header.substr(257, 5) != "ustar" || !size || *size > file.size() - at - kBlock)
      throw std::runtime_error("is no capture, or cut off: no tar member at byte " + std::to_string(at));
    if (members.size() >= kMostMembers) throw std::runtime_error("has too many members");
    const std::string_view name = header.substr(0, 100);
    members[std::string(name.substr(0, name.find('\0')))] = file.substr(at + kBlock, *size);
    at += kBlock + (*size + kBlock - 1) / kBlock * kBlock;
  }
  return members;
}

// A call, as one JSON object on one line.
class Line {
 public:
  explicit Line(std::string_view text) : json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)) {
    if (!json_.is_object()) throw std::runtime_error("is none of its calls");
  }

  std::string Text(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) return {};
    if (!found->is_string()) throw std::runtime_error(std::string(name) + " is no text");
    return *found;
  }
  template <typename Integer>
  std::optional<Integer> Maybe(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) return std::nullopt;
    const bool fits = found->is_number_unsigned()
                          ? std::in_range<Integer>(found->get<uint64_t>())
                          : found->is_number_integer() && std::in_range<Integer>(found->get<int64_t>());
    if (!fits) throw std::runtime_error(std::string(name) + " is no such number");
    return found->get<Integer>();
  }
  std::string Bytes(const char* name) const {
    const std::string hex = Text(name);
    const auto digit = [](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      const int high = digit(hex[i]), low = digit(hex[i + 1]);
      if (high < 0 || low < 0) throw std::runtime_error(std::string(name) + " is no hex");
      bytes += static_cast<char>(high << 4 | low);
    }
    if (hex.size() % 2 != 0) throw std::runtime_error(std::string(name) + " is no hex");
    return bytes;
  }

 private:
  const Json json_;
};

template <typename Integer>
Integer Load(std::string_view bytes, size_t at) {
  Integer value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// What one asks of a device's clocks, and when.
struct ClockSeen {
  uint64_t host_ns, value;
};

class Reader {
 public:
  explicit Reader(Capture* capture, const Members& members) : capture_(*capture), members_(members) {}

  void Take(std::string_view text) {
    const Line line(text);
    const std::string call = line.Text("call");
    const auto device = line.Maybe<uint32_t>("device");
    const uint32_t channel = line.Maybe<uint32_t>("channel").value_or(0);
    const uint64_t at_ns = line.Maybe<uint64_t>("at").value_or(0);
    Answer answer{.code = line.Maybe<int>("code").value_or(0),
                  .took_ns = line.Maybe<uint64_t>("took").value_or(0),
                  .bytes = line.Bytes("answered")};
    const std::string given = line.Bytes("given");
    if (call.empty()) throw std::runtime_error("is none of its calls");
    if (!device) {
      capture_.node[Capture::KeyOf(call, "")].push_back(std::move(answer));
      return;
    }
    if (*device >= kMaxDevices || channel >= kMaxChannels)
      throw std::runtime_error("names device " + std::to_string(*device) + ", channel " +
                               std::to_string(channel));
    RecordedDevice& of = capture_.devices[*device];
    if (channel != 0) return TakeChannel(*device, channel, call, at_ns, answer, of.channels[channel]);
    if (call == "prof_drv_get_channels") NoteList(answer, of);
    NoteClock(*device, given, at_ns + answer.took_ns / 2, answer);
    of.answers[Capture::KeyOf(call, given)].push_back(std::move(answer));
  }

  void End() {
    for (auto& [device, of] : capture_.devices) {
      std::sort(of.listed.begin(), of.listed.end());
      of.listed.erase(std::unique(of.listed.begin(), of.listed.end()), of.listed.end());
      of.clock = ClockOf(raw_[device], ticks_[device]);
    }
  }

 private:
  void TakeChannel(uint32_t device, uint32_t id, const std::string& call, uint64_t at_ns,
                   const Answer& answer, RecordedChannel& channel) {
    if (call == "prof_drv_start") {
      begun_ns_[{device, id}] = at_ns;
      channel.runs.push_back({.start = answer, .stop = {}, .pieces = {}});
    } else if (channel.runs.empty()) {
      return;  // what was started before the capture began
    } else if (call == "prof_stop") {
      channel.runs.back().stop = answer;
      channel.runs.back().was_stopped = true;
    } else if (call == "prof_channel_read") {
      RecordedRun::Piece piece{.after_ns = at_ns - std::min(at_ns, begun_ns_[{device, id}]),
                               .begin = channel.bytes.size()};
      if (answer.code < 0) {
        piece.code = answer.code;
      } else {
        piece.bytes = static_cast<uint64_t>(answer.code);
        const auto member =
            members_.find("device_" + std::to_string(device) + "/channel_" + std::to_string(id) + ".bin");
        if (member == members_.end() || member->second.size() - channel.bytes.size() < piece.bytes)
          throw std::runtime_error("has more bytes than the member of channel " + std::to_string(id));
        channel.bytes += member->second.substr(channel.bytes.size(), piece.bytes);
      }
      channel.runs.back().pieces.push_back(piece);
    }
  }

  static void NoteList(const Answer& answer, RecordedDevice& device) {
    if (answer.code != 0 || answer.bytes.size() < sizeof(ChannelList)) return;
    const auto list = Load<ChannelList>(answer.bytes, 0);
    for (uint32_t i = 0; i < std::min(list.channel_num, kMaxChannels); ++i) {
      const uint32_t id = list.channel[i].id;
      if (id > 0 && id < kMaxChannels) device.listed.push_back(id);
    }
  }

  void NoteClock(uint32_t device, std::string_view given, uint64_t host_ns, const Answer& answer) {
    if (answer.code != 0 || given.size() != 2 * sizeof(int32_t) || answer.bytes.size() != sizeof(uint64_t))
      return;
    if (Load<int32_t>(given, 0) != module::kSystem) return;
    const auto item = Load<int32_t>(given, sizeof(int32_t));
    if (item == info::kMonotonicRaw) raw_[device].push_back({host_ns, Load<uint64_t>(answer.bytes, 0)});
    if (item == info::kSysCount) ticks_[device].push_back({host_ns, Load<uint64_t>(answer.bytes, 0)});
  }

  static RecordedClock ClockOf(const std::vector<ClockSeen>& raw, const std::vector<ClockSeen>& ticks) {
    RecordedClock clock;
    if (raw.empty() || ticks.empty()) return clock;
    constexpr double kLeast = 0.5, kMost = 2;
    clock.known = true;
    clock.device_ns = raw.front().value;
    clock.ticks = ticks.front().value;
    const auto slope = [](double rise, double run) { return run > 0 ? rise / run : 0; };
    const auto between = [](const std::vector<ClockSeen>& seen) {
      return static_cast<double>(static_cast<int64_t>(seen.back().value - seen.front().value));
    };
    const auto host_ns = static_cast<double>(raw.back().host_ns - raw.front().host_ns);
    const double rate = slope(between(raw), host_ns);
    clock.device_per_host = rate >= kLeast && rate <= kMost ? rate : 1;
    clock.ticks_per_ns = slope(between(ticks), between(raw));
    return clock;
  }

  Capture& capture_;
  const Members& members_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> begun_ns_;
  std::map<uint32_t, std::vector<ClockSeen>> raw_, ticks_;
};

}  // namespace

std::string Capture::KeyOf(std::string_view call, std::string_view given) {
  return std::string(call) + '\0' + std::string(given);
}

Capture ReadCapture(const std::string& path) {
  std::error_code unread;
  const uint64_t size = std::filesystem::file_size(path, unread);
  if (unread) throw std::runtime_error("cannot be read: " + unread.message());
  if (size > kMostBytes) throw std::runtime_error("is too large for a capture");
  std::ifstream stream(path, std::ios::binary);
  std::string file(size, '\0');
  if (!stream.read(file.data(), static_cast<std::streamsize>(size)))
    throw std::runtime_error("cannot be read");
  const Members members = ReadTar(file);
  const auto calls = members.find(kCalls);
  if (calls == members.end()) throw std::runtime_error(std::string("is no capture: it has no ") + kCalls);
  Capture capture;
  Reader reader(&capture, members);
  size_t number = 0;
  for (std::string_view rest = calls->second; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (++number > kMostCalls) throw std::runtime_error("has too many calls");
    try {
      reader.Take(rest.substr(0, end));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(std::string(kCalls) + ":" + std::to_string(number) + " " + error.what());
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  reader.End();
  if (capture.devices.empty()) throw std::runtime_error("has no calls of devices");
  return capture;
}

}  // namespace profd::sim
