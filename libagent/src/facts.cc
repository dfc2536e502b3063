#include "libagent/src/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string_view>

#include "base/version.h"
#include "libagent/abi/lane.h"
#include "libagent/src/mspti/library.h"
#include "libagent/src/mspti/source.h"
#include "libagent/src/process.h"
#include "libagent/src/tables/clock.h"

namespace profd::agent {

namespace {

// Where a label may come from, best source first.
struct LabelSource {
  const char* key;
  const char* variable;
};
constexpr LabelSource kLabelSources[] = {
    {"rank", "RANK"},
    {"rank", "RANK_ID"},
    {"rank", "OMPI_COMM_WORLD_RANK"},
    {"rank", "PMIX_RANK"},
    {"rank", "PMI_RANK"},
    {"rank", "SLURM_PROCID"},
    {"local_rank", "LOCAL_RANK"},
    {"local_rank", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"local_rank", "MPI_LOCALRANKID"},
    {"local_rank", "SLURM_LOCALID"},
    {"world_size", "WORLD_SIZE"},
    {"world_size", "RANK_SIZE"},
    {"world_size", "OMPI_COMM_WORLD_SIZE"},
    {"world_size", "PMI_SIZE"},
    {"world_size", "SLURM_NTASKS"},
    {"job_id", "SLURM_JOB_ID"},
    {"job_id", "TORCHELASTIC_RUN_ID"},
    {"job_id", "PBS_JOBID"},
    {"job_id", "LSB_JOBID"},
    {"node", "SLURMD_NODENAME"},
    {"node", "NODE_NAME"},
    {"pod", "POD_NAME"},
    {"namespace", "POD_NAMESPACE"},
};
// profctl run --label: NAME=value[,NAME=value…]
constexpr char kOwnLabels[] = "PROFD_LABELS";

constexpr size_t kMaxEnvironment = 1U << 20;

// The file's bytes and a terminating zero, to be freed; nullptr when it can't be read.
char* ReadWhole(const char* path, size_t limit, size_t* bytes) {
  *bytes = 0;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  size_t room = 4096;
  auto* text = static_cast<char*>(malloc(room));
  while (text != nullptr) {
    const ssize_t got = ::read(fd, text + *bytes, room - 1 - *bytes);
    if (got <= 0) break;
    *bytes += static_cast<size_t>(got);
    if (*bytes < room - 1) continue;
    if (room >= limit) break;
    room *= 2;
    auto* larger = static_cast<char*>(realloc(text, room));
    if (larger == nullptr) break;
    text = larger;
  }
  ::close(fd);
  if (text != nullptr) text[*bytes] = '\0';
  return text;
}

// Length of the UTF-8 character at `text`, 0 if it is none.
size_t CharacterBytes(const unsigned char* text, size_t left) {
  const unsigned char first = text[0];
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || size > left) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((first == 0xE0 && text[1] < 0xA0) || (first == 0xED && text[1] > 0x9F) ||
      (first == 0xF0 && text[1] < 0x90) || (first == 0xF4 && text[1] > 0x8F)) {
    return 0;
  }
  return size;
}

void AddLabel(profd_v1_AgentHello* hello, std::string_view key, std::string_view value,
              std::string_view source) {
  constexpr size_t kMaxLabels = sizeof(hello->labels) / sizeof(hello->labels[0]);
  for (size_t i = 0; i < hello->labels_count; ++i) {
    if (key == hello->labels[i].key) return;
  }
  if (hello->labels_count == kMaxLabels || key.empty()) return;
  profd_v1_AgentLabel& label = hello->labels[hello->labels_count++];
  CopyText(label.key, sizeof(label.key), key.data(), key.size());
  CopyText(label.value, sizeof(label.value), value.data(), value.size());
  CopyText(label.source, sizeof(label.source), source.data(), source.size());
}

// Value of a variable in the block; false: not there.
bool Find(const char* environment, size_t bytes, std::string_view name, std::string_view* value) {
  const char* end = environment + bytes;
  for (const char* at = environment; at < end; at += ::strnlen(at, static_cast<size_t>(end - at)) + 1) {
    const std::string_view entry(at, ::strnlen(at, static_cast<size_t>(end - at)));
    if (entry.size() > name.size() && entry[name.size()] == '=' &&
        memcmp(at, name.data(), name.size()) == 0) {
      *value = std::string_view(at + name.size() + 1, entry.size() - name.size() - 1);
      return true;
    }
  }
  return false;
}

void ReadCommandLine(profd_v1_AgentHello* hello) {
  constexpr size_t kMaxArguments = sizeof(hello->command_line) / sizeof(hello->command_line[0]);
  size_t bytes = 0;
  char* text = ReadWhole("/proc/self/cmdline", 64U << 10, &bytes);
  if (text == nullptr) return;
  for (const char* at = text; at < text + bytes && hello->command_line_count < kMaxArguments;
       at += strlen(at) + 1) {
    char* field = hello->command_line[hello->command_line_count++];
    CopyText(field, sizeof(hello->command_line[0]), at, strlen(at));
  }
  free(text);
}

uint64_t StartTime() {
  size_t bytes = 0;
  char* text = ReadWhole("/proc/self/stat", 4096, &bytes);
  uint64_t start = 0;
  // The name in field 2 may contain anything; fields are counted from its closing bracket.
  const char* at = text == nullptr ? nullptr : strrchr(text, ')');
  constexpr int kFieldsToStart = 20;
  for (int field = 0; at != nullptr && field < kFieldsToStart; ++field) at = strchr(at + 1, ' ');
  if (at != nullptr) start = strtoull(at, nullptr, 10);
  free(text);
  return start;
}

template <typename Message>
void ReadDevices(Message* message) {
  constexpr size_t kMaxDevices = sizeof(message->devices) / sizeof(message->devices[0]);
  constexpr std::string_view kDevice = "/dev/davinci";
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    char target[64];
    const ssize_t got = ::readlinkat(::dirfd(folder), entry->d_name, target, sizeof(target) - 1);
    if (got <= static_cast<ssize_t>(kDevice.size()) || memcmp(target, kDevice.data(), kDevice.size()) != 0)
      continue;
    target[got] = '\0';
    char* rest = nullptr;
    const unsigned long number = strtoul(target + kDevice.size(), &rest, 10);
    if (rest == target + kDevice.size() || *rest != '\0') continue;  // davinci_manager
    bool known = false;
    for (size_t i = 0; i < message->devices_count; ++i) known = known || message->devices[i] == number;
    if (!known && message->devices_count < kMaxDevices) {
      message->devices[message->devices_count++] = static_cast<uint32_t>(number);
    }
  }
  ::closedir(folder);
}

