// Which file systems answer by themselves: their files are on this node's disks or in its memory, and
// nobody's process or server is asked for them.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::host {

// The file system with this device number, as /proc/PID/maps has it. One that is mounted nowhere that we can
// see is not: a user may have it to himself. **Thread:** any.
bool IsLocal(uint32_t major, uint32_t minor);

// By the text of /proc/self/mountinfo, without the kernel's own files (memfd).
bool IsLocalIn(std::string_view mounts, uint32_t major, uint32_t minor);

// The same of an open file, wherever that is mounted. May wait for it. **Thread:** any.
bool IsOnLocal(int fd);

}  // namespace profd::host
