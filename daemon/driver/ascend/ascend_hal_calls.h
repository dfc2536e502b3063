// The functions of the vendor's libascend_hal.so: the one place where they are called. What the library lacks
// answers as the vendor's own collector has it, -1 of channels and "not supported" of the rest. While there
// is a tape it gets every call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/driver/driver.h"
#include "daemon/driver/tape.h"

namespace profd::driver {

// The library's structures, LP64.
struct ProfStartPara {
  int32_t channel_type;
  uint32_t sample_period;
  uint32_t real_time;
  void* user_data;
  uint32_t user_data_size;
};
static_assert(sizeof(ProfStartPara) == 32);

struct ChannelEntry {
  char name[32];  // the library leaves name and type untouched
  uint32_t type;
  uint32_t id;
};
static_assert(sizeof(ChannelEntry) == 40);

struct ChannelTable {
  uint32_t chip_type;
  uint32_t count;
  ChannelEntry channel[kMaxChannels];
};
static_assert(sizeof(ChannelTable) == 6408);

struct ChipTexts {
  char type[32];
  char name[32];
  char version[32];
};
static_assert(sizeof(ChipTexts) == 96);

// **Thread:** any.
class HalCalls {
 public:
  explicit HalCalls(void* library);

  void* library() const { return library_; }
  // Names of wanted symbols that it lacks.
  const std::vector<std::string>& missing() const { return missing_; }
  bool IsDriverLibrary() const;
  // From now on; nullptr: none.
  void SetTape(std::shared_ptr<Tape> tape);

  int GetChannels(uint32_t device, ChannelTable* table) const;
  int Start(uint32_t device, uint32_t channel, ProfStartPara* para) const;
  int Stop(uint32_t device, uint32_t channel) const;
  int Read(uint32_t device, uint32_t channel, std::byte* out, uint32_t bytes) const;
  int Flush(uint32_t device, uint32_t channel, uint32_t* waiting) const;

  int DeviceCount(uint32_t* count) const;
  int DeviceIds(uint32_t* ids, uint32_t count) const;
  int DeviceStatus(uint32_t device, int* status) const;
  int ApiVersion(int* version) const;
  int PhysicalId(uint32_t device, uint32_t* id) const;
  int Info(uint32_t device, int32_t module, int32_t info, int64_t* value) const;
  // `buffer` of `bytes`, which is also a question.
  int InfoByBuffer(uint32_t device, int32_t module, int32_t info, void* buffer, int32_t bytes) const;
  int PairInfo(uint32_t device, uint32_t other, int32_t info, int64_t* value) const;
  int ChipInfo(uint32_t device, ChipTexts* texts) const;
  int SplitMode(uint32_t device, uint32_t* mode) const;

  // Statuses are good without it.
  bool has_status() const { return device_status_ != nullptr; }

 private:
  struct What {
    const char* call;
    uint32_t device = kOfNoDevice;
    uint32_t channel = 0;
  };
  template <typename Call>
  int Taped(const What& what, const std::vector<std::byte>& given, const void* answer, size_t bytes,
            Call call) const;
  std::shared_ptr<Tape> TapeFor(uint32_t device) const;
  template <typename Function>
  void Find(Function*& target, const char* name);
  template <typename Function>
  void Bind(Function*& target, const char* name);

  void* const library_;
  std::vector<std::string> missing_;
  std::atomic<bool> has_tape_{false};  // so that a call without one takes no lock
  mutable std::mutex tape_mutex_;
  std::shared_ptr<Tape> tape_;

  int (*get_channels_)(unsigned, ChannelTable*) = nullptr;
  int (*start_)(unsigned, unsigned, ProfStartPara*) = nullptr;
  int (*stop_)(unsigned, unsigned) = nullptr;
  int (*read_)(unsigned, unsigned, char*, unsigned) = nullptr;
  int (*poll_)(void*, int, int) = nullptr;  // never called: channels are read by the clock
  int (*flush_)(unsigned, unsigned, unsigned*) = nullptr;

  int (*device_count_)(uint32_t*) = nullptr;
  int (*device_ids_)(uint32_t*, uint32_t) = nullptr;
  int (*device_status_)(uint32_t, int*) = nullptr;
  int (*api_version_)(int*) = nullptr;
  int (*physical_id_)(uint32_t, uint32_t*) = nullptr;
  int (*device_info_)(uint32_t, int32_t, int32_t, int64_t*) = nullptr;
  int (*device_info_by_buffer_)(uint32_t, int32_t, int32_t, void*, int32_t*) = nullptr;
  int (*pair_info_)(uint32_t, uint32_t, int32_t, int64_t*) = nullptr;
  int (*chip_info_)(unsigned, ChipTexts*) = nullptr;
  int (*split_mode_)(unsigned, unsigned*) = nullptr;
};

}  // namespace profd::driver
