#include "client/lake/questions.h"

namespace profd::lake {
namespace {

constexpr Question kQuestions[] = {
    {"slow-ranks", "ranks whose own work is longest: the step less the time alone in collectives",
     "SELECT rank, node, count(*) AS steps, round(avg(step_us - comm_exposed_us), 1) AS own_us, "
     "round(avg(step_us), 1) AS step_us, round(avg(comm_exposed_us), 1) AS comm_exposed_us "
     "FROM steps WHERE open = 0 GROUP BY rank, node ORDER BY own_us DESC, rank LIMIT 10"},
    {"slow-steps", "steps that took longest, and the rank that took longest in each",
     "SELECT step, max(step_us) AS step_us, arg_max(rank, step_us - comm_exposed_us) AS slowest_rank "
     "FROM steps WHERE open = 0 GROUP BY step ORDER BY 2 DESC, step LIMIT 10"},
    {"top-ops", "types of kernels that take most of the devices' time",
     "SELECT type, count(*) AS n, sum(dur_ns) // 1000 AS total_us, round(avg(dur_ns) / 1000, 1) AS mean_us, "
     "round(quantile_cont(dur_ns, 0.95) / 1000, 1) AS p95_us FROM kernels WHERE \"group\" IS NULL "
     "GROUP BY type ORDER BY total_us DESC, type LIMIT 10"},
    {"comm", "collectives by group and type, and how unevenly ranks spend their time in them",
     "SELECT \"group\", type, count(*) AS n, sum(dur_ns) // 1000 AS total_us, min(dur_ns) // 1000 AS min_us, "
     "max(dur_ns) // 1000 AS max_us, sum(bytes) AS bytes FROM kernels WHERE \"group\" IS NOT NULL "
     "GROUP BY ALL ORDER BY total_us DESC, 1, 2 LIMIT 20"},
};

}  // namespace

std::span<const Question> Questions() { return kQuestions; }

const Question* FindQuestion(std::string_view name) {
  for (const Question& question : kQuestions) {
    if (question.name == name) return &question;
  }
  return nullptr;
}

}  // namespace profd::lake
