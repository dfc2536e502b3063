// The blocks of a stream of profd/, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "client/export/read/capture.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"
#include "format/events/agent_blocks.h"

namespace profd::client {

// Gives whole blocks; what lies between them is reported with its place. **Thread:** one. **Owns:** its
// reader.
class AgentStream {
 public:
  AgentStream(const Capture& capture, const Stream& stream, Report& report, Progress* progress)
      : reader_(capture, stream, Framed{}, report, progress), report_(report) {}

  // False: there is none left. The payload is good until the next call.
  bool Next(format::Block& block);

  uint64_t blocks() const { return blocks_; }
  uint64_t bytes_read() const { return reader_.bytes_read(); }
  uint64_t skipped() const { return all_skipped_; }  // bytes, known at the end

 private:
  bool NextPiece();
  void ReportSkipped(uint64_t to);

  StreamReader reader_;
  Report& report_;
  std::span<const std::byte> piece_;
  std::optional<format::BlockReader> walk_;
  size_t done_ = 0,
         kept_ = 0;       // of the piece: what has been given; what comes again in front of the next one
  uint64_t waiting_ = 0;  // bytes that were no block, not yet reported
  uint64_t all_skipped_ = 0, blocks_ = 0;
  bool ended_ = false;
};

// nullptr: it is not there.
const Stream* FindAgentStream(const Capture& capture, std::string_view file);

}  // namespace profd::client