template <typename Message>
profd_v1_AgentCapability* AddCapability(Message* message, const char* kind) {
  profd_v1_AgentCapability* capability = &message->capabilities[message->capabilities_count++];
  CopyText(capability->kind, sizeof(capability->kind), kind, strlen(kind));
  return capability;
}

template <typename Message>
void ReadCapabilities(Message* message) {
  const bool slow = PickCounter() == abi::kCounterRawClock;
  constexpr char kSlow[] = "this machine has no usable cycle counter: each stamp costs a clock_gettime";
  for (const char* kind : {"agent-range", "agent-mark", "agent-counter", "agent-step"}) {
    profd_v1_AgentCapability* capability = AddCapability(message, kind);
    capability->available = true;
    if (slow) CopyText(capability->reason, sizeof(capability->reason), kSlow, strlen(kSlow));
  }
  constexpr char kMemory[] = "agent-memory";
  const mspti::Outlook usual = mspti::OutlookFor(false);
  const mspti::Outlook of_memory = mspti::OutlookFor(true);
  for (const char* kind : {"agent-kernel", "agent-comm", "agent-api", kMemory}) {
    profd_v1_AgentCapability* capability = AddCapability(message, kind);
    const mspti::Outlook& outlook = kind == kMemory ? of_memory : usual;
    capability->available = outlook.available;
    capability->later = outlook.later;
    CopyText(capability->reason, sizeof(capability->reason), outlook.why, strlen(outlook.why));
  }
  // No kind: where it stands for them, profd knows.
  profd_v1_AgentCapability* capability = AddCapability(message, "reports");
  const char* const ended = mspti::WhyHasEnded();
  const mspti::Outlook outlook =
      ended != nullptr ? mspti::Outlook{false, false, ended} : mspti::OutlookForReports();
  capability->available = outlook.available;
  capability->later = outlook.later;
  CopyText(capability->reason, sizeof(capability->reason), outlook.why, strlen(outlook.why));
}

}  // namespace

