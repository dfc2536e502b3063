#include "client/fleet/fleet.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "client/fleet/hosts.h"
#include "client/show/json.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr size_t kHostsNamed = 16, kWidestHosts = 32;
constexpr size_t kLeastToCompare = 4;  // lines: fewer are read at a glance
constexpr ptrdiff_t kPiecesNamed = 16;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string Names(const std::vector<std::string>& hosts) {
  std::string all = FoldHosts(hosts);
  if (std::ranges::count(all, ',') < kPiecesNamed) return all;
  std::string text;
  for (size_t i = 0; i < std::min(hosts.size(), kHostsNamed); ++i) text += (i > 0 ? "," : "") + hosts[i];
  if (hosts.size() > kHostsNamed) text += " and " + std::to_string(hosts.size() - kHostsNamed) + " more";
  return text;
}

// The first word of our tables' headings is in capitals; units further on need not be.
bool IsHeading(const std::string& line) {
  const std::string word = line.substr(0, line.find(' '));
  return word.size() > 1 && std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
}

// Hosts that say the same, and what.
struct Same {
  std::vector<std::string> hosts;
  std::vector<std::string> lines;
};

std::vector<Same> Grouped(const std::vector<Answer>& answers) {
  std::vector<Same> groups;
  std::map<std::string, size_t> by_text;
  for (const Answer& answer : answers) {
    if (answer.out.empty()) continue;
    const auto [known, is_new] = by_text.try_emplace(answer.out, groups.size());
    if (is_new) groups.push_back({{}, LinesOf(answer.out)});
    groups[known->second].hosts.push_back(answer.host);
  }
  return groups;
}

// A heading that is the same for all who have several lines; "" = there is none.
std::string HeadingOf(const std::vector<Same>& groups, size_t hosts) {
  std::string heading;
  for (const Same& group : groups) {
    // What all of many say first stands above them; of one host only what is a heading.
    if (group.lines.size() < 2 || (hosts == 1 && !IsHeading(group.lines.front()))) return "";
    if (heading.empty()) heading = group.lines.front();
    if (heading != group.lines.front()) return "";
  }
  return heading;
}

// What most say is shown whole; of others that say nearly the same what differs.
std::optional<std::vector<std::string>> Differences(const Same& from, const Same& group) {
  const auto lacks = [](const std::vector<std::string>& lines, const std::string& line) {
    return std::ranges::find(lines, line) == lines.end();
  };
  std::vector<std::string> different;
  for (const std::string& line : group.lines) {
    if (lacks(from.lines, line)) different.push_back(line);
  }
  if (2 * different.size() > group.lines.size()) return std::nullopt;
  const size_t equal = group.lines.size() - different.size();
  const std::string& as = from.hosts.front();
  const std::string lacking = "not, as " + as + ": ";
  for (const std::string& line : from.lines) {
    if (lacks(group.lines, line)) different.push_back(lacking + line);
  }
  different.push_back("(" + std::to_string(equal) + (equal == 1 ? " line" : " lines") + " as " + as + ")");
  return different;
}

std::string TableOf(const std::vector<Answer>& answers) {
  std::vector<Same> groups = Grouped(answers);
  const std::string heading = HeadingOf(groups, answers.size());
  size_t width = 4;
  std::vector<std::string> names;
  for (Same& group : groups) {
    if (!heading.empty()) group.lines.erase(group.lines.begin());
    names.push_back(FoldHosts(group.hosts));
    width = std::max(width, std::min(names.back().size(), kWidestHosts));
  }
  const auto row = [width](const std::string& host, const std::string& line) {
    // Names of many may be longer than what they have said.
    if (host.size() > width) return host + "\n" + std::string(width + 2, ' ') + line + "\n";
    return host + std::string(width + 2 - host.size(), ' ') + line + "\n";
  };
  const auto most =
      std::ranges::max_element(groups, {}, [](const Same& group) { return group.hosts.size(); });
  std::string text = heading.empty() ? "" : row("HOST", heading);
  for (size_t i = 0; i < groups.size(); ++i) {
    std::optional<std::vector<std::string>> different;
    if (&groups[i] != &*most && groups[i].lines.size() >= kLeastToCompare)
      different = Differences(*most, groups[i]);
    for (const std::string& line : different ? *different : groups[i].lines) text += row(names[i], line);
  }
  return text;
}

void PrintSkew(const Context& context, const std::vector<Answer>& answers) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  uint64_t uncertainty = 0;
  size_t fired = 0;
  for (const Answer& answer : answers) {
    if (!answer.firing) continue;
    first = std::min(first, answer.firing->late_ns);
    last = std::max(last, answer.firing->late_ns);
    uncertainty = std::max(uncertainty, answer.firing->uncertainty_ns);
    ++fired;
  }
  if (fired == 0) return;
  const auto skew_ns = static_cast<uint64_t>(last - first);
  if (context.json) return context.Print(SkewJson(fired, skew_ns, last, uncertainty));
  char text[160];
  std::snprintf(text, sizeof text,
                "%zu nodes fired within %.1f ms, the last %.1f ms after the instant (each ± %.1f ms)\n",
                fired, static_cast<double>(skew_ns) / 1e6, static_cast<double>(last) / 1e6,
                static_cast<double>(uncertainty) / 1e6);
  context.Print(text);
}

}  // namespace

std::vector<Answer> AskEach(const Context& context, const std::vector<std::string>& hosts, size_t parallel,
                            const std::function<ExitCode(const Context&)>& verb) {
  std::vector<Answer> answers(hosts.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < hosts.size();) {
      Answer& answer = answers[i];
      answer.host = hosts[i];
      if (context.deadline_ns != 0 && base::MonotonicNs() >= context.deadline_ns) {
        answer.code = ExitCode::kUnavailable;
        answer.err = "not asked: the time (--timeout) was over before its turn";
        continue;
      }
      Transcript transcript;
      Context one = context;
      one.host = hosts[i];
      one.output = &transcript;
      answer.code = verb(one);
      answer.out = transcript.out();
      answer.err = transcript.err();
      answer.firing = transcript.firing();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(parallel, hosts.size()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return answers;
}

ExitCode CodeOf(const std::vector<Answer>& answers) {
  std::set<ExitCode> codes;
  for (const Answer& answer : answers) codes.insert(answer.code);
  return codes.size() == 1 ? *codes.begin() : ExitCode::kSomeHosts;
}

ExitCode ReportAnswers(const Context& context, const std::vector<Answer>& answers) {
  std::map<std::string, std::vector<std::string>> errors;
  for (const Answer& answer : answers) {
    if (context.json) {
      context.Print(
          AnswerJson(answer.host, answer.via, static_cast<int>(answer.code), answer.out, answer.err));
    } else if (!answer.err.empty()) {
      // What a host says of itself differs by its name only.
      std::string said = answer.err;
      for (size_t at; (at = said.find(answer.host)) != std::string::npos;)
        said.replace(at, answer.host.size(), "…");
      errors[said].push_back(answer.host);
    }
  }
  if (!context.json) context.Print(TableOf(answers));
  PrintSkew(context, answers);
  for (const auto& [said, hosts] : errors) {
    std::fprintf(stderr, "profctl: %zu of %zu hosts: %s (%s)\n", hosts.size(), answers.size(),
                 OneLine(said).c_str(), Names(hosts).c_str());
  }
  return CodeOf(answers);
}

}  // namespace profd::client
