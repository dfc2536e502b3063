#include "client/analyze/reading/host_stacks.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "format/decode/host/cpu_profile.h"

namespace profd::analyze {
namespace {

using client::ProfileFrame;

bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [text](std::string_view part) { return text.find(part) != text.npos; });
}

bool IsPython(const ProfileFrame& frame, const format::Texts& texts) {
  return !frame.kernel && texts.Get(frame.module).ends_with(".py");
}

// Modules of Python's library that programs wait in: their names say nothing of what for.
bool IsLibrary(std::string_view python_file) {
  constexpr std::array<std::string_view, 17> kFiles = {
      "threading.py",  "queue.py",       "queues.py",      "selectors.py",  "socket.py",   "ssl.py",
      "connection.py", "subprocess.py",  "synchronize.py", "popen_fork.py", "process.py",  "thread.py",
      "_base.py",      "base_events.py", "pool.py",        "heap.py",       "reduction.py"};
  return std::ranges::find(kFiles, python_file) != kFiles.end();
}

// Of the system and of interpreters: who is in there was called by somebody that can be named.
bool IsSystem(std::string_view module) {
  return module.empty() || module.starts_with('[') ||
         HasAny(module, {"libc.so", "libc-2", "ld-linux", "ld-2", "libpthread", "libstdc++", "libpython"}) ||
         module.starts_with("python");
}

// Of CANN and of frameworks: what a program calls to launch and to wait, and not what it does itself.
bool IsVendors(std::string_view module) {
  return module.find(".so") != module.npos &&
         HasAny(module, {"libascend", "libruntime", "libacl", "libge_", "libgraph", "libhccl", "libhcom",
                         "libopapi", "libnnopbase", "libmsprof", "libmspti", "libtsdclient", "libtorch",
                         "libc10", "libmindspore", "libprofd_agent"});
}

}  // namespace

ProgramPlace ProgramFunction(std::span<const ProfileFrame> frames, const format::Texts& texts) {
  const ProfileFrame *python = nullptr, *package = nullptr, *library = nullptr, *native = nullptr,
                     *vendors = nullptr, *any = nullptr;
  const auto first = [](const ProfileFrame*& place, const ProfileFrame& frame) {
    if (place == nullptr) place = &frame;
  };
  for (const ProfileFrame& frame : frames) {
    if (frame.kernel || frame.function == 0) continue;
    const std::string_view module = texts.Get(frame.module);
    first(any, frame);
    if (IsPython(frame, texts)) {
      if (!IsLibrary(module) && !frame.installed && python == nullptr && package != nullptr)
        return {frame.place, package->place, true};
      first(IsLibrary(module) ? library : frame.installed ? package : python, frame);
    } else if (!IsSystem(module)) {
      first(IsVendors(module) ? vendors : native, frame);
    }
  }
  for (const ProfileFrame* best : {python, package, library, native}) {
    if (best != nullptr) return {best->place, 0, true};
  }
  for (const ProfileFrame* best : {vendors, any}) {
    if (best != nullptr) return {best->place, 0, false};
  }
  return {};
}

bool IsAgents(std::span<const ProfileFrame> frames, const format::Texts& texts) {
  bool is_agents = false;
  for (const ProfileFrame& frame : frames) {
    const std::string_view module = texts.Get(frame.module);
    if (frame.kernel || IsSystem(module)) continue;
    if (!module.starts_with("libprofd_agent.so")) return false;
    is_agents = true;
  }
  return is_agents;
}

HostPlace PlaceOf(std::span<const ProfileFrame> frames, const format::Texts& texts) {
  bool faults = false, reads = false, locks = false, sleeps = false, network = false, selects = false;
  if (!frames.empty() && frames.front().kernel && texts.Get(frames.front().function) == format::kWaitsForCpu)
    return HostPlace::kOther;  // whatever it was doing, it was not that that it waited for
  std::string_view python;     // file of the innermost of its functions
  for (const ProfileFrame& frame : frames) {
    const std::string_view name = texts.Get(frame.function);
    // CPython's collector; its name is the same from 3.8 on.
    if (!frame.kernel && name.find("gc_collect") != name.npos) return HostPlace::kGarbage;
    if (IsPython(frame, texts) &&
        (texts.Get(frame.module) == "dataloader.py" || name.find("DataLoader") != name.npos))
      return HostPlace::kLoader;
    if (frame.kernel) {
      if (HasAny(name, {"do_signal_stop", "ptrace_stop", "do_freezer_trap", "__refrigerator"}))
        return HostPlace::kStopped;
      faults = faults || HasAny(name, {"page_fault", "do_user_addr_fault", "handle_mm_fault"});
      reads = reads || HasAny(name, {"io_schedule", "folio_wait", "wait_on_page", "filemap_", "blk_", "ext4_",
                                     "xfs_", "btrfs_", "nfs_", "fuse_", "jbd2_", "fsync"});
      network = network || HasAny(name, {"tcp_", "inet_", "unix_stream", "skb_", "sock_"});
    }
    locks = locks || HasAny(name, {"futex", "pthread_mutex", "pthread_cond", "sem_wait", "sem_timedwait"});
    sleeps = sleeps || HasAny(name, {"nanosleep"});
    selects = selects || name == "select" || name == "__select" || name == "do_select" || name == "pselect64";
    if (python.empty() && IsPython(frame, texts)) python = texts.Get(frame.module);
    if (!frame.kernel) {
      reads = reads || HasAny(name, {"pread64", "fsync", "fdatasync", "pwrite64"});
      network = network || name == "recv" || name == "__libc_recv" || name == "accept";
    }
  }
  if (faults && reads) return HostPlace::kFault;
  if (network) return HostPlace::kNetwork;
  if (reads) return HostPlace::kDisk;
  if (locks) return HostPlace::kLock;
  // time.sleep() of Python 3.8 to 3.10 waits in select(). Who waits for files does so from a module of the
  // library.
  if (selects && !python.empty() && !IsLibrary(python)) return HostPlace::kSleep;
  return sleeps ? HostPlace::kSleep : HostPlace::kOther;
}

}  // namespace profd::analyze
