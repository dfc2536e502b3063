// The packets of a device's own system (channel 145) back into the files that they are pieces of: one stream
// each, made when its first piece comes, with whole blocks of lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"
#include "daemon/device/streams/outlet.h"
#include "format/device_files.h"

namespace profd::device {

// Which files a session wants, and how their streams are called.
struct FileSinks {
  static constexpr uint32_t kMaxFiles = 4096;

  struct Sink {
    format::DeviceFile what = format::DeviceFile::kSystemCpu;
    std::string kind;             // that they are of
    chunk::StreamStatsPtr stats;  // of all files of the sort
  };
  std::vector<Sink> wanted;
  uint32_t first_stream = 0;  // the keys of the files: kMaxFiles from here on
  // What the writer is told of a new file.
  std::function<std::shared_ptr<const chunk::StreamSpec>(const std::string& file, const Sink& sink)>
      make_spec;
};

// **Thread:** the pump's.
class Unpacker {
 public:
  // `joins`: the packets began before; what is left of a block then is nobody's loss.
  Unpacker(std::shared_ptr<const FileSinks> sinks, uint32_t trace, chunk::Pipe& pipe, bool joins);

  // Whole packets. What is in none of the vendor's files is lost, on `packets`.
  void Take(const std::byte* data, uint32_t bytes, Outlet& packets, uint64_t now_ns);
  // Hands on what is complete, as far as there are chunks. True when the pipe has news.
  bool Push();
  // The end of this session's part: what finds no chunk now is lost. So is a block that has no end, where the
  // channel has `ended`; else it is one of after the session.
  void Finish(uint64_t now_ns, bool ended);

 private:
  struct File {
    File(format::StreamKey key, chunk::StreamStatsPtr stats, chunk::Pipe& pipe,
         std::shared_ptr<const chunk::StreamSpec> spec, bool begins);

    Outlet outlet;
    std::shared_ptr<const chunk::StreamSpec> spec;  // until the writer has been told of the stream
    std::string text;                               // whole blocks, then the begin of one
    size_t whole = 0;                               // bytes of `text` that are whole blocks
    bool skipping = false;                          // up to the end of a block whose begin is not there
    bool skipped_is_loss = false;
  };

  File* Find(const format::FilePiece& piece);
  void Add(File& file, std::string_view text, uint64_t now_ns);
  void Drop(File& file, size_t bytes, uint64_t blocks, format::Loss::Where where, uint64_t now_ns);
  bool HandOn(File& file, bool may_lose, uint64_t now_ns);
  bool Announce(File& file);

  const std::shared_ptr<const FileSinks> sinks_;
  const uint32_t trace_;
  chunk::Pipe* const pipe_;
  const bool joins_;
  const size_t most_bytes_;  // of a block
  std::map<std::string, File, std::less<>> files_;
  std::string next_;   // the file whose turn is next
  bool news_ = false;  // streams announced since the last Push()
  uint64_t now_ns_ = 0;
};

}  // namespace profd::device
