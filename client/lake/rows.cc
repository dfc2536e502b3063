#include "client/lake/rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/lake/captures.h"
#include "client/lake/schema.h"
#include "client/lake/steps.h"
#include "client/words/text.h"

namespace profd::lake {
namespace {

using analyze::Analysis;
using analyze::Job;
using analyze::kNone;
using analyze::Ns;
using analyze::Rank;
using analyze::Task;
using analyze::Work;
using base::Status;

// Texts of a recording are anybody's bytes; SQL takes UTF-8 alone.
std::string Clean(std::string_view text) { return client::OneLine(std::string(text)); }

std::string ColumnsOf(const std::vector<std::span<const Column>>& sets, const auto& word) {
  std::string list;
  for (const std::span<const Column> set : sets) {
    for (const Column& column : set)
      list += (list.empty() ? "" : ", ") + word(column, "\"" + std::string(column.name) + "\"");
  }
  return list;
}

// A table as it is filled has times as numbers; what others are made of has all columns.
Status Create(Engine& engine) {
  const auto filled = [](const Column& column, const std::string& name) {
    return name + " " + (column.type == "TIMESTAMP_NS" ? "BIGINT" : std::string(column.type));
  };
  const auto shown = [](const Column& column, const std::string& name) {
    return column.type == "TIMESTAMP_NS" ? "make_timestamp_ns(" + name + ") AS " + name : name;
  };
  std::string tables, views;
  for (const TableSchema& table : Tables()) {
    const std::string name(table.name);
    if (!table.made.empty()) {
      views += "CREATE VIEW " + name + " AS " + std::string(table.made) + ";";
      continue;
    }
    tables += "CREATE TABLE filled." + name + " (" +
              ColumnsOf({Common(), table.columns, table.inner}, filled) + ");";
    views += "CREATE VIEW of_" + name + " AS SELECT " +
             ColumnsOf({Common(), table.columns, table.inner}, shown) + " FROM filled." + name +
             ";CREATE VIEW " + name + " AS SELECT " +
             ColumnsOf({Common(), table.columns}, [](const Column&, const std::string& own) { return own; }) +
             " FROM of_" + name + ";";
  }
  PROFD_RETURN_IF_ERROR(engine.MakeRoom("filled"));
  PROFD_RETURN_IF_ERROR(engine.Do(tables));
  return engine.Do(views);
}

std::optional<int64_t> Known(int64_t number) { return number < 0 ? std::nullopt : std::optional(number); }
std::optional<int64_t> Bytes(uint64_t bytes) {
  return bytes == 0 ? std::nullopt : std::optional(static_cast<int64_t>(bytes));
}

class Filler {
 public:
  Filler(Engine& engine, const Analysis& analysis)
      : analysis_(analysis),
        job_(analysis.job()),
        steps_(engine, "steps"),
        kernels_(engine, "kernels"),
        captures_(engine, "captures"),
        last_ranks_(LastRanks(analysis)) {}

  void Add(size_t number) {
    const Rank& rank = job_.ranks[number];
    const CaptureFacts& facts = Capture(rank);
    std::vector<int64_t> tasks(rank.steps.size());
    for (const Task& task : rank.tasks) {
      const analyze::Step* const step = task.step == kNone ? nullptr : &rank.steps[task.step];
      const Ns begin = step == nullptr ? task.begin : step->begin;
      Rows& row = Begin(kernels_, kernel_numbers_, rank, facts, begin, 1);
      if (step != nullptr) {
        row.Number(step->number).Number(tasks[task.step]++);
      } else {
        row.Null().Null();
      }
      row.Number(task.begin - begin).Number(task.end - task.begin).Number(task.lane).Text(TextOf(task.name));
      if (task.work == Work::kCollective && task.kind < rank.collectives.size()) {
        AddCollective(row, rank, rank.collectives[task.kind]);
      } else {
        AddKernel(row, task);
      }
      row.End();
    }
    const StepRows of_steps(analysis_, number);
    for (size_t i = 0; i < rank.steps.size(); ++i) AddStep(rank, facts, of_steps.At(i), i, tasks[i]);
  }

  Status Finish() {
    PROFD_RETURN_IF_ERROR(steps_.Finish());
    PROFD_RETURN_IF_ERROR(captures_.Finish());
    return kernels_.Finish();
  }

 private:
  // By match: which rank came last, -1 = of those recorded there is but one.
  static std::vector<int64_t> LastRanks(const Analysis& analysis) {
    std::vector<int64_t> last;
    last.reserve(analysis.matches().all.size());
    for (const analyze::Match& match : analysis.matches().all) {
      const auto begin = [&](const analyze::Match::Member& member) {
        return analysis.job().ranks[member.rank].collectives[member.collective].begin;
      };
      last.push_back(
          match.members.size() < 2
              ? -1
              : analysis.job().ranks[std::ranges::max_element(match.members, {}, begin)->rank].number);
    }
    return last;
  }

  Rows& Begin(Rows& rows, std::map<std::string, int64_t>& numbers, const Rank& rank,
              const CaptureFacts& facts, Ns at, int64_t version) {
    return rows.TextOrNull(facts.user)
        .TextOrNull(facts.job)
        .Number(facts.attempt)
        .Number(Known(rank.number))
        .Text(Clean(rank.node))
        .Text(facts.instance)
        .Number(numbers[facts.instance]++)
        .Null()
        .Number(Known(rank.device))
        .Number(at)
        .Number(version);
  }

