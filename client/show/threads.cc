#include "client/show/threads.h"

#include <algorithm>
#include <map>
#include <utility>

#include "client/export/read/sources/profile_names.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

template <typename Take>
void EachLine(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    take(line);
  }
}

// Threads at one place, by where they stand among all.
std::vector<std::vector<size_t>> Alike(const std::vector<ShownThread>& threads, bool all) {
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < threads.size(); ++i) {
    const ShownThread& thread = threads[i];
    const auto is_alike = [&](const std::vector<size_t>& group) {
      const ShownThread& first = threads[group.front()];
      return !thread.frames.empty() && thread.frames == first.frames &&
             thread.place.waits_in() == first.place.waits_in() && thread.place.state() == first.place.state();
    };
    const auto known = all ? groups.end() : std::ranges::find_if(groups, is_alike);
    if (known == groups.end()) {
      groups.push_back({i});
    } else {
      known->push_back(i);
    }
  }
  return groups;
}

std::string State(const v1::ThreadPlace& place) {
  if (!place.waits_in().empty()) return "waits in " + OneLine(place.waits_in());
  switch (place.state().empty() ? '?' : place.state().front()) {
    case 'R':
      return "runs";
    case 'D':
      return "waits for a disk or a driver";
    case 'T':
    case 't':
      return "is stopped";
    case 'Z':
    case 'X':
      return "has ended";
    default:
      return "waits";
  }
}

std::string Heading(const std::vector<ShownThread>& threads, const std::vector<size_t>& group) {
  const v1::ThreadPlace& first = threads[group.front()].place;
  if (group.size() == 1) return "thread " + std::to_string(first.tid()) + " " + OneLine(first.name());
  std::vector<uint32_t> tids;
  std::map<std::string, size_t> names;
  for (const size_t i : group) {
    tids.push_back(static_cast<uint32_t>(threads[i].place.tid()));
    ++names[OneLine(threads[i].place.name())];
  }
  std::string text = std::to_string(group.size()) + " threads " + RangesText(tids) + " ";
  for (const auto& [name, count] : names) text += (text.ends_with(' ') ? "" : ", ") + name;
  return text;
}

std::string FrameText(const ShownFrame& frame) {
  std::string text = OneLine(frame.function);
  // Python's say their file, those without a name their module.
  if (frame.line == 0 && !frame.module.empty() && !frame.function.starts_with('['))
    text += "  " + OneLine(frame.module);
  return text;
}

}  // namespace

ShownProcess WithNames(v1::StacksReply reply) {
  ShownProcess process{.reply = std::move(reply), .threads = {}, .notes = {}};
  format::Texts texts;
  ProfileNames names(texts, process.reply.started_wall_ns(), process.reply.wall_ns());
  size_t damaged = 0;
  EachLine(process.reply.names(), [&](std::string_view line) { damaged += names.Take(line) ? 0 : 1; });
  std::map<int64_t, std::vector<ShownFrame>> by_thread;
  EachLine(process.reply.samples(), [&](std::string_view line) {
    const auto sample = format::ParseCpuSample(line);
    const auto frames = sample ? names.Frames(sample->stack) : std::nullopt;
    if (!frames) return;
    std::vector<ShownFrame>& shown = by_thread[sample->tid];
    shown.clear();
    for (const ProfileFrame& frame : *frames)
      shown.push_back(
          {std::string(texts.Get(frame.place)), std::string(texts.Get(frame.module)), frame.line});
  });
  for (const v1::ThreadPlace& place : process.reply.threads()) {
    const auto known = by_thread.find(place.tid());
    process.threads.push_back({place, known == by_thread.end() ? std::vector<ShownFrame>() : known->second});
  }
  if (process.reply.left_out() > 0)
    process.notes.push_back(std::to_string(process.reply.left_out()) + " more threads are not shown");
  if (damaged > 0) process.notes.push_back(std::to_string(damaged) + " lines that say nothing known");
  for (const std::string& why : names.WithoutSymbols())
    process.notes.push_back("no symbols: " + OneLine(why));
  return process;
}

std::string RenderThreads(const ShownProcess& process, const Look& look) {
  const v1::StacksReply& reply = process.reply;
  const size_t count = process.threads.size();
  std::string text = "pid " + std::to_string(reply.pid()) + " " + OneLine(reply.name()) + ": " +
                     std::to_string(count) + (count == 1 ? " thread, " : " threads, ") +
                     FormatWallTime(reply.wall_ns()) + "\n";
  for (const std::vector<size_t>& group : Alike(process.threads, look.all)) {
    const ShownThread& thread = process.threads[group.front()];
    text += "\n" + Paint(Heading(process.threads, group), Colour::kBold, look) + "  " +
            Paint(State(thread.place), Colour::kDim, look) + "\n";
    for (const ShownFrame& frame : thread.frames) text += "    " + FrameText(frame) + "\n";
    if (thread.frames.empty())
      text += "    no stack: " +
              (thread.place.why().empty() ? "it could not be read" : OneLine(thread.place.why())) + "\n";
  }
  if (!process.notes.empty()) text += "\n";
  for (const std::string& note : process.notes) text += Wrapped("note: " + note, look.columns) + "\n";
  return text;
}

}  // namespace profd::client
