// The door over its real socket: whatever a process says and passes, it is answered or dropped, never more
// than one answer, never a ticket for what is no hello, and seats that were taken are left.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/door/door.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"
#include "libagent/abi/door.h"

namespace {

using profd::base::UniqueFd;
namespace auth = profd::auth;
namespace abi = profd::abi;

constexpr size_t kMostDescriptors = 8;

// One for all cases; ends with the process.
struct House {
  House() {
    path = "/tmp/profd-door-fuzz-" + std::to_string(::getpid());
    auth::Door::Options options;
    options.max_agents = options.max_agents_per_uid = 64;
    options.take_seat = [this](const auth::Caller&) -> profd::base::Result<auth::AgentSeat> {
      ++seats;
      return auth::AgentSeat{1, memfd.get(), wake.get()};
    };
    options.leave_seat = [this](uint64_t) { --seats; };
    auto started = auth::Door::Start(path, ctl, tickets, options);
    PROFD_CHECK(started.ok());
    door = std::move(started).value();
    thread = std::thread([this] { ctl.Run(); });
    std::atexit([] { ::unlink(The().path.c_str()); });
    thread.detach();
  }
  static House& The() {
    static auto* house = new House;
    return *house;
  }

  std::string path;
  UniqueFd memfd{::memfd_create("lanes", MFD_CLOEXEC)};
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC)};
  UniqueFd root{::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  std::atomic<int> seats{0};
  profd::base::Executor ctl;
  auth::Tickets tickets;
  std::unique_ptr<auth::Door> door;
  std::thread thread;
};

UniqueFd Connect(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  PROFD_CHECK(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

void Say(int fd, const uint8_t* bytes, size_t size, const int* descriptors, size_t count) {
  iovec part{const_cast<uint8_t*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

// First byte: how many descriptors come along, and whether the first is a directory; the rest is the message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  House& house = House::The();
  const size_t count = std::min<size_t>(data[0] & 0x0F, kMostDescriptors);
  int descriptors[kMostDescriptors];
  std::fill(std::begin(descriptors), std::end(descriptors), house.wake.get());
  if ((data[0] & 0x10) != 0) descriptors[0] = house.root.get();

  const UniqueFd fd = Connect(house.path);
  const size_t bytes = std::min<size_t>(size - 1, 4096);
  Say(fd.get(), data + 1, bytes, descriptors, count);
  if (bytes == 0 && count == 0) return 0;  // an empty packet: the end of the connection
  abi::DoorWelcome answer[2];
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  iovec part{answer, sizeof answer};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(fd.get(), &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return 0;  // dropped
  PROFD_CHECK(got == sizeof(abi::DoorWelcome) && answer[0].magic == abi::kDoorMagic);
  size_t passed = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    passed = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < passed; ++i) {
      int each;
      std::memcpy(&each, CMSG_DATA(header) + i * sizeof(int), sizeof each);
      ::close(each);
    }
  }
  const bool welcome = answer[0].status == static_cast<uint16_t>(abi::DoorStatus::kWelcome);
  abi::DoorHello hello{};
  std::memcpy(&hello, data + 1, std::min(bytes, sizeof hello));
  const bool agent = hello.role == static_cast<uint8_t>(abi::DoorRole::kAgent);
  PROFD_CHECK(!welcome || (bytes == sizeof hello && hello.magic == abi::kDoorMagic &&
                           hello.version == abi::kDoorVersion));
  PROFD_CHECK(passed == (welcome && agent ? size_t{abi::kAgentDescriptors} : 0));
  const char* reason = answer[0].reason;
  PROFD_CHECK(::strnlen(reason, sizeof answer[0].reason) < sizeof answer[0].reason);
  PROFD_CHECK(welcome == (*reason == '\0'));
  return 0;
}
