// What /proc says about processes, for those who decide (ctl); the sampler's own view is sampled_process.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace profd::host {

struct ProcessFacts {
  pid_t pid = 0;
  bool exists = false;     // runs: a zombie does not
  bool is_thread = false;  // a thread id that is not a process id
  uint64_t threads = 1;
  // Whose it is: the user when real, effective and saved id agree, else root (only root may look at such a
  // process).
  uid_t uid = 0;
  pid_t parent = 0;
  std::string comm;      // blanks, control and non-ASCII characters replaced by '_'
  bool answers = false;  // false: what the kernel has to say of what follows does not come, see stand_in.h
  // Nothing where the stand-in for it was refused.
  uint64_t start_ticks = 0;            // since boot; with the pid the identity of the process
  bool io_readable = false;            // /proc/PID/io may be read (host-disk)
  std::vector<uint32_t> open_devices;  // N of every /dev/davinciN it has open, ascending
};

// The network's, as profd sees them.
uint64_t CountInterfaces();

// Any thread; none of these waits.
bool ProcessExists(pid_t pid);
// 0 when it has none, or is no more.
pid_t ParentOf(pid_t pid);
// ProcessFacts::uid alone; root's where there is no such process.
uid_t OwnerOf(pid_t pid);
// Whose work it is, whatever rights it has now: its real user, who has to answer for it. Root's where there
// is no such process.
uid_t ChargedTo(pid_t pid);
// As the kernel has it ('R', 'S', 'D', ...); 0 where there is no such process.
char StateOf(pid_t pid);
// What the kernel shows as its name, made harmless; "" when it is no more.
std::string CommandName(pid_t pid);
// In their order. Asks a stand-in of each owner, two seconds at most: not on ctl, nor on a data thread.
std::vector<ProcessFacts> ReadProcessFacts(std::span<const pid_t> pids);
ProcessFacts ReadProcessFacts(pid_t pid);
// N of every /dev/davinciN it has open, ascending. May wait for the process.
std::vector<uint32_t> OpenDevices(pid_t pid);

// The fields of a /proc/…/stat line that we look at.
struct StatFields {
  std::string_view comm;
  char state = 0;
  pid_t parent = 0;
  bool kernel_thread = false;
  uint64_t threads = 0;
  uint64_t start_ticks = 0;
  std::string_view rest;  // from the 23rd field on

  // A process that waits for its parent; a dead leader of living threads still runs.
  bool Exited() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};

// Replaces everything in the command name that would disturb a reader that splits at blanks and lines (the
// name is the process's own choice), then reads the fields. False when this is no stat line.
bool CleanStatLine(char* line, size_t size, StatFields* fields);

}  // namespace profd::host
