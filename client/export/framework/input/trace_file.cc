#include "client/export/framework/input/trace_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

constexpr size_t kBuffer = 1u << 20;
constexpr std::string_view kSpace = " \t\r\n";

void SkipSpace(std::string_view& text) {
  const size_t at = text.find_first_not_of(kSpace);
  text.remove_prefix(at == text.npos ? text.size() : at);
}

}  // namespace

bool JsonMembers::Pass(char wanted) {
  SkipSpace(rest_);
  if (!rest_.starts_with(wanted)) return false;
  rest_.remove_prefix(1);
  return true;
}

bool JsonMembers::TakeString(std::string_view& into) {
  if (!Pass('"')) return false;
  for (size_t i = 0; i < rest_.size(); ++i) {
    if (rest_[i] == '\\') {
      ++i;
    } else if (rest_[i] == '"') {
      into = rest_.substr(0, i);
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// A number, a word, an object or a list.
bool JsonMembers::TakeOther() {
  size_t depth = 0, i = 0;
  bool in_string = false;
  for (; i < rest_.size(); ++i) {
    const char c = rest_[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  i = std::min(i, rest_.size());
  value_ = rest_.substr(0, i);
  while (!value_.empty() && kSpace.find(value_.back()) != kSpace.npos) value_.remove_suffix(1);
  rest_.remove_prefix(i);
  return !value_.empty();
}

bool JsonMembers::Next() {
  Pass(',');
  if (!TakeString(key_) || !Pass(':')) return false;
  SkipSpace(rest_);
  is_text_ = rest_.starts_with('"');
  return is_text_ ? TakeString(value_) : TakeOther();
}

std::string_view TraceEvent::Arg(std::string_view key) const {
  JsonMembers members(args);
  while (members.Next()) {
    if (members.key() == key) return members.value();
  }
  return {};
}

std::optional<int64_t> NsOfMicroseconds(std::string_view text) {
  while (!text.empty() && (text.back() == '\t' || text.back() == ' ')) text.remove_suffix(1);
  constexpr int64_t kMostUs = INT64_MAX / 1000 - 1;
  int64_t us = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, us);
  if (error != std::errc() || us < 0 || us > kMostUs) return std::nullopt;
  int64_t ns = us * 1000;
  if (at == end) return ns;
  if (*at != '.') {  // 1.7e+15
    double number = 0;
    const auto [behind, wrong] = std::from_chars(text.data(), end, number);
    if (wrong != std::errc() || behind != end || !(number < static_cast<double>(kMostUs)))
      return std::nullopt;
    return std::llround(number * 1000);
  }
  int64_t unit = 100;
  for (const char* digit = at + 1; digit < end; ++digit, unit /= 10) {
    if (*digit < '0' || *digit > '9') return std::nullopt;
    ns += unit * (*digit - '0');
  }
  return ns;
}

bool TraceFile::Fill() {
  if (at_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    passed_ += at_;
    at_ = 0;
  }
  if (buffer_.size() - end_ < kBuffer / 2) buffer_.resize(std::max(kBuffer, buffer_.size() * 2));
  const ssize_t got =
      ReadSome(fd_.get(), reinterpret_cast<std::byte*>(buffer_.data()) + end_, buffer_.size() - end_);
  if (got <= 0) return false;
  end_ += static_cast<size_t>(got);
  progress_.bytes += static_cast<uint64_t>(got);
  return true;
}

std::optional<size_t> TraceFile::EndOfObject() {
  size_t depth = 0, i = at_;
  bool in_string = false;
  for (;;) {
    for (; i < end_; ++i) {
      const char c = buffer_[i];
      if (in_string) {
        if (c == '\\') {
          if (i + 1 == end_) break;  // what follows decides
          ++i;
        } else if (c == '"') {
          in_string = false;
        }
        continue;
      }
      if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return i + 1;
      }
    }
    const size_t done = i - at_;
    if (done > kMostEventBytes || !Fill()) return std::nullopt;
    i = at_ + done;
  }
}

bool TraceFile::Next(TraceEvent& event) {
  while (!is_over_ && !progress_.cancelled) {
    while (at_ < end_ && buffer_[at_] != '{' && buffer_[at_] != ']') ++at_;
    if (at_ == end_) {
      if (Fill()) continue;
      is_over_ = true;
      report_.Note(shown_ + ": ends without its closing bracket; all events that are whole are used");
      return false;
    }
    if (buffer_[at_] == ']') break;
    const auto end = EndOfObject();
    if (!end) {
      report_.Skip({shown_, passed_ + at_, end_ - at_, 0, "an event is cut, or too large"});
      break;
    }
    event = {};
    event.text = {buffer_.data() + at_, *end - at_};
    at_ = *end;
    JsonMembers members(event.text);
    while (members.Next()) {
      const std::string_view key = members.key(), value = members.value();
      if (key == "name") {
        event.name = value;
      } else if (key == "ph") {
        event.phase = value.empty() ? '\0' : value.front();
      } else if (key == "cat") {
        event.category = value;
      } else if (key == "id") {
        event.id = value;
      } else if (key == "args") {
        event.args = value;
      } else if (key == "pid") {
        event.pid = value;
        event.pid_is_text = members.is_text();
      } else if (key == "tid") {
        event.tid = value;
        event.tid_is_text = members.is_text();
      } else if (key == "ts") {
        event.ns = NsOfMicroseconds(value).value_or(0);
      } else if (key == "dur") {
        const auto [at, error] = std::from_chars(value.data(), value.data() + value.size(), event.us);
        if (error != std::errc() || !(event.us >= 0 && event.us < 1e15)) event.us = 0;
      }
    }
    return true;
  }
  is_over_ = true;
  return false;
}

}  // namespace profd::client::framework
