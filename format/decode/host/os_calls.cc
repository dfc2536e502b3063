// host_syscall.data (perf trace) and host_pthreadcall.data (ltrace): calls with a begin and a duration.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "format/decode/family.h"
#include "format/decode/line_decoder.h"
#include "format/decode/span_writer.h"
#include "format/events/os_call_line.h"
#include "format/kind.h"

namespace profd::format {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// "12.345" in units of `unit_ns`, as ns; exact to the last digit that a ns has.
std::optional<uint64_t> ToNs(std::string_view text, uint64_t unit_ns) {
  const size_t point = text.find('.');
  const auto whole = ToNumber<uint64_t>(text.substr(0, point));
  if (!whole || *whole > UINT64_MAX / unit_ns - 1) return std::nullopt;
  uint64_t ns = *whole * unit_ns, digit_ns = unit_ns;
  if (point == std::string_view::npos) return ns;
  for (const char c : text.substr(point + 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    digit_ns /= 10;
    ns += static_cast<uint64_t>(c - '0') * digit_ns;
  }
  return ns;
}

bool HasDigits(std::string_view number, size_t digits) {
  return number.size() - std::min(number.size(), number.find('.')) == digits + 1;
}

// The process whose call it is, where that is not the target's.
std::optional<int64_t> ProcessIn(std::string_view arguments) {
  if (!arguments.starts_with(kOsCallProcess)) return std::nullopt;
  arguments.remove_prefix(kOsCallProcess.size());
  return ToNumber<int64_t>(arguments.substr(0, arguments.find(')')));
}

// **Thread:** one.
class OsCalls : public LineDecoder {
 public:
  explicit OsCalls(const DecodeContext& context)
      : LineDecoder(context), spans_(*context.spans, *context.texts, context.kind) {}
  void Finish() override { spans_.Flush(); }

 protected:
  // Where the first call lies is where the recording began: what the tool's own clock is nobody knows.
  uint64_t SinceFirst(uint64_t ns) {
    if (!first_ns_) first_ns_ = ns;
    const uint64_t begin_ns = context().HostRawToWall(context().side->begin_raw_ns);
    return ns >= *first_ns_ ? begin_ns + (ns - *first_ns_) : begin_ns;
  }
  void Call(std::string_view name, int64_t pid, int64_t tid, uint64_t begin_ns, uint64_t length_ns) {
    Span& span = spans_.Add(SpanKind::kOsCall);
    span.begin_ns = begin_ns;
    span.end_ns = length_ns > UINT64_MAX - begin_ns ? begin_ns : begin_ns + length_ns;
    span.pid = pid;
    span.tid = tid;
    span.name = spans_.texts().Intern(name);
  }

 private:
  SpanWriter spans_;
  std::optional<uint64_t> first_ns_;
};

// "<ms> ( <ms> ms): comm/tid name(…) = r". **Thread:** one.
class Syscalls : public OsCalls {
 public:
  using OsCalls::OsCalls;

 private:
  void Line(std::string_view line) override {
    if (line.find_first_not_of(" \t") == std::string_view::npos || IsOsCallBeginLine(line)) return;
    ++records_;
    const size_t open = line.find('('), close = line.find("):");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return Reject("no line of perf trace");
    }
    const std::string_view stamp = Words(line.substr(0, open)).Next();
    const auto begin_ns = ToNs(stamp, 1'000'000);
    const auto length_ns = ToNs(Words(line.substr(open + 1, close - open - 1)).Next(), 1'000'000);
    const std::string_view call = line.substr(close + 2);
    const std::string_view head = call.substr(0, call.find('('));
    const size_t name_at = head.find_last_of(" \t");
    const std::string_view name = name_at == std::string_view::npos ? head : head.substr(name_at + 1);
    if (!begin_ns || !length_ns || name.empty() || head.size() == call.size()) {
      return Reject("call without a time, a duration or a name");
    }
    int64_t pid = context().side->pid, tid = pid;
    if (name_at != std::string_view::npos) {
      const std::string_view who = head.substr(0, name_at);
      const size_t slash = who.rfind('/');
      if (slash != std::string_view::npos)
        tid = ToNumber<int64_t>(Words(who.substr(slash + 1)).Next()).value_or(tid);
    }
    // perf trace writes µs; ns are profd's own, whose clock is known.
    const bool known_clock = HasDigits(stamp, 6);
    if (known_clock) pid = ProcessIn(call.substr(head.size() + 1)).value_or(pid);
    Call(name, pid, tid, known_clock ? context().HostRawToWall(*begin_ns) : SinceFirst(*begin_ns),
         *length_ns);
  }
};

// "[pid TID] <wall s> lib->name(…) = r <dur s>"; a call that another one interrupted ends in a line of its
// own.
// **Thread:** one.
class PthreadCalls : public OsCalls {
 public:
  using OsCalls::OsCalls;

 private:
  void Line(std::string_view line) override {
    if (line.find_first_not_of(" \t") == std::string_view::npos || IsOsCallBeginLine(line)) return;
    ++records_;
    Words words(line);
    int64_t tid = context().side->pid;
    std::string_view word = words.Next();
    if (word == "[pid") {
      word = words.Next();
      if (word.ends_with(']')) word.remove_suffix(1);
      const auto number = ToNumber<int64_t>(word);
      if (!number) return Reject("no line of ltrace");
      tid = *number;
      word = words.Next();
    }
    const auto stamp_ns = ToNs(word, kSecond);
    const size_t length_at = line.rfind('<');
    if (!stamp_ns || length_at == std::string_view::npos || !line.ends_with('>')) {
      return Reject("call without a time or a duration");
    }
    const auto length_ns = ToNs(line.substr(length_at + 1, line.size() - length_at - 2), kSecond);
    if (!length_ns) return Reject("call without a time or a duration");
    // ltrace writes µs; ns are profd's own, whose clock is known.
    const bool known_clock = HasDigits(word, 9);
    std::string_view name = words.Next();
    const bool resumed = name == "<...";
    if (resumed) {
      name = words.Next();
    } else if (const size_t arrow = name.find("->"); arrow != std::string_view::npos) {
      name.remove_prefix(arrow + 2);
    }
    const size_t open = name.find('(');
    const auto arguments = open == std::string_view::npos
                               ? ""
                               : line.substr(static_cast<size_t>(name.data() - line.data()) + open + 1);
    name = name.substr(0, open);
    if (name.empty()) return Reject("call without a name");
    if (known_clock) {
      Call(name, ProcessIn(arguments).value_or(context().side->pid), tid, context().HostRawToWall(*stamp_ns),
           *length_ns);
    } else if (context().vendor_compatible) {
      if (name != "pthread_once") Call(name, context().side->pid, tid, SinceFirst(*stamp_ns), *length_ns);
    } else {  // its stamps are the wall clock's; a resumed call's is its end
      Call(name, context().side->pid, tid,
           resumed && *stamp_ns >= *length_ns ? *stamp_ns - *length_ns : *stamp_ns, *length_ns);
    }
  }
};

std::unique_ptr<Decoder> MakeSyscalls(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Syscalls>(context);
}
std::unique_ptr<Decoder> MakePthreadCalls(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<PthreadCalls>(context);
}

constexpr DecoderEntry kDecoders[] = {
    row::OfHost(file::kHostOsrt, Kind::kHostOsrt, MakeSyscalls),
    row::OfHost(file::kHostPthread, Kind::kHostPthread, MakePthreadCalls),
};

}  // namespace

namespace family {
Family OsCalls() { return {.decoders = kDecoders}; }
}  // namespace family

}  // namespace profd::format
