#include "daemon/host/scouts/file_reader.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/threads/thread.h"
#include "daemon/host/process/values.h"

namespace profd::host {

namespace {

constexpr uint64_t kSliceNs = 500'000;

}  // namespace

std::optional<FileTexts::Text> FileTexts::Next() {
  FileText head;
  if (!TakeValue(rest_, head) || head.bytes > static_cast<int64_t>(std::min(rest_.size(), kMostTextBytes))) {
    rest_ = {};
    return std::nullopt;
  }
  if (head.bytes < 0)
    return Text{
        .key = head.key, .error = static_cast<int>(-std::max<int64_t>(head.bytes, -EHWPOISON)), .text = {}};
  const auto bytes = static_cast<size_t>(head.bytes);
  const Text found{.key = head.key, .error = 0, .text = rest_.substr(0, bytes)};
  rest_.remove_prefix(bytes);
  return found;
}

StandIn::Answer FileReader::Duty() {
  base::PreferShortSlices(kSliceNs);
  return
      [reader = std::make_shared<FileReader>()](std::string_view request) { return reader->Answer(request); };
}

std::string FileReader::Answer(std::string_view request) {
  std::string answer;
  FileRound round;
  if (!TakeValue(request, round)) return answer;
  if (!std::exchange(told_budget_, true)) {
    for (uint64_t i = 0; i < round.most_open; ++i) budget_.GiveBack();
  }
  const auto board = StandIn::Board();
  for (FileOrder order; TakeValue(request, order);) {
    if (order.what == FileOrder::What::kForget) {
      files_.erase(order.key);
      continue;
    }
    board[round.place % board.size()] = static_cast<uint64_t>(order.pid);
    Read(order, answer);
  }
  board[round.place % board.size()] = 0;
  return answer;
}

void FileReader::Read(const FileOrder& order, std::string& answer) {
  char text[kMostTextBytes];
  ProcFile& file = files_.try_emplace(order.key, budget_).first->second;
  const ssize_t got = file.Read({.name = order.io != 0 ? "io" : "stat", .pid = order.pid, .tid = order.tid},
                                text, sizeof text);
  const FileText head{.key = order.key, .bytes = got < 0 ? -int64_t{errno} : int64_t{got}};
  AppendValue(answer, head);
  if (got > 0) answer.append(text, static_cast<size_t>(got));
}

}  // namespace profd::host
