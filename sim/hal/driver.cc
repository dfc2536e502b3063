#include "sim/hal/driver.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "sim/hal/channels/payload.h"
#include "sim/hal/variant.h"
#include "sim/scenario/producers/channel_ids.h"

namespace profd::sim {
namespace {

constexpr size_t kRingBytes = 4U << 20, kAicpuRingBytes = 8U << 20;
constexpr int kDrainTries = 1000;  // a stop waits that many milliseconds for the reader …
constexpr uint64_t kSilentNs =
    1'200'000'000;  // … which are longer on a busy machine; not for one that reads nothing
constexpr int kDefaultPollSeconds = 5;
constexpr uint32_t kProcessChannelsSince = 0x072316;  // API version
constexpr double kMegabyte = 1e6;
constexpr int kFirstProcess = 1100;

bool IsDeviceNumber(uint32_t device) { return device < kMaxDevices; }
bool IsChannelNumber(uint32_t channel) { return channel > 0 && channel < kMaxChannels; }

}  // namespace

Driver::Device::Device(const DeviceConfig& device, const Config& config, const HostCounter& counter)
    : id(device.id),
      config(device),
      load(config.scenario, config.seed, device.id, *device.chip),
      tasks(load),
      clock(config.clock_offset_ns, config.clock_drift_ppm, device.chip->counter_khz),
      env{.device = device.id,
          .chip = device.chip,
          .load = &load,
          .tasks = &tasks,
          .clock = &clock,
          .host_counter = &counter} {}

Driver& Driver::Get() {
  // Never destroyed: its thread and its callers may outlive any order of destruction.
  static Driver& driver = *new Driver(LoadConfig(std::getenv("PROFD_SIM_CONFIG")));
  return driver;
}

Driver::Driver(const Config& config)
    : config_(config),
      loaded_ns_(RawNs()),
      api_version_(config.api_version.value_or(kLibraryApiVersion)),
      faults_(config.faults, loaded_ns_),
      containers_(config.bindings, config.host_mounts),
      replay_(config.capture ? std::make_unique<Replay>(*config_.capture) : nullptr) {
  if (!config_.truth.empty() && !truth_.Open(config_.truth)) {
    std::fprintf(stderr, "ascend simulator: truth: cannot open '%s' (%s); continuing without devices\n",
                 config_.truth.c_str(), std::strerror(errno));
    return;
  }
  for (const DeviceConfig& device : config_.devices) {
    auto& made = devices_.emplace_back(std::make_unique<Device>(device, config_, host_counter_));
    for (uint32_t id = 0; id < kMaxChannels; ++id) {
      made->read_fails[id] = faults_.MayHit(Call::kRead, made->id, id);
    }
  }
  generator_ =
      std::make_unique<Generator>(faults_, truth_, [this](uint32_t device, uint32_t id, Channel& channel) {
        if (!channel.queued.exchange(true)) poll_queue_.Push({.device_id = device, .channel_id = id});
      });
}

Driver::Device* Driver::Find(uint32_t device) const {
  // Those of a capture may be any.
  if (device < devices_.size() && devices_[device]->id == device) return devices_[device].get();
  const auto found = std::ranges::find(devices_, device, [](const auto& one) { return one->id; });
  return found == devices_.end() ? nullptr : found->get();
}

bool Driver::LinkLost(uint32_t device) { return faults_.Happens(Accident::kDeviceLost, device, 0); }

bool Driver::Offers(uint32_t device, uint32_t channel) const {
  const Device* found = Find(device);
  if (found == nullptr || (replay_ && !replay_->Lists(device, channel))) return false;
  // What a process registers comes with the process here, too.
  if (replay_ && channel != channel::kAdprof) return true;
  if (channel == channel::kAdprof && api_version_ >= kProcessChannelsSince) {
    const std::lock_guard lock(found->process_mutex);
    if (found->process.OffersChannel(RawNs())) return true;
  }
  const std::vector<uint32_t>& ids = found->config.chip->channels;
  const bool late = std::binary_search(config_.late_channels.begin(), config_.late_channels.end(), channel);
  if (!late) return std::binary_search(ids.begin(), ids.end(), channel);
  if (channel::IsProcess(channel) && api_version_ < kProcessChannelsSince) return false;
  return static_cast<double>(RawNs() - loaded_ns_) / 1e9 >= config_.late_delay_s;
}

int Driver::GetChannels(uint32_t device, ChannelList* list) {
  if (!IsDeviceNumber(device) || list == nullptr) return code::kInvalidValue;
  Device* found = Find(device);
  if (found == nullptr) return code::kInner;
  const std::lock_guard one_at_a_time(found->list_mutex);
  if (const auto fault = faults_.Hit(Call::kGetChannels, device, 0, list, sizeof *list)) return *fault;
  if (const int opened = containers_.Open(device); opened != code::kOk) return opened;
  if (LinkLost(device)) return code::kInner;
  if (replay_) {
    const int answer = replay_->CodeOf("prof_drv_get_channels", device, "");
    if (answer != code::kOk) return answer;
  }
  uint32_t count = 0;
  for (uint32_t id = 1; id < kMaxChannels; ++id) {
    if (Offers(device, id)) list->channel[count++].id = id;
  }
  list->channel_num = count;
  return code::kOk;
}

int Driver::Start(uint32_t device, uint32_t id, const StartPara* para) {
  if (!IsDeviceNumber(device) || !IsChannelNumber(id) || para == nullptr ||
      (para->user_data == nullptr && para->user_data_size != 0)) {
    return code::kInvalidValue;
  }
  Device* found = Find(device);
  if (found == nullptr) return code::kNotSupported;
  Channel& channel = found->channels[id];
  if (const int busy = channel.BeginStart(); busy != code::kOk) return busy;
  int result = code::kNotSupported;
  if (Offers(device, id)) {
    if (para->user_data_size > kMaxUserData) {
      result = found->config.chip->ub_transport ? code::kInner : code::kMemoryOptFail;
    } else {
      std::string payload(static_cast<const char*>(para->user_data), para->user_data_size);
      result = StartOnDevice(*found, id, *para, std::move(payload));
    }
  }
  channel.EndStart(result == code::kOk);
  return result;
}

int Driver::StartOnDevice(Device& device, uint32_t id, const StartPara& para, std::string payload) {
  const Chip& chip = *device.config.chip;
  if (channel::IsProcess(id) && payload.size() > kMaxProcessUserData) return code::kMemoryOptFail;
  if (const auto fault = faults_.Hit(Call::kStart, device.id, id)) return *fault;
  if (const int opened = containers_.Open(device.id); opened != code::kOk) return opened;
  if (LinkLost(device.id)) return code::kInner;
  if (replay_) return ReplayOnDevice(device, id);
  if (!IsPeriodAccepted(chip, id, para.sample_period_ms)) {
    return id == channel::kModuleMem ? code::kInvalidValue : code::kInner;
  }
  if (!IsPayloadAccepted(chip, id, payload)) return code::kInner;

  Channel& channel = device.channels[id];
  if (!channel.MapRing(id == channel::kAicpu ? kAicpuRingBytes : kRingBytes)) return code::kMallocFail;
  StartRequest request{.channel = id,
                       .period_ms = para.sample_period_ms,
                       .payload = std::move(payload),
                       .start_ns = RawNs(),
                       .arguments = {}};
  truth_.WriteStart(device.id, id, request);
  if (id == channel::kAdprof) {
    const std::lock_guard lock(device.process_mutex);
    request.arguments = device.process_arguments;
  }
  std::unique_ptr<Producer> producer;
  if (const auto recorded = config_.replay.find(id); recorded != config_.replay.end()) {
    producer = MakeReplayProducer(device.env, request, recorded->second);
  } else {
    producer = MakeProducer(device.env, request);
  }
  if (config_.flood && producer) {
    channel.FillForFlood(*producer, config_.rate_mb_s * kMegabyte);
    producer.reset();
    SetFlooding(device, id, true);
  }
  started_.fetch_add(1);
  generator_->Add(device.id, id, channel, std::move(producer),
                  chip.ub_transport ? Channel::Write::kGuarded : Channel::Write::kUnguarded);
  return code::kOk;
}

int Driver::ReplayOnDevice(Device& device, uint32_t id) {
  Channel& channel = device.channels[id];
  if (!channel.MapRing(id == channel::kAicpu ? kAicpuRingBytes : kRingBytes)) return code::kMallocFail;
  std::unique_ptr<Producer> producer;
  if (const int answer = replay_->Start(device.id, id, RawNs(), &producer); answer != code::kOk)
    return answer;
  started_.fetch_add(1);
  generator_->Add(device.id, id, channel, std::move(producer), Channel::Write::kUnguarded);
  return code::kOk;
}

int Driver::OpenProcess(uint32_t device, std::vector<std::string> arguments, bool has_group, int* process) {
  Device* found = Find(device);
  if (found == nullptr) return code::kNoDevice;
  if (config_.process_ret != 0) return config_.process_ret;
  const std::lock_guard lock(found->process_mutex);
  if (found->process.Runs(RawNs())) return code::kRepeatedInit;
  std::string line = "{\"event\":\"process\",\"device\":" + std::to_string(device) + ",\"arguments\":[";
  for (size_t i = 0; i < arguments.size(); ++i) line += (i == 0 ? "\"" : ",\"") + arguments[i] + "\"";
  truth_.WriteLine(line + "]}");
  found->process_arguments = std::move(arguments);
  *process = kFirstProcess + static_cast<int>(device);
  found->process.Start(*process, RawNs(), has_group);
  return code::kOk;
}

bool Driver::ProcessRuns(uint32_t device, int process) const {
  const Device* found = Find(device);
  if (found == nullptr) return false;
  const std::lock_guard lock(found->process_mutex);
  return found->process.number() == process && found->process.Runs(RawNs());
}

int Driver::CloseProcess(uint32_t device, int process) {
  Device* found = Find(device);
  if (found == nullptr) return code::kNoDevice;
  const std::lock_guard lock(found->process_mutex);
  if (found->process.number() != process || !found->process.Runs(RawNs())) return code::kNoProcess;
  found->process.End();
  truth_.WriteLine("{\"event\":\"process_end\",\"device\":" + std::to_string(device) + "}");
  return code::kOk;
}

void Driver::NoteProcessGroup(uint32_t device) {
  Device* found = Find(device);
  if (found == nullptr) return;
  const std::lock_guard lock(found->process_mutex);
  found->process.NoteGroup(RawNs());
}

int Driver::PortTotals(uint32_t device, uint64_t (&totals)[kPortTotals]) {
  const Device* found = Find(device);
  if (found == nullptr) return code::kNoDevice;
  const double since_s = static_cast<double>(RawNs() - loaded_ns_) / 1e9 - config_.ports_from_s;
  if (config_.ports_ret != 0 && since_s >= 0 && (config_.ports_for_s == 0 || since_s < config_.ports_for_s) &&
      IsThere(config_.ports_while)) {
    return config_.ports_ret;
  }
  // Frames carry RoCE and NIC traffic; every thousandth packet meets congestion.
  constexpr uint64_t kPacket = 4096, kFrameBytes = 60;
  const uint64_t now = RawNs();
  const auto total = [&](Flow flow) { return found->load.Total(flow, now); };
  const uint64_t roce_tx = total(Flow::kRoceTx), roce_rx = total(Flow::kRoceRx);
  const uint64_t nic_tx = total(Flow::kNicTx), nic_rx = total(Flow::kNicRx);
  const uint64_t tx = roce_tx / kPacket, rx = roce_rx / kPacket;
  const uint64_t values[kPortTotals] = {rx / 5000,
                                        tx / 5000,
                                        roce_tx + nic_tx + tx * kFrameBytes,
                                        roce_rx + nic_rx + rx * kFrameBytes,
                                        0,
                                        rx / 90000 * kPacket,
                                        tx,
                                        rx,
                                        tx / 1000000,
                                        rx / 90000,
                                        rx / 1000,
                                        tx / 1000,
                                        tx / 200000,
                                        nic_tx,
                                        nic_rx};
  std::string line = "{\"event\":\"port\",\"device\":" + std::to_string(device) + ",\"totals\":[";
  for (size_t i = 0; i < kPortTotals; ++i) {
    totals[i] = values[i];
    line += (i == 0 ? "" : ",") + std::to_string(values[i]);
  }
  truth_.WriteLine(line + "]}");
  return code::kOk;
}

int Driver::Stop(uint32_t device, uint32_t id) {
  if (!IsDeviceNumber(device) || !IsChannelNumber(id)) return code::kInvalidValue;
  Device* found = Find(device);
  if (found == nullptr) return code::kStatusFail;
  Channel& channel = found->channels[id];
  if (const int state = channel.BeginStop(); state != code::kOk) return state;

  // While the device does not answer it goes on sampling; whatever it answers, the channel ends.
  int result = faults_.Hit(Call::kStop, device, id).value_or(code::kOk);
  if (const int recorded = replay_ ? replay_->Stop(device, id) : code::kOk; result == code::kOk)
    result = recorded;
  generator_->Remove(channel);
  if (config_.flood) {
    channel.EndFlood();
    SetFlooding(*found, id, false);
  }
  if (size_t waiting = channel.Waiting(); waiting != 0) {
    if (!channel.queued.exchange(true)) poll_queue_.Push({.device_id = device, .channel_id = id});
    uint64_t read_ns = RawNs();
    for (int i = 0; i < kDrainTries && waiting != 0 && RawNs() < read_ns + kSilentNs; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const size_t left = channel.Waiting();
      if (std::exchange(waiting, left) != left) read_ns = RawNs();
    }
  }
  truth_.WriteStop(device, id, channel.EndStop());
  if (started_.fetch_sub(1) == 1) poll_queue_.Wake();
  return result;
}

int Driver::Read(uint32_t device, uint32_t id, char* out, uint32_t size) {
  if (!IsDeviceNumber(device) || id >= kMaxChannels || out == nullptr) return code::kError;
  Device* found = Find(device);
  if (found == nullptr) return code::kStoppedAlready;
  if (found->read_fails[id]) {
    if (const auto fault = faults_.Hit(Call::kRead, device, id, out, size)) return *fault;
  }
  if (replay_) {
    if (const auto failed = replay_->ReadError(device, id, RawNs())) return *failed;
  }
  return found->channels[id].Read(out, size);
}

int Driver::Poll(PollInfo* out, int count, int timeout_s) {
  if (out == nullptr || count <= 0 || count > static_cast<int>(kMaxChannels)) return code::kError;
  if (started_.load() == 0) return code::kStoppedAlready;
  if (const auto fault = faults_.Hit(Call::kPoll, 0, 0)) return *fault;
  if (faults_.Happens(Accident::kPollSpurious, 0, 0)) return 0;
  const bool in_range = timeout_s > 0 && timeout_s <= kDefaultPollSeconds;
  const double seconds = (in_range ? timeout_s : kDefaultPollSeconds) + faults_.ClockStep();
  if (!poll_queue_.WaitFor(std::max(seconds, 0.0))) return 0;
  const int taken = poll_queue_.Take(out, count);
  for (int i = 0; i < taken; ++i) Find(out[i].device_id)->channels[out[i].channel_id].queued.store(false);
  return taken;
}

int Driver::Flush(uint32_t device, uint32_t id, uint32_t* waiting) {
  if (!IsDeviceNumber(device) || !IsChannelNumber(id) || waiting == nullptr) return code::kInvalidValue;
  Device* found = Find(device);
  if (found == nullptr) return code::kStoppedAlready;
  Channel& channel = found->channels[id];
  if (const int state = channel.BeginFlush(); state != code::kOk) return state;
  const std::vector<uint32_t>& flushable = found->config.chip->flushable;
  const bool on_host = id == channel::kModuleMem || channel::IsProcess(id);
  int result = faults_.Hit(Call::kFlush, device, id, waiting, sizeof *waiting).value_or(code::kOk);
  if (result == code::kOk && !on_host &&
      std::find(flushable.begin(), flushable.end(), id) == flushable.end()) {
    result = code::kNotSupported;
  }
  if (result == code::kOk) generator_->CatchUp(channel);
  const uint32_t bytes = channel.EndFlush();
  if (result == code::kOk) *waiting = bytes;
  return result;
}

void Driver::SetFlooding(Device& device, uint32_t id, bool on) {
  const std::lock_guard lock(device.flood_mutex);
  if (on) {
    device.flooding.push_back(id);
  } else {
    std::erase(device.flooding, id);
  }
  for (const uint32_t flooding : device.flooding) {
    device.channels[flooding].SetFloodRate(config_.rate_mb_s * kMegabyte /
                                           static_cast<double>(device.flooding.size()));
  }
}

}  // namespace profd::sim
