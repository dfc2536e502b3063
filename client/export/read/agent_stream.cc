#include "client/export/read/agent_stream.h"

#include <algorithm>
#include <utility>

#include "format/records/packed.h"

namespace profd::client {

namespace {

using format::BlockHeader;

constexpr size_t kMostBlock = 8u << 20;

// Where in `piece` a block begins that goes on behind its end; its size if there is none.
size_t CutBlock(std::span<const std::byte> piece) {
  for (size_t at = 0; at + sizeof(BlockHeader) <= piece.size(); at += 8) {
    const auto header = format::Load<BlockHeader>(piece.data() + at);
    if (header.magic != format::kBlockMagic || header.bytes > kMostBlock) continue;
    if (size_t{header.header_bytes} + header.bytes > piece.size() - at) return at;
  }
  return piece.size() - std::min(piece.size(), sizeof(BlockHeader) - 8);
}

}  // namespace

void AgentStream::ReportSkipped(uint64_t to) {
  if (waiting_ == 0) return;
  all_skipped_ += waiting_;
  const auto [slice, offset] = reader_.At(to - waiting_);
  report_.Skip({slice, offset, std::exchange(waiting_, 0), 0, "no whole blocks"});
}

bool AgentStream::NextPiece() {
  if (ended_) return false;
  if (walk_) {
    const std::span<const std::byte> rest = piece_.subspan(done_);
    const size_t cut = CutBlock(rest);
    waiting_ += cut;
    kept_ = rest.size() - cut;
    reader_.Keep(kept_);
  }
  piece_ = reader_.Next();
  if (piece_.empty()) {
    ended_ = true;
    waiting_ += kept_;
    ReportSkipped(reader_.bytes_read());
    return false;
  }
  walk_.emplace(piece_);
  done_ = 0;
  return true;
}

bool AgentStream::Next(format::Block& block) {
  while (!walk_ || !walk_->Next(block)) {
    if (!NextPiece()) return false;
  }
  // Bytes of the piece that were given before come again in front.
  const auto begin = static_cast<size_t>(block.payload.data() - piece_.data()) - block.header.header_bytes;
  waiting_ += begin - done_;
  ReportSkipped(reader_.piece_position() + begin);
  done_ = walk_->offset();
  ++blocks_;
  return true;
}

const Stream* FindAgentStream(const Capture& capture, std::string_view file) {
  const auto found = std::ranges::find(capture.agents, file, &Stream::file);
  return found == capture.agents.end() ? nullptr : &*found;
}

}  // namespace profd::client
