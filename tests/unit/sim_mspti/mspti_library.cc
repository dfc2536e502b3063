#include "tests/unit/sim_mspti/mspti_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace profd::sim::mspti {
namespace {

std::mutex g_mutex;
std::vector<Delivered> g_buffers;

}  // namespace

std::atomic<size_t> MsptiLibrary::buffer_bytes;
std::function<void(uint8_t*, size_t)> MsptiLibrary::on_complete;
std::atomic<int> MsptiLibrary::requests, MsptiLibrary::refused_completes;

MsptiLibrary::MsptiLibrary(std::string yaml, Options options) {
  buffer_bytes = 4U << 20;
  on_complete = nullptr;
  requests = refused_completes = 0;
  {
    const std::lock_guard lock(g_mutex);
    g_buffers.clear();
  }
  folder_ = (std::filesystem::temp_directory_path() / "sim_mspti_test.XXXXXX").string();
  EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  for (size_t at; (at = yaml.find("$DIR")) != std::string::npos;) yaml.replace(at, 4, folder_);
  const std::string config = folder_ + "/sim.yaml";
  std::ofstream(config) << yaml;
  ::setenv("PROFD_SIM_CONFIG", config.c_str(), 1);
  ::setenv("ASCEND_HOME_PATH", folder_.c_str(), 1);
  if (options.preloaded) {
    ::setenv("LD_PRELOAD", "/opt/libmspti.so", 1);
  } else {
    ::unsetenv("LD_PRELOAD");
  }
  // Loaded under names of their own, the libraries start from nothing in every test.
  const std::string libraries = folder_ + "/lib64/";
  std::filesystem::create_directory(libraries);
  const std::string sim = std::string(PROFD_BUILD_DIR) + "/sim/";
  if (options.with_profapi) {
    std::filesystem::copy_file(sim + "libprofapi.so", libraries + "libprofapi.so");
    profapi_ = ::dlopen((libraries + "libprofapi.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(profapi_, nullptr) << ::dlerror();
  }
  std::filesystem::copy_file(sim + (options.old ? "old/" : "") + "libmspti.so", libraries + "libmspti.so");
  mspti_ = ::dlopen((libraries + "libmspti.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(mspti_, nullptr) << ::dlerror();
}

MsptiLibrary::~MsptiLibrary() {
  Unsubscribe();
  FlushAll();
  std::filesystem::remove_all(folder_);
}

void* MsptiLibrary::Symbol(const char* name) const { return ::dlsym(mspti_, name); }
void* MsptiLibrary::ProfapiSymbol(const char* name) const { return ::dlsym(profapi_, name); }

int MsptiLibrary::Subscribe(CallbackFn function, void* user) {
  return Call<int(Subscriber*, CallbackFn, void*)>("msptiSubscribe")(&subscriber_, function, user);
}

void MsptiLibrary::Begin(std::initializer_list<uint32_t> kinds) {
  EXPECT_EQ(Subscribe(), kSuccess);
  EXPECT_EQ(Call<int(RequestFn, CompleteFn)>("msptiActivityRegisterCallbacks")(Request, Complete), kSuccess);
  for (const uint32_t kind : kinds) EXPECT_EQ(Enable(kind), kSuccess) << kind;
}

void MsptiLibrary::End(std::initializer_list<uint32_t> kinds) {
  for (const uint32_t kind : kinds) EXPECT_EQ(Disable(kind), kSuccess) << kind;
  FlushAll();
  EXPECT_EQ(Unsubscribe(), kSuccess);
  FlushAll();
}

nlohmann::json MsptiLibrary::Truth() const {
  nlohmann::json latest = {{"kinds", nlohmann::json::object()}};
  std::ifstream file(folder_ + "/truth");
  for (std::string line; std::getline(file, line);) latest = nlohmann::json::parse(line);
  return latest["kinds"];
}

void MsptiLibrary::Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  ++requests;
  *max_records = 0;
  *size = buffer_bytes;
  *buffer = *size == 0 ? nullptr : static_cast<uint8_t*>(std::malloc(*size));
}

void MsptiLibrary::Complete(uint8_t* buffer, size_t size, size_t valid) {
  if (buffer == nullptr) {
    ++refused_completes;
    return;
  }
  if (on_complete) on_complete(buffer, valid);
  const std::lock_guard lock(g_mutex);
  g_buffers.push_back({std::string(reinterpret_cast<char*>(buffer), valid), size, ::syscall(SYS_gettid)});
  std::free(buffer);
}

std::vector<Delivered> MsptiLibrary::Buffers() {
  const std::lock_guard lock(g_mutex);
  return g_buffers;
}

uint32_t BytesOf(uint32_t kind) {
  constexpr uint32_t kBytes[] = {0, 56, 56, 48, 56, 64, 56, 56, 24, 72, 48, 48, 48};
  return kind < std::size(kBytes) ? kBytes[kind] : 0;
}

std::map<uint32_t, uint64_t> CountByKind(const std::vector<Delivered>& buffers) {
  std::map<uint32_t, uint64_t> counts;
  for (uint32_t kind = 1; kind < kKinds; ++kind) {
    struct Any {
      uint32_t kind;
    };
    if (const size_t count = RecordsOf<Any>(buffers, kind).size(); count != 0) counts[kind] = count;
  }
  return counts;
}

int RunAlone(const char* test) {
  const std::string filter = "--gtest_filter=*.DISABLED_" + std::string(test);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "sim_mspti_test", "--gtest_also_run_disabled_tests", filter.c_str(), nullptr);
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// The simulated job works by the clock.
void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void Until(const std::function<bool()>& ask) {
  while (!ask()) SleepMs(5);
}

}  // namespace profd::sim::mspti
