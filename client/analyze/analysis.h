// `profctl analyze` without its command line: directories in, findings out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/judge.h"

namespace profd::analyze {

struct Request {
  std::vector<std::string> paths;
  std::vector<std::string> rules;  // as IsWanted()
  Settings settings;
  unsigned jobs = 1;
  bool judges = true;      // false: for plain tables, which need no verdict
  bool keeps_all = false;  // the lengths of all calls of the host, and short ranges
  bool recursive = false;  // recordings of one job may lie anywhere below `paths`
  // Told how many recordings have been read, of how many. From any thread.
  std::function<void(size_t done, size_t all)> progress = {};
};

// All that is known of a job, from reading to verdict. Not to be moved: parts refer to each other.
class Analysis {
 public:
  // kNotFound: there is nothing to analyse.
  static base::Result<std::unique_ptr<Analysis>> Run(Request request);

  const Job& job() const { return job_; }
  const Context& context() const { return context_; }
  const Clocks& clocks() const { return clocks_; }
  const Matches& matches() const { return matches_; }
  const Verdict& verdict() const { return verdict_; }
  const Request& request() const { return request_; }
  // Of the ranks: how much is told of their tasks, at least.
  Level level() const;
  // Records were lost while it was recorded.
  bool has_losses() const;
  // Nothing of the data was left out.
  bool is_whole() const;

 private:
  Analysis(Request request, Job job);

  const Request request_;
  Job job_;
  Matches matches_;
  Clocks clocks_;
  Replay replay_;
  Context context_;
  Verdict verdict_;
};

}  // namespace profd::analyze
