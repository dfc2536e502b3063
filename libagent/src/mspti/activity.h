// The records of libmspti.so, read from its buffers byte by byte: they are packed and lie unaligned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace profd::agent::mspti {

// As the vendor numbers them.
enum Kind : uint32_t {
  kMarkerKind = 1,
  kKernelKind = 2,
  kApiKind = 3,
  kHcclKind = 4,
  kMemoryKind = 5,
  kMemsetKind = 6,
  kMemcpyKind = 7,
  kCommunicationKind = 9,
  kAclApiKind = 10,
  kNodeApiKind = 11,
  kRuntimeApiKind = 12
};

// Of a marker; shifted by kOnStreamShift where it is one on a stream.
enum MarkerFlag : uint32_t { kInstant = 1, kStart = 2, kEnd = 4 };
constexpr uint32_t kOnStreamShift = 3;

// One record, whatever its kind; what the kind doesn't have is zero. Texts are the vendor's: copy them at
// once.
struct Activity {
  uint32_t kind;
  uint64_t begin_ns;  // CLOCK_REALTIME as the vendor maps its clocks
  uint64_t end_ns;
  uint32_t device;
  uint32_t stream;
  uint32_t thread;
  uint64_t correlation;
  const char* name;
  const char* type;       // of a kernel
  const char* algorithm;  // of a communication …
  const char* group;
  uint64_t count;  // elements
  uint32_t data_type;
  uint64_t bytes;  // of memory operations …
  uint64_t address;
  uint32_t detail;  // allocation: 0, release: 1; direction of a copy; value of a set; a marker's MarkerFlag
  bool on_stream;   // a marker, …
  bool of_device;   // … and its half there; else where the program made it
  bool is_async;
};

// Walks the whole records of one buffer. **Thread:** any.
class Walker {
 public:
  Walker(const uint8_t* bytes, size_t valid) : at_(bytes), left_(valid), valid_(valid) {}
  // False: the end, or something that is no record.
  bool Next(Activity* activity);
  // The buffer holds more, but of a kind or length that this version doesn't know.
  bool stuck() const { return left_ != 0; }
  // How many records those are, reckoned by the length of those before them: 0 only where it isn't stuck.
  uint64_t Unread() const;

 private:
  const uint8_t* at_;
  size_t left_;
  size_t valid_;
  uint64_t read_ = 0;
};

}  // namespace profd::agent::mspti
