#include "client/fleet/hosts.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/files/whole_file.h"
#include "base/unique_fd.h"
#include "client/show/json.h"
#include "client/show/screen/table.h"
#include "client/words/text.h"

extern char** environ;

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr int kMostNested = 8;  // files that name files

Status Wrong(std::string_view part, const std::string& why) {
  return {Code::kInvalidArgument, "--hosts " + OneLine(part) + ": " + why};
}

// What a program prints; it runs without a shell.
Result<std::string> OutputOf(std::vector<std::string> command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Status::FromErrno("pipe");
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status::FromErrno(command[0], error);
  to.Reset();
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(from.get(), buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0) return Status(Code::kFailedPrecondition, command[0] + " failed; its words are above");
  return text;
}

class Expansion {
 public:
  explicit Expansion(const Registry& registry) : registry_(registry) {}

  Status Take(std::string_view text, int depth) {
    for (size_t begin = 0; begin <= text.size();) {
      // A comma between brackets is the range's.
      size_t end = begin;
      for (int open = 0; end < text.size() && (open > 0 || text[end] != ','); ++end) {
        open += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      }
      PROFD_RETURN_IF_ERROR(Part(Trim(text.substr(begin, end - begin)), depth));
      begin = end + 1;
    }
    return {};
  }
  std::vector<std::string> hosts;

 private:
  static std::string_view Trim(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
  }

  Status Part(std::string_view part, int depth) {
    if (part.empty()) return Wrong(part, "a name is missing between the commas");
    if (part.front() == '@') return File(std::string(part.substr(1)), depth);
    if (part.starts_with("slurm:")) return Slurm(part, std::string(part.substr(6)));
    if (part.starts_with("k8s:")) return Kubernetes(part, std::string(part.substr(4)));
    if (part.starts_with("etcd:")) return Registered(part, std::string(part.substr(5)));
    return Ranges(part, "", part);
  }

  Status File(const std::string& path, int depth) {
    if (depth == kMostNested) return Wrong("@" + path, "files that name each other");
    const Result<std::string> text = base::ReadWhole(path);
    if (!text.ok()) return {Code::kInvalidArgument, "--hosts @" + text.status().message()};
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      const std::string_view names = Trim(std::string_view(line).substr(0, line.find('#')));
      if (!names.empty()) PROFD_RETURN_IF_ERROR(Take(names, depth + 1));
    }
    return {};
  }

  Status Lines(std::string_view part, const Result<std::string>& output) {
    if (!output.ok()) return Wrong(part, output.status().message());
    std::istringstream words(*output);
    size_t before = hosts.size();
    for (std::string name; words >> name;) PROFD_RETURN_IF_ERROR(Ranges(part, "", name));
    return hosts.size() > before ? Status::Ok() : Wrong(part, "no nodes");
  }
  Status Slurm(std::string_view part, const std::string& job) {
    if (job.empty() || job.front() == '-') return Wrong(part, "expected slurm:JOBID");
    const Result<std::string> list = OutputOf({"squeue", "-h", "-o", "%N", "-j", job});
    if (!list.ok()) return Wrong(part, list.status().message());
    const std::string names(Trim(*list));
    if (names.empty()) return Wrong(part, "squeue knows no nodes of it");
    return Lines(part, OutputOf({"scontrol", "show", "hostnames", names}));
  }
  Status Kubernetes(std::string_view part, const std::string& selector) {
    if (selector.empty() || selector.front() == '-') return Wrong(part, "expected k8s:LABEL=VALUE");
    return Lines(part, OutputOf({"kubectl", "get", "pods", "--all-namespaces", "-l", selector, "-o",
                                 "jsonpath={range .items[*]}{.status.hostIP}{\"\\n\"}{end}"}));
  }

  Status Registered(std::string_view part, const std::string& what) {
    const size_t question = std::min(what.find('?'), what.size());
    std::map<std::string, std::string> labels;
    std::istringstream wanted(question < what.size() ? what.substr(question + 1) : "");
    for (std::string label; std::getline(wanted, label, '&');) {
      const size_t equals = label.find('=');
      if (equals == std::string::npos || equals == 0) return Wrong(part, "'" + label + "' is not NAME=VALUE");
      labels[label.substr(0, equals)] = label.substr(equals + 1);
    }
    const Result<Entries> entries = registry_(what.substr(0, question));
    if (!entries.ok()) return Wrong(part, entries.status().message());
    const size_t before = hosts.size();
    for (const auto& [key, value] : *entries) {
      const std::optional<Registration> node = ParseRegistration(value);
      if (!node) return Wrong(part, "the value of " + OneLine(key) + " is none that profd writes");
      const bool fits = std::ranges::all_of(labels, [&node](const auto& label) {
        const auto found = node->labels.find(label.first);
        return found != node->labels.end() && found->second == label.second;
      });
      if (fits) PROFD_RETURN_IF_ERROR(Add(part, node->host));
    }
    return hosts.size() > before ? Status::Ok() : Wrong(part, "no such node is registered");
  }

  // `done` is what stands in front, brackets resolved.
  Status Ranges(std::string_view part, const std::string& done, std::string_view rest) {
    const size_t open = rest.find('[');
    // [::1]:9478 is an address.
    if (open == std::string_view::npos || rest.find(':', open) < rest.find(']', open)) {
      return Add(part, done + std::string(rest));
    }
    const size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return Wrong(part, "its ] is missing; e.g. n[001-512]");
    const std::string front = done + std::string(rest.substr(0, open));
    std::string_view list = rest.substr(open + 1, close - open - 1);
    while (true) {
      const size_t comma = list.find(',');
      PROFD_RETURN_IF_ERROR(Range(part, front, list.substr(0, comma), rest.substr(close + 1)));
      if (comma == std::string_view::npos) return {};
      list.remove_prefix(comma + 1);
    }
  }
  Status Range(std::string_view part, const std::string& front, std::string_view range,
               std::string_view rest) {
    const size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    uint32_t from = 0, to = 0;
    const auto number = [](std::string_view text, uint32_t& value) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size();
    };
    if (!number(low, from) || !number(high, to) || to < from || to - from >= kMostHosts) {
      return Wrong(part, "'" + std::string(range) + "' is not a range: expected e.g. n[001-512]");
    }
    for (uint32_t value = from; value <= to; ++value) {
      std::string digits = std::to_string(value);
      if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
      PROFD_RETURN_IF_ERROR(Ranges(part, front + digits, rest));
    }
    return {};
  }

  Status Add(std::string_view part, std::string host) {
    const size_t colon = host.rfind(':');
    const bool has_port =
        colon != std::string::npos && host.find(']', colon) == std::string::npos && host.find(':') == colon;
    const bool is_six = host.starts_with('[') && colon != std::string::npos && host[colon - 1] == ']';
    if (!has_port && !is_six) {
      if (host.find(':') != std::string::npos && !host.starts_with('[')) host = "[" + host + "]";
      host += std::string(":") + kDefaultPort;
    }
    if (host.find_first_of(" \t/'\"") != std::string::npos || host.front() == ':' || host.back() == ':') {
      return Wrong(part, "'" + host + "' is not a host name");
    }
    if (!seen_.insert(host).second) return {};
    if (hosts.size() == kMostHosts) return Wrong(part, "more than " + std::to_string(kMostHosts) + " hosts");
    hosts.push_back(std::move(host));
    return {};
  }

  const Registry& registry_;
  std::set<std::string> seen_;
};

}  // namespace