  void AddKernel(Rows& row, const Task& task) {
    const bool has_class = task.kind < job_.classes.size();
    row.Text(has_class ? TextOf(job_.classes[task.kind].type) : "").Null().Null().Null();
    if (task.work == Work::kAiCpu) {
      row.Text("AI_CPU");
    } else if (task.work == Work::kCopy) {
      row.Text("COPY");
    } else if (has_class && job_.classes[task.kind].blocks > 0) {
      row.Text(job_.classes[task.kind].on_vector ? "AI_VECTOR_CORE" : "AI_CORE");
    } else {
      row.Null();
    }
    row.Null().Null();
  }

  void AddCollective(Rows& row, const Rank& rank, const analyze::Collective& of) {
    const auto group = rank.groups.find(std::string(job_.Text(of.group)));
    row.Text(TextOf(of.type))
        .Number(WaitOf(analysis_, of))
        .Number(Bytes(of.bytes))
        .Text(TextOf(of.group))
        .Null();
    if (group == rank.groups.end() || group->second.ranks.empty()) {
      row.Null();
    } else {
      row.Number(static_cast<int64_t>(group->second.ranks.size()));
    }
    row.Number(of.match == kNone ? std::nullopt : Known(last_ranks_[of.match]));
  }

  void AddStep(const Rank& rank, const CaptureFacts& facts, const StepRow& of, size_t i, int64_t tasks) {
    const bool is_open = job_.unfinished.contains(rank.steps[i].number);
    const auto us = [](Ns ns) { return (ns + 500) / 1000; };
    const auto us_or_null = [&us](std::optional<Ns> ns) {
      return ns ? std::optional(us(*ns)) : std::nullopt;
    };
    Rows& row = Begin(steps_, step_numbers_, rank, facts, rank.steps[i].begin, is_open ? 0 : 1);
    row.Number(rank.steps[i].number).Number(is_open ? 1 : 0);
    for (const Ns ns : {of.shares.step, of.shares.computing, of.shares.communication, of.shares.exposed})
      row.Number(us(ns));
    row.Number(us_or_null(of.wait)).Number(us(of.shares.free)).Number(tasks).Number(of.bytes).Real(of.mhz);
    for (const auto& wait : of.wait_of) row.Number(us_or_null(wait));
    for (const auto& [name, ns] : of.top) {
      if (ns > 0) {
        row.Text(TextOf(name)).Number(us(ns));
      } else {
        row.Null().Null();
      }
    }
    row.Number(of.lost).Number(ClockError()).End();
  }

  // One node's is one clock.
  std::optional<int64_t> ClockError() const {
    if (analysis_.clocks().from_data) return analysis_.clocks().bound;
    const auto elsewhere = [&](const Rank& rank) { return rank.node != job_.ranks.front().node; };
    return std::ranges::any_of(job_.ranks, elsewhere) ? std::nullopt : std::optional<int64_t>(0);
  }

  // The first of its ranks writes the row.
  const CaptureFacts& Capture(const Rank& rank) {
    const auto [at, is_new] = facts_.try_emplace(rank.source);
    if (!is_new) return at->second;
    CaptureFacts& facts = at->second = FactsOf(rank.source);
    for (std::optional<std::string>* text : {&facts.user, &facts.job, &facts.capture, &facts.kinds}) {
      if (*text) *text = Clean(**text);
    }
    const Ns begin = rank.tasks.empty() ? 0 : rank.tasks.front().begin;
    captures_.TextOrNull(facts.user)
        .TextOrNull(facts.job)
        .Number(facts.attempt)
        .Null()
        .Text(Clean(rank.node));
    captures_.Text(facts.instance).Number(0).Null().Null().Number(facts.from.value_or(begin));
    captures_.Number(facts.verdict == "running" ? 0 : 1).TextOrNull(facts.capture).Text(Clean(facts.object));
    captures_.Number(Bytes(facts.bytes)).TextOrNull(facts.kinds).Number(facts.from).Number(facts.to);
    captures_.TextOrNull(facts.verdict).Number(facts.lost).TextOrNull(facts.labels).End();
    return facts;
  }

  const std::string& TextOf(analyze::TextId id) {
    const auto [place, is_new] = texts_.try_emplace(id);
    if (is_new) place->second = Clean(job_.Text(id));
    return place->second;
  }

  const Analysis& analysis_;
  const Job& job_;
  Rows steps_, kernels_, captures_;
  const std::vector<int64_t> last_ranks_;
  std::map<std::string, int64_t> step_numbers_, kernel_numbers_;
  std::map<std::string, CaptureFacts> facts_;
  std::map<analyze::TextId, std::string> texts_;
};

}  // namespace

Status FillFrom(Engine& engine, const Analysis& analysis) {
  PROFD_RETURN_IF_ERROR(Create(engine));
  PROFD_RETURN_IF_ERROR(engine.Do("BEGIN TRANSACTION"));
  Filler filler(engine, analysis);
  for (size_t i = 0; i < analysis.job().ranks.size() && !engine.interrupted(); ++i) filler.Add(i);
  PROFD_RETURN_IF_ERROR(filler.Finish());
  return engine.Do("COMMIT");
}

}  // namespace profd::lake
