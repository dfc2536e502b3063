// Packets of a device's own system: whatever they hold, only files of the vendor's names come of them, and
// every byte that is wanted is in a file or counted. The first byte says which files are wanted and who
// joins.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/threads/wake_up.h"
#include "daemon/chunk/pipe.h"
#include "daemon/device/streams/unpacker.h"
#include "format/records/tasks.h"

namespace profd::device {

namespace {

constexpr size_t kPacket = sizeof(format::AdprofPacket);
constexpr size_t kChunkBytes = 2048;

// What comes out of the pipe: whole blocks, of announced streams.
class Sink {
 public:
  void Take(chunk::Pipe& pipe) {
    chunk::Item item;
    while (pipe.Pop(item)) {
      if (item.what == chunk::Item::What::kStream) announced_[item.key.stream] = true;
      if (item.what == chunk::Item::What::kLoss) lost_ += item.loss.bytes;
      if (item.what != chunk::Item::What::kChunk) continue;
      PROFD_CHECK(announced_[item.key.stream]);
      const std::string_view text(reinterpret_cast<const char*>(item.chunk->data), item.chunk->header.used);
      PROFD_CHECK(text.ends_with("\n\n") && item.chunk->header.records > 0);
      stored_ += text.size();
      pipe.Return(item.chunk);
    }
  }
  uint64_t stored() const { return stored_; }
  uint64_t lost() const { return lost_; }

 private:
  std::map<uint32_t, bool> announced_;
  uint64_t stored_ = 0, lost_ = 0;
};

void Run(uint8_t choice, const std::byte* data, size_t size) {
  base::WakeUp bell;
  chunk::Pipe pipe("fuzz", kChunkBytes, 4, bell);
  auto sinks = std::make_shared<FileSinks>();
  for (int what = 0; what < 5; ++what) {
    if ((choice >> what & 1) != 0) {
      sinks->wanted.push_back(
          {static_cast<format::DeviceFile>(what), "", std::make_shared<chunk::StreamStats>()});
    }
  }
  sinks->make_spec = [](const std::string& file, const FileSinks::Sink&) {
    PROFD_CHECK(file.find('/') == std::string::npos && format::DeviceFileOf(file).has_value());
    return std::make_shared<chunk::StreamSpec>();
  };
  const bool joins = (choice & 0x20) != 0, slow = (choice & 0x40) != 0;
  uint64_t brought = 0;
  for (size_t at = 0; at + kPacket <= size; at += kPacket) {
    const auto piece = format::ReadFilePiece(data + at);
    if (piece) {
      PROFD_CHECK(piece->text.size() <= sizeof format::AdprofPacket::chunk);
      for (const FileSinks::Sink& sink : sinks->wanted)
        brought += sink.what == piece->what ? piece->text.size() : 0;
    } else {
      brought += kPacket;
    }
  }
  Sink sink;
  {
    Outlet packets({1, 5000}, std::make_shared<chunk::StreamStats>(), pipe);
    Unpacker unpacker(sinks, 1, pipe, joins);
    for (size_t at = 0; at + kPacket <= size; at += 2 * kPacket) {
      const size_t bytes = std::min(2 * kPacket, (size - at) / kPacket * kPacket);
      unpacker.Take(data + at, static_cast<uint32_t>(bytes), packets, 1);
      unpacker.Push();
      packets.Push();
      if (!slow) sink.Take(pipe);
    }
    for (int i = 0; i < 2; ++i) {
      sink.Take(pipe);
      if (i == 0) unpacker.Finish(2, true);
      unpacker.Push();
      packets.Push();
    }
    for (int i = 0; i < 8; ++i) {  // losses wait for room in the queue
      sink.Take(pipe);
      unpacker.Push();
      packets.Push();
    }
  }
  sink.Take(pipe);
  PROFD_CHECK(sink.stored() + sink.lost() <= brought);
  if (!joins) PROFD_CHECK(sink.stored() + sink.lost() == brought);
}

}  // namespace

}  // namespace profd::device

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // A copy, so that what lies behind it is nobody's.
  const std::vector<std::byte> packets(reinterpret_cast<const std::byte*>(data) + 1,
                                       reinterpret_cast<const std::byte*>(data) + size);
  profd::device::Run(data[0], packets.data(), packets.size());
  return 0;
}
