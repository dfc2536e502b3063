// What the records of a profile say, as the lines of its two files (docs/formats.md).
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/host/events/kernel_names.h"
#include "daemon/host/events/perf_records.h"
#include "daemon/host/events/python_probe.h"
#include "daemon/host/process/code_map.h"
#include "daemon/host/scouts/scout.h"
#include "daemon/host/stacks/frame_table.h"
#include "daemon/host/stacks/python_stacks.h"
#include "daemon/host/stacks/unwinder.h"

namespace profd::host {

// **Thread:** that of a stand-in: it looks into the memory of the processes. **Owns:** what is known of them.
class ProfileBook {
 public:
  enum class What : uint8_t {
    kOnCpu,   // samples of what runs
    kOffCpu,  // switches from one thread to another: of a thread that waits, where and how long
  };
  // `first_number`: of the names, so that those of other books of a session are others. `user`: what has
  // other rights (a program of setuid, sudo) is not looked into; of root's processes everything is.
  explicit ProfileBook(What what, uint32_t first_number = 0, uid_t user = 0)
      : what_(what), first_number_(first_number), user_(user) {}

  // Of the members: their code is read, and names are written. Those that are known already are left.
  void TakeIn(pid_t pid, std::string_view name);
  // Records of where code comes and goes have got lost: of the members it is read anew, and who has gone is
  // forgotten.
  void Relearn();
  // Samples have come of it, and it is no member.
  bool IsStranger(pid_t pid) const { return strangers_.contains(pid); }
  // It was born or has ended: another may have its number.
  void ForgetStranger(pid_t pid) { strangers_.erase(pid); }
  // In the order of their times; `kernel` is always the same.
  void Take(PerfRecord record, const KernelNames& kernel);
  // The frames of Python at a sample that is still to be taken. Of samples whose frames nobody notes, the
  // thread is told to `probe`, once it is known.
  void Note(const PythonFrames& frames, uint64_t time_ns);
  void NoteBy(PythonProbe* probe) { probe_ = probe; }
  // What Python the threads are in that have begun to wait, while they still do: a thread that waits stays
  // where it is.
  void LookAtWaits(const KernelNames& kernel);
  // Threads that wait, do so until now …
  void EndWaits(uint64_t now_ns, const KernelNames& kernel);
  // … or nobody knows.
  void ForgetWaits() {
    waits_.clear();
    begun_.clear();
  }
  uint64_t switches() const { return switches_; }
  // By frame pointers only, and no Python, for the time being: nothing is read.
  void Spare(bool spare) { spare_ = spare; }
  uint64_t samples() const { return samples_; }
  uint64_t spared() const { return spared_; }  // of them
  bool has_python() const { return pythons_ > 0; }
  // Their memory is opened again when it is needed.
  void CloseMemories();

  ScoutLines lines;

 private:
  struct Image {
    ElfImage elf;
    uint64_t bias = 0;
  };
  struct Member {
    std::string name;
    uid_t user = 0;            // who has started it
    uint64_t taken_in_ns = 0;  // what was recorded before is known; 0: it was heard of
    CodeMap code;
    std::unordered_set<pid_t> named;  // threads
    ProcessMemory memory;
    std::map<uint32_t, std::optional<Image>> images;  // by module
    std::optional<PythonStacks> python;
    bool looked_for_python = false;
    // By thread and Python function: what called the first one that the thread was in, as frames.
    std::map<std::pair<pid_t, uint32_t>, std::string> beginnings;
  };
  struct Sample;
  // Of a thread that has stopped.
  struct Wait {
    std::vector<std::byte> record;       // its sample
    bool has_work = false;               // it would run, if it were let
    std::optional<uint32_t> stack = {};  // with Python
    uint64_t looked_at_ns = 0;           // when that had been read
  };
  enum class Python : bool { kLeftOut, kRead };
  struct Noted {
    uint64_t time_ns = 0;
    PythonFrames frames;
  };

  Member& NewMember(pid_t pid, std::string_view name);
  void Drop(pid_t pid);
  bool MayLookAt(pid_t pid) const;
  void TakeFork(pid_t child, pid_t parent, uint64_t time_ns);
  void TakeMapping(PerfRecord record, Member& member);
  uint32_t NumberOf(Module module);
  std::vector<CodeMapping> CodeOf(pid_t pid, const Member& member);
  void Map(Member& member, const CodeMapping& mapping);
  void TakeSwitch(PerfRecord record, const KernelNames& kernel);
  void TakeWait(const Wait& wait, uint64_t end_ns, const KernelNames& kernel);
  // It stands for `period`.
  void TakeSample(PerfRecord record, pid_t pid, pid_t tid, Member& member, uint64_t period,
                  const std::function<uint32_t()>& stack);
  uint32_t StackOf(const Sample& sample, const KernelNames& kernel, pid_t pid, Member& member, Python python,
                   bool has_work = false);
  void UserFrames(const Sample& sample, pid_t pid, Member& member, Python python);
  bool Unwound(const Sample& sample, pid_t pid, Member& member, Python python);
  bool JoinedFrames(const Sample& sample, Member& member);
  std::optional<PythonFrames> NotedOf(pid_t tid, uint64_t time_ns);
  CodeAt Code(uint64_t address, pid_t pid, Member& member);
  const Image* ImageOf(const CodeMapping& mapping, pid_t pid, Member& member);
  void FindPython(pid_t pid, Member& member);
  void HaveNoted(pid_t tid, Member& member);

  void KernelFrame(std::string_view name);
  void UserFrame(const CodeMapping* mapping, uint64_t address);
  void PythonFrame(const PythonStacks::Place& place);
  void NextFrame();
  uint32_t PythonNumber(const PythonFunction& function);
  uint32_t StackNumber(pid_t pid);

  void Name(const char* what, pid_t pid, pid_t tid, std::string_view name);

  const What what_;
  const uint32_t first_number_;
  const uid_t user_;
  std::unordered_map<pid_t, Member> members_;
  std::unordered_set<pid_t> strangers_;
  std::map<Module, uint32_t> modules_;
  std::unordered_set<uint32_t> python_modules_;      // whose name says so
  std::unordered_map<uint32_t, FrameTable> tables_;  // by module
  size_t table_bytes_ = 0;
  std::unordered_map<std::string_view, uint32_t> functions_;  // of the kernel, whose names stay
  std::unordered_map<std::string, uint32_t> python_functions_;
  std::unordered_map<uint64_t, uint32_t> stacks_;  // by a hash of pid and frames
  std::unordered_map<pid_t, Wait> waits_;          // by thread
  std::vector<pid_t> begun_;                       // those that nobody has looked at
  PythonProbe* probe_ = nullptr;
  std::unordered_map<pid_t, std::deque<Noted>> noted_;  // by thread, in the order of time
  size_t noted_count_ = 0;
  uint64_t switches_ = 0;
  bool spare_ = false;
  uint64_t samples_ = 0, spared_ = 0;
  size_t pythons_ = 0;
  std::string frames_;
  size_t innermost_ = 0;  // bytes of the first frame
  NativeStack native_;
};

}  // namespace profd::host