bool EnvironmentValue(const char* name, char* value, size_t value_bytes) {
  size_t bytes = 0;
  char* environment = ReadWhole("/proc/self/environ", kMaxEnvironment, &bytes);
  std::string_view found;
  const bool fits =
      environment != nullptr && Find(environment, bytes, name, &found) && found.size() < value_bytes;
  if (fits) {
    memcpy(value, found.data(), found.size());
    value[found.size()] = '\0';
  }
  free(environment);
  return fits;
}

void CopyText(char* field, size_t field_bytes, const char* text, size_t text_bytes) {
  size_t used = 0;
  for (size_t at = 0; at < text_bytes && text[at] != '\0';) {
    const size_t size = CharacterBytes(reinterpret_cast<const unsigned char*>(text) + at, text_bytes - at);
    const size_t stored = size == 0 ? 1 : size;
    if (used + stored >= field_bytes) break;
    if (size == 0) {
      field[used] = '?';
    } else {
      memcpy(field + used, text + at, size);
    }
    used += stored;
    at += stored;
  }
  field[used] = '\0';
}

void ReadLabels(const char* environment, size_t bytes, profd_v1_AgentHello* hello) {
  std::string_view value;
  // What the user said first.
  if (Find(environment, bytes, kOwnLabels, &value)) {
    while (!value.empty()) {
      const void* comma = memchr(value.data(), ',', value.size());
      const size_t item_bytes = comma == nullptr
                                    ? value.size()
                                    : static_cast<size_t>(static_cast<const char*>(comma) - value.data());
      const std::string_view item(value.data(), item_bytes);
      const void* equals = memchr(item.data(), '=', item.size());
      if (equals != nullptr) {
        const auto key_bytes = static_cast<size_t>(static_cast<const char*>(equals) - item.data());
        AddLabel(hello, std::string_view(item.data(), key_bytes),
                 std::string_view(item.data() + key_bytes + 1, item.size() - key_bytes - 1), kOwnLabels);
      }
      value.remove_prefix(comma == nullptr ? item_bytes : item_bytes + 1);
    }
  }
  for (const LabelSource& source : kLabelSources) {
    if (Find(environment, bytes, source.variable, &value))
      AddLabel(hello, source.key, value, source.variable);
  }
  // In Kubernetes the host name is the pod's.
  std::string_view unused;
  if (Find(environment, bytes, "KUBERNETES_SERVICE_HOST", &unused) &&
      Find(environment, bytes, "HOSTNAME", &value)) {
    AddLabel(hello, "pod", value, "HOSTNAME");
  }
}

void DescribeProcess(profd_v1_AgentHello* hello) {
  hello->protocol = base::kProtocolVersion;
  CopyText(hello->agent_version, sizeof(hello->agent_version), base::kVersion, strlen(base::kVersion));
  hello->pid = static_cast<uint32_t>(::getpid());
  hello->parent_pid = static_cast<uint32_t>(::getppid());
  hello->forked = IsForkedChild();
  hello->start_time_ticks = StartTime();
  hello->uid = ::getuid();
  char target[1024];
  const ssize_t got = ::readlink("/proc/self/exe", target, sizeof(target));
  if (got > 0) CopyText(hello->executable, sizeof(hello->executable), target, static_cast<size_t>(got));
  ReadCommandLine(hello);
  size_t bytes = 0;
  if (char* environment = ReadWhole("/proc/self/environ", kMaxEnvironment, &bytes)) {
    ReadLabels(environment, bytes, hello);
    free(environment);
  }
  ReadDevices(hello);
  ReadCapabilities(hello);
}

void DescribeCapabilities(profd_v1_AgentCapabilities* capabilities) {
  ReadDevices(capabilities);
  ReadCapabilities(capabilities);
}

}  // namespace profd::agent
