#include "client/lake/rows.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "client/analyze/model/time_model.h"
#include "client/lake/schema.h"
#include "client/words/text.h"

namespace profd::lake {
namespace {

using analyze::Job;
using analyze::kNone;
using analyze::Rank;
using analyze::Task;
using analyze::Work;
using base::Status;

// Of the recording, wherever it was copied to: from the name of its folder on. FNV-1a, 8 digits.
std::string InstanceOf(const std::string& source) {
  size_t from = source.rfind("PROF_");
  if (from == std::string::npos) {
    const size_t end = source.rfind("_ascend_pt");
    from = end == std::string::npos ? source.rfind('/') : source.rfind('/', end);
    from = from == std::string::npos ? 0 : from + 1;
  }
  uint32_t hash = 2166136261;
  for (const char c : source.substr(from)) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  char text[9];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

// Texts of a recording are anybody's bytes; SQL takes UTF-8 alone.
std::string Clean(std::string_view text) { return client::OneLine(std::string(text)); }

Status Create(Engine& engine) {
  std::string sql = "CREATE SCHEMA filled;";
  for (const TableSchema& table : Tables()) {
    std::string columns;
    for (const auto& set : {Common(), table.columns}) {
      for (const Column& column : set) {
        columns += (columns.empty() ? "\"" : ", \"") + std::string(column.name) + "\" " +
                   (column.type == "TIMESTAMP_NS" ? "BIGINT" : std::string(column.type));
      }
    }
    const std::string name(table.name);
    sql += "CREATE TABLE filled." + name + " (" + columns + ");";
    sql +=
        "CREATE VIEW " + name + " AS SELECT * REPLACE (make_timestamp_ns(t) AS t) FROM filled." + name + ";";
  }
  return engine.Do(sql);
}

std::optional<int64_t> Known(int64_t number) { return number < 0 ? std::nullopt : std::optional(number); }

class Filler {
 public:
  Filler(Engine& engine, const Job& job) : job_(job), steps_(engine, "steps"), kernels_(engine, "kernels") {}

  void Add(const Rank& rank) {
    const std::string instance = InstanceOf(rank.source), node = Clean(rank.node);
    const auto begin = [&](Rows& rows, std::map<std::string, int64_t>& numbers, int64_t at) -> Rows& {
      return rows.Number(Known(rank.number))
          .Text(node)
          .Text(instance)
          .Number(numbers[instance]++)
          .Number(Known(rank.device))
          .Number(at);
    };
    const std::vector<analyze::StepShares> shares = analyze::SharesOf(job_, rank);
    std::vector<int64_t> tasks(rank.steps.size());
    for (const Task& task : rank.tasks) {
      const bool in_step = task.step != kNone;
      if (in_step) ++tasks[task.step];
      Rows& row = begin(kernels_, kernel_numbers_, task.begin);
      if (in_step) {
        row.Number(rank.steps[task.step].number).Number(task.begin - rank.steps[task.step].begin);
      } else {
        row.Null().Null();
      }
      row.Number(task.end - task.begin).Number(task.lane).Text(TextOf(task.name));
      if (task.work == Work::kCollective && task.kind < rank.collectives.size()) {
        const analyze::Collective& of = rank.collectives[task.kind];
        row.Text(TextOf(of.type))
            .Number(of.bytes == 0 ? std::nullopt : Known(static_cast<int64_t>(of.bytes)));
        row.Text(TextOf(of.group));
      } else {
        row.Text(task.kind < job_.classes.size() ? TextOf(job_.classes[task.kind].type) : "").Null().Null();
      }
      row.End();
    }
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      const analyze::StepShares& of = shares[i];
      begin(steps_, step_numbers_, rank.steps[i].begin)
          .Number(rank.steps[i].number)
          .Number(job_.unfinished.contains(rank.steps[i].number) ? 1 : 0);
      for (const analyze::Ns ns : {of.step, of.computing, of.communication, of.exposed, of.free})
        steps_.Number((ns + 500) / 1000);
      steps_.Number(tasks[i]).End();
    }
  }

  Status Finish() {
    PROFD_RETURN_IF_ERROR(steps_.Finish());
    return kernels_.Finish();
  }

 private:
  const std::string& TextOf(analyze::TextId id) {
    const auto [place, is_new] = texts_.try_emplace(id);
    if (is_new) place->second = Clean(job_.Text(id));
    return place->second;
  }

  const Job& job_;
  Rows steps_, kernels_;
  std::map<std::string, int64_t> step_numbers_, kernel_numbers_;
  std::map<analyze::TextId, std::string> texts_;
};

}  // namespace

bool IsExported(const std::string& folder) {
  return access((folder + "/" + std::string(Tables().front().name) + ".parquet").c_str(), F_OK) == 0;
}

Status ViewsOf(Engine& engine, const std::string& folder) {
  PROFD_RETURN_IF_ERROR(engine.Lock(folder));
  for (const TableSchema& table : Tables()) {
    const std::string name(table.name);
    PROFD_RETURN_IF_ERROR(engine.Do("CREATE VIEW " + name + " AS FROM read_parquet(" +
                                    Quoted(folder + "/" + name + ".parquet") + ")"));
  }
  return {};
}

Status FillFrom(Engine& engine, const Job& job) {
  PROFD_RETURN_IF_ERROR(Create(engine));
  Filler filler(engine, job);
  for (const Rank& rank : job.ranks) filler.Add(rank);
  return filler.Finish();
}

}  // namespace profd::lake