Result<std::vector<std::string>> ExpandHosts(std::string_view text, const Registry& registry) {
  Expansion expansion(registry);
  PROFD_RETURN_IF_ERROR(expansion.Take(text, 0));
  return std::move(expansion.hosts);
}

std::string FoldHosts(const std::vector<std::string>& hosts) {
  // By what is around the last number of a name, and by its digits.
  struct Group {
    std::string before, after;
    size_t digits = 0;
    std::vector<uint32_t> numbers;
  };
  std::vector<Group> groups;
  for (const std::string& host : hosts) {
    const std::string_view name = std::string_view(host).substr(0, host.find(':'));
    const size_t end = name.find_last_of("0123456789") + 1;  // npos + 1: none
    const size_t begin = end == 0 ? 0 : name.find_last_not_of("0123456789", end - 1) + 1;
    const size_t digits = end - begin;
    // An address is no range of names, nor is what no number can hold.
    const bool counts = digits > 0 && digits < 10 && name.find('.') == std::string_view::npos;
    Group group{host.substr(0, counts ? begin : host.size()),
                counts ? host.substr(end) : "",
                counts ? digits : 0,
                {}};
    const auto known = std::ranges::find_if(groups, [&group](const Group& one) {
      return one.digits > 0 && one.digits == group.digits && one.before == group.before &&
             one.after == group.after;
    });
    std::vector<uint32_t>& numbers =
        known == groups.end() ? groups.emplace_back(group).numbers : known->numbers;
    if (counts) numbers.push_back(static_cast<uint32_t>(std::stoul(host.substr(begin, digits))));
  }
  std::string text;
  for (const Group& group : groups) {
    const std::string ranges = RangesText(group.numbers, group.digits);
    text += (text.empty() ? "" : ",") + group.before;
    text += (group.numbers.size() > 1 ? "[" + ranges + "]" : ranges) + group.after;
  }
  return text;
}

}  // namespace profd::client
