#include "client/export/read/report.h"

#include <algorithm>
#include <set>
#include <utility>

namespace profd::client {

std::string Remark::Text() const {
  std::string text = where.empty() ? "" : where + ": ";
  if (count > 0) text += std::to_string(count) + " ";
  return text + (count == 1 ? one : many);
}

void Report::Skip(Skipped skipped) {
  if (!skipped_.empty()) {
    Skipped& last = skipped_.back();
    const bool goes_on = skipped.bytes > 0 && skipped.offset == last.offset + last.bytes &&
                         skipped.stream == last.stream && skipped.why == last.why;
    if (goes_on) {
      last.bytes += skipped.bytes;
      last.records += skipped.records;
      return;
    }
  }
  if (skipped_.size() < kMaxSkipped) {
    skipped_.push_back(std::move(skipped));
  } else {
    ++more_skipped_;
  }
}

void Report::SkipUndated(const std::string& stream, uint64_t bytes, std::string_view missing) {
  Skip({stream, 0, bytes, 0, "its records have no time: " + std::string(missing) + " cannot be read"});
}

void Report::Add(Remark remark) {
  if (notes_.size() >= kMaxSkipped) return;
  const std::string text = remark.Text();
  const auto says_it = [&text](const Remark& other) { return other.Text() == text; };
  if (std::ranges::none_of(notes_, says_it)) notes_.push_back(std::move(remark));
}

void Report::Note(const std::string& what) { Add({.where = "", .one = what, .many = what}); }

void Report::Note(const std::string& where, uint64_t count, std::string_view one, std::string_view many) {
  if (count > 0) Add({where, count, std::string(one), std::string(many)});
}

void Report::Unread(const std::string& stream, const std::string& why) {
  unread_.insert(stream);
  Note(stream + ": " + why);
}

void Report::Cut(const std::string& where, uint64_t count, std::string_view one, std::string_view many) {
  if (count > 0) Add({where, count, std::string(one), std::string(many), true});
}

std::vector<std::string> Report::notes() const {
  std::vector<std::string> texts;
  for (const Remark& note : notes_) texts.push_back(note.Text());
  return texts;
}

std::vector<std::string> Report::NotesInShort() const {
  constexpr size_t kMostPlaces = 3;  // named
  std::vector<std::string> texts;
  std::set<std::string> said;
  uint64_t cut = 0;
  for (const Remark& note : notes_) {
    if (note.is_cut) {
      cut += note.count;
      continue;
    }
    if (!said.insert(note.many).second) continue;
    Remark all = note;
    size_t places = 0;
    for (const Remark& other : notes_) {
      if (other.is_cut || other.many != note.many || ++places == 1) continue;
      all.count += other.count;
      if (places <= kMostPlaces) all.where += ", " + other.where;
    }
    if (places > kMostPlaces) all.where += " and " + std::to_string(places - kMostPlaces) + " more";
    texts.push_back(all.Text());
  }
  if (cut > 0) {
    texts.push_back(Remark{
        "", cut, "task, range or iteration is cut by the begin or the end of the recording (--json: which)",
        "tasks, ranges and iterations are cut by the begin or the end of the recording (--json: which)"}
                        .Text());
  }
  return texts;
}

void Report::Count(const std::string& stream, const std::string& kind, uint64_t bytes, uint64_t records) {
  StreamCount& count = streams_[stream];
  count.kind = kind;
  count.bytes += bytes;
  count.records += records;
}

void Report::Add(const Report& other, const std::string& prefix) {
  for (Skipped skipped : other.skipped_) {
    if (!skipped.stream.empty()) skipped.stream = prefix + skipped.stream;
    Skip(std::move(skipped));
  }
  more_skipped_ += other.more_skipped_;
  for (const Remark& note : other.notes_) Add(note);
  for (const std::string& stream : other.unread_) unread_.insert(prefix + stream);
  for (const auto& [stream, count] : other.streams_)
    Count(prefix + stream, count.kind, count.bytes, count.records);
}

uint64_t Report::records() const {
  uint64_t records = 0;
  for (const auto& [stream, count] : streams_) records += count.records;
  return records;
}

}  // namespace profd::client
