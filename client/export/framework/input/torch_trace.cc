#include "client/export/framework/input/torch_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/export/framework/input/trace_file.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::UniqueFd;
using Json = nlohmann::json;

// Of the file: what it says of itself stands in front of its events, or behind them.
constexpr size_t kHeadBytes = 1u << 20, kTailBytes = 64u << 10;

std::string ReadAt(int fd, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  size_t have = 0;
  while (have < bytes) {
    const ssize_t got = ::pread(fd, text.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

// Since kineto of 2024 stamps begin with it.
int64_t BaseIn(std::string_view text) {
  constexpr std::string_view kKey = "\"baseTimeNanoseconds\":";
  const size_t at = text.find(kKey);
  if (at == text.npos) return 0;
  const size_t digits = text.find_first_not_of(' ', at + kKey.size());
  int64_t base = 0;
  if (digits != text.npos) std::from_chars(text.data() + digits, text.data() + text.size(), base);
  return std::max<int64_t>(base, 0);
}

template <typename Number>
Number NumberOf(std::string_view text, Number otherwise) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

std::string TextOf(std::string_view raw) {
  if (raw.find('\\') == raw.npos) return std::string(raw);
  const Json json = Json::parse("\"" + std::string(raw) + "\"", nullptr, false);
  return json.is_string() ? json.get<std::string>() : std::string(raw);
}

// [[2, 3], []] → "2,3;"; ["float", ""] → "float;".
std::string ListOf(std::string_view raw) {
  constexpr size_t kMostBytes = 4096;  // no operator has so many inputs
  const Json json = raw.size() > kMostBytes ? Json() : Json::parse(raw, nullptr, false);
  if (!json.is_array()) return std::string(raw.substr(0, kMostBytes));
  std::string text;
  for (size_t i = 0; i < json.size(); ++i) {
    if (i > 0) text += ';';
    if (json[i].is_string()) {
      text += json[i].get<std::string>();
    } else if (json[i].is_array()) {
      for (size_t k = 0; k < json[i].size(); ++k) text += (k > 0 ? "," : "") + json[i][k].dump();
    } else {
      text += json[i].dump();
    }
  }
  return text;
}

void TakeArgs(std::string_view args, TorchCall& call) {
  JsonMembers members(args);
  while (members.Next()) {
    const std::string_view key = members.key(), value = members.value();
    if (key == "Sequence number") call.sequence = NumberOf<int64_t>(value, -1);
    if (key == "Fwd thread id") call.forward_tid = NumberOf<uint64_t>(value, 0);
    const auto take = [&](std::string_view name, std::string& into, bool& has, bool is_list) {
      if (key != name) return;
      has = true;
      into = is_list ? ListOf(value) : TextOf(value);
    };
    take("Input type", call.types, call.has_types, true);
    take("Input Dims", call.dims, call.has_dims, true);
    take("Call stack", call.stack, call.has_stack, false);
    take("Module Hierarchy", call.modules, call.has_modules, false);
    take("Flops", call.flops, call.has_flops, false);
  }
}

}  // namespace

void ReadTorchTrace(const Folder& folder, Report& report, Progress& progress,
                    const std::function<void(const TorchCall&)>& take) {
  if (!Names(folder.dir.get()).contains(kTorchTrace)) return;
  uint64_t bytes = 0;
  std::string why;
  UniqueFd file = OpenFile(folder.dir.get(), kTorchTrace, &bytes, &why);
  if (!file) return report.Skip({kTorchTrace, 0, 0, 0, why});
  const std::string head = ReadAt(file.get(), 0, kHeadBytes);
  const size_t events = head.find("\"traceEvents\"");
  const size_t first = events == head.npos ? head.npos : head.find('[', events);
  if (first == head.npos || ::lseek(file.get(), static_cast<off_t>(first + 1), SEEK_SET) < 0)
    return report.Skip({kTorchTrace, 0, 0, 0, "has no traceEvents"});
  int64_t base = BaseIn(head);
  if (base == 0) base = BaseIn(ReadAt(file.get(), bytes - std::min<uint64_t>(bytes, kTailBytes), kTailBytes));
  TraceFile trace(std::move(file), kTorchTrace, report, progress);
  TraceEvent event;
  while (trace.Next(event)) {
    if (event.phase != 'X' || (event.category != "cpu_op" && event.category != "user_annotation")) continue;
    TorchCall call;
    if (__builtin_add_overflow(base, event.ns, &call.begin)) continue;
    call.end = call.begin + static_cast<int64_t>(event.us * 1000);
    call.pid = NumberOf<uint64_t>(event.pid, 0);
    call.tid = NumberOf<uint64_t>(event.tid, 0);
    call.name = TextOf(event.name);
    TakeArgs(event.args, call);
    take(call);
  }
}

}  // namespace profd::client::framework
