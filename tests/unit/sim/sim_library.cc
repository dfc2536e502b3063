#include "tests/unit/sim/sim_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "sim/scenario/producers/channel_ids.h"

namespace profd::sim {
namespace {

std::string MakeFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sim_test.XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

}  // namespace

SimLibrary::SimLibrary(std::string yaml, const char* variant) : folder_(MakeFolder()) {
  for (size_t at; (at = yaml.find("$DIR")) != std::string::npos;) yaml.replace(at, 4, folder_);
  const std::string config = folder_ + "/sim.yaml";
  std::ofstream(config) << yaml;
  ::setenv("PROFD_SIM_CONFIG", config.c_str(), 1);
  // Loaded under a name of its own, the library starts from nothing in every test.
  const std::string library = folder_ + "/libascend_hal.so";
  std::filesystem::copy_file(std::string(PROFD_BUILD_DIR) + "/sim" + variant + "/libascend_hal.so", library);
  handle_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle_, nullptr) << ::dlerror();
  uint32_t count = 0;  // the first call reads the configuration
  if (auto* first = Call<int(uint32_t*)>("drvGetDevNum")) first(&count);
}

SimLibrary::~SimLibrary() { std::filesystem::remove_all(folder_); }

void* SimLibrary::Symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

int SimLibrary::Start(uint32_t device, uint32_t channel, uint32_t period_ms, std::string_view payload) const {
  StartPara para{.channel_type = 1,
                 .sample_period_ms = period_ms,
                 .real_time = 1,
                 .user_data = payload.empty() ? nullptr : payload.data(),
                 .user_data_size = static_cast<uint32_t>(payload.size())};
  return Call<int(unsigned, unsigned, StartPara*)>("prof_drv_start")(device, channel, &para);
}

int SimLibrary::Stop(uint32_t device, uint32_t channel) const {
  return Call<int(unsigned, unsigned)>("prof_stop")(device, channel);
}

int SimLibrary::Read(uint32_t device, uint32_t channel, char* out, uint32_t size) const {
  return Call<int(unsigned, unsigned, char*, unsigned)>("prof_channel_read")(device, channel, out, size);
}

int SimLibrary::Poll(std::vector<PollInfo>& out, int most, int timeout_s) const {
  out.assign(static_cast<size_t>(most), {});
  const int count = Call<int(PollInfo*, int, int)>("prof_channel_poll")(out.data(), most, timeout_s);
  out.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return count;
}

int SimLibrary::Flush(uint32_t device, uint32_t channel, uint32_t* waiting) const {
  return Call<int(unsigned, unsigned, unsigned*)>("halProfDataFlush")(device, channel, waiting);
}

int SimLibrary::GetChannels(uint32_t device, ChannelList* list) const {
  return Call<int(unsigned, ChannelList*)>("prof_drv_get_channels")(device, list);
}

std::vector<uint32_t> SimLibrary::Channels(uint32_t device) const {
  ChannelList list{};
  EXPECT_EQ(GetChannels(device, &list), 0);
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < list.channel_num; ++i) ids.push_back(list.channel[i].id);
  return ids;
}

int SimLibrary::Info(uint32_t device, int module, int item, int64_t* value) const {
  return Call<int(uint32_t, int32_t, int32_t, int64_t*)>("halGetDeviceInfo")(device, module, item, value);
}

std::string SimLibrary::Drain(uint32_t device, uint32_t channel, uint32_t piece) const {
  std::string all;
  std::string buffer(piece, '\0');
  for (int n; (n = Read(device, channel, buffer.data(), piece)) > 0;)
    all.append(buffer, 0, static_cast<size_t>(n));
  return all;
}

std::string SimLibrary::ReadAtLeast(uint32_t device, uint32_t channel, size_t bytes, uint32_t piece) const {
  std::string all;
  while (all.size() < bytes) {
    all += Drain(device, channel, piece);
    SleepMs(2);
  }
  return all;
}

std::string SimLibrary::StopDraining(uint32_t device, uint32_t channel, int* result) const {
  std::atomic<bool> stopped{false};
  std::string all;
  std::thread reader([&] {
    while (!stopped.load()) {
      all += Drain(device, channel);
      SleepMs(1);
    }
  });
  const int code = Stop(device, channel);
  stopped.store(true);
  reader.join();
  if (result != nullptr) {
    *result = code;
  } else {
    EXPECT_EQ(code, 0);
  }
  return all;
}

std::vector<nlohmann::json> SimLibrary::Truth() const {
  std::vector<nlohmann::json> lines;
  std::ifstream file(folder_ + "/truth");
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<nlohmann::json> SimLibrary::Samples(uint32_t device, uint32_t channel) const {
  std::vector<nlohmann::json> samples;
  for (const auto& line : Truth()) {
    if (!line.contains("event") && line["device"] == device && line["channel"] == channel)
      samples.push_back(line);
  }
  return samples;
}

nlohmann::json SimLibrary::Event(std::string_view event, uint32_t device, uint32_t channel) const {
  nlohmann::json last;
  for (const auto& line : Truth()) {
    if (line.value("event", "") == event && line["device"] == device && line["channel"] == channel)
      last = line;
  }
  EXPECT_FALSE(last.is_null()) << "no " << event << " of channel " << channel;
  return last;
}

std::string Words(std::initializer_list<uint32_t> words) {
  return {reinterpret_cast<const char*>(words.begin()), words.size() * sizeof(uint32_t)};
}

std::string HbmPayload(uint32_t period_ms) { return Words({period_ms, 0xFFFFFFFF, 2, 0, 1}); }

std::string CorePayload(uint32_t period_ms) {
  const std::string events = Words({0x0009'0008, 0x000b'000a, 0x000d'000c, 0x0055'0054});
  const std::string block = Words({10, period_ms, 0xFFFFFFFF, 8}) + events;
  return Words({3}) + block + block + Words({0});
}

std::string AnyPayload(uint32_t id) {
  if (channel::IsBiu(id)) return Words({1000, 0});
  switch (id) {
    case channel::kHbm:
    case channel::kDdr:
      return HbmPayload();
    case channel::kLlc:
      return Words({10, 1});
    case channel::kLowPower:
      return Words({100, 1});
    case channel::kNpuAppMem:
      return Words({10, 0, 0, 0});
    case channel::kNpuMem:
      return Words({10, 0, 1, 0});
    case channel::kModuleMem:
      return Words({10, 1, 0, 0});
    case channel::kQos:
      return Words({10, 3, 0x00030201, 0, 0, 0, 0});
    case channel::kTscpu:
      return Words({10, 2, 0x8, 0x11});
    case channel::kAicore:
    case channel::kAiv:
      return Words({1, 26214, 10, 0xFFFFFFFF, 2, 0x8, 0xa, 0, 0, 0, 0, 0, 0, 0});
    case channel::kTsfw:
      return Words({10, 1, 1, 1, 1, 1, 1, 0x82000001, 1});
    case channel::kHwts:
    case channel::kKeyPoint:
      return Words({0});
    case channel::kL2:
      return Words({2, 0x78, 0x79});
    case channel::kStarsLog:
      return Words({1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0});
    case channel::kStarsProfile:
      return Words({1, 20, 1, 20, 1, 20, 1, 20, 0, 0, 0, 0, 0, 0});
    case channel::kFftsTask:
    case channel::kFftsSample:
      return CorePayload(10);
    case channel::kSocPmu:
      return Words({28U << 16, 20U << 16 | 1, 2, 0x0002'0001, 0, 0, 0});
    default:
      return {};
  }
}

// The simulator works by the clock.
void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace profd::sim
