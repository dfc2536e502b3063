#include "daemon/device/streams/unpacker.h"

#include <algorithm>
#include <utility>

#include "format/records/tasks.h"

namespace profd::device {

using format::Loss;

namespace {

constexpr std::string_view kBlockEnd = "\n\n";
constexpr std::string_view kBlockBegin = "TimeStamp:";
constexpr size_t kMostBlockBytes = 64u << 10;
constexpr size_t kMostWaitingBytes = 4 * kMostBlockBytes;  // of a file
// A chunk holds one stream, and each process on the device has two: not all of them take theirs at once.
constexpr size_t kFilesAtOnce = 64;

uint64_t BlocksIn(std::string_view text) {
  uint64_t blocks = 0;
  for (size_t at = 0; (at = text.find(kBlockEnd, at)) != std::string_view::npos; at += kBlockEnd.size())
    ++blocks;
  return blocks;
}

}  // namespace

Unpacker::File::File(format::StreamKey key, chunk::StreamStatsPtr stats, chunk::Pipe& pipe,
                     std::shared_ptr<const chunk::StreamSpec> made_spec, bool begins)
    : outlet(key, std::move(stats), pipe), spec(std::move(made_spec)), skipping(!begins) {}

Unpacker::Unpacker(std::shared_ptr<const FileSinks> sinks, uint32_t trace, chunk::Pipe& pipe, bool joins)
    : sinks_(std::move(sinks)),
      trace_(trace),
      pipe_(&pipe),
      joins_(joins),
      most_bytes_(std::min(kMostBlockBytes, pipe.chunk_bytes())) {}

void Unpacker::Take(const std::byte* data, uint32_t bytes, Outlet& packets, uint64_t now_ns) {
  now_ns_ = now_ns;
  for (uint32_t at = 0; at + sizeof(format::AdprofPacket) <= bytes; at += sizeof(format::AdprofPacket)) {
    const auto piece = format::ReadFilePiece(data + at);
    if (!piece) {
      packets.Lose(Loss::Where::kDriver, now_ns, now_ns, 1, sizeof(format::AdprofPacket));
      continue;
    }
    const bool wanted = std::ranges::any_of(
        sinks_->wanted, [&piece](const FileSinks::Sink& sink) { return sink.what == piece->what; });
    if (!wanted) continue;  // another session's
    if (File* const file = Find(*piece)) {
      Add(*file, piece->text, now_ns);
    } else {
      packets.Lose(Loss::Where::kPool, now_ns, now_ns, BlocksIn(piece->text), piece->text.size());
    }
  }
}

// nullptr: there are too many.
Unpacker::File* Unpacker::Find(const format::FilePiece& piece) {
  const auto found = files_.find(piece.file);
  if (found != files_.end()) return &found->second;
  if (files_.size() == FileSinks::kMaxFiles) return nullptr;
  const auto sink = std::ranges::find(sinks_->wanted, piece.what, &FileSinks::Sink::what);
  const std::string name(piece.file);
  const auto key = format::StreamKey{trace_, sinks_->first_stream + static_cast<uint32_t>(files_.size())};
  // A file's first piece begins a block but where somebody else has had the begin.
  const bool begins = !joins_ || piece.text.starts_with(kBlockBegin);
  return &files_.try_emplace(name, key, sink->stats, *pipe_, sinks_->make_spec(name, *sink), begins)
              .first->second;
}

void Unpacker::Add(File& file, std::string_view text, uint64_t now_ns) {
  const size_t before = file.text.size();
  file.text += text;
  // A block's end may be in two pieces.
  for (size_t from = std::max(file.whole, before - std::min<size_t>(before, 1));;) {
    const size_t end = file.text.find(kBlockEnd, from);
    const size_t block_end = end == std::string::npos ? file.text.size() : end + kBlockEnd.size();
    const size_t block_bytes = block_end - file.whole;
    if (file.skipping || block_bytes > most_bytes_) {
      const bool ends = end != std::string::npos;
      const bool loss = !file.skipping || file.skipped_is_loss;
      // The last character stays: it may be half of the end.
      const size_t keep = ends || file.text.empty() ? 0 : 1;
      if (block_bytes > keep) {
        if (loss) file.outlet.Lose(Loss::Where::kDriver, now_ns, now_ns, ends ? 1 : 0, block_bytes - keep);
        file.text.erase(file.whole, block_bytes - keep);
      }
      file.skipping = !ends;
      file.skipped_is_loss = loss && !ends;
      if (!ends) return;
      from = file.whole;
      continue;
    }
    if (end == std::string::npos) break;
    file.whole = from = block_end;
  }
  if (file.whole > kMostWaitingBytes) {
    Drop(file, file.whole, BlocksIn({file.text.data(), file.whole}), Loss::Where::kPool, now_ns);
  }
}

// What was read of the front, and cannot be kept.
void Unpacker::Drop(File& file, size_t bytes, uint64_t blocks, Loss::Where where, uint64_t now_ns) {
  file.outlet.Lose(where, now_ns, now_ns, blocks, bytes);
  file.text.erase(0, bytes);
  file.whole -= std::min(file.whole, bytes);
}

bool Unpacker::Announce(File& file) {
  if (file.spec == nullptr) return true;
  chunk::Item item;
  item.what = chunk::Item::What::kStream;
  item.key = file.outlet.key();
  item.spec = file.spec;
  if (!pipe_->Push(std::move(item))) return false;
  file.spec = nullptr;
  news_ = true;
  return true;
}

// False where it waits for a chunk.
bool Unpacker::HandOn(File& file, bool may_lose, uint64_t now_ns) {
  while (file.whole > 0) {
    if (!file.outlet.Ready() && !may_lose) return false;
    // As many blocks as the chunk takes: one at least, see Add().
    size_t bytes = 0;
    uint32_t blocks = 0;
    while (bytes < file.whole) {
      const size_t block_end = file.text.find(kBlockEnd, bytes) + kBlockEnd.size();
      if (block_end > pipe_->chunk_bytes()) break;
      bytes = block_end;
      ++blocks;
    }
    file.outlet.Append(reinterpret_cast<const std::byte*>(file.text.data()), static_cast<uint32_t>(bytes),
                       blocks, now_ns);
    file.text.erase(0, bytes);
    file.whole -= bytes;
  }
  return true;
}

bool Unpacker::Push() {
  auto at = files_.lower_bound(next_);
  size_t filled = 0;
  for (size_t i = 0; i < files_.size() && filled < kFilesAtOnce; ++i, ++at) {
    if (at == files_.end()) at = files_.begin();
    File& file = at->second;
    if (!Announce(file)) break;
    if (file.whole > 0) {
      if (!HandOn(file, false, now_ns_)) {
        news_ |= file.outlet.Push();
        break;
      }
      ++filled;
    }
    news_ |= file.outlet.Push();
  }
  next_ = at == files_.end() ? std::string() : at->first;
  return std::exchange(news_, false);
}

void Unpacker::Finish(uint64_t now_ns, bool ended) {
  for (auto& [name, file] : files_) {
    if (!Announce(file)) {
      Drop(file, file.text.size(), BlocksIn(file.text), Loss::Where::kPool, now_ns);
      continue;
    }
    HandOn(file, true, now_ns);
    const bool unfinished = file.skipping ? file.skipped_is_loss : !file.text.empty();
    if (ended && unfinished) Drop(file, file.text.size(), 1, Loss::Where::kDriver, now_ns);
    news_ |= file.outlet.Push();
  }
}

}  // namespace profd::device
