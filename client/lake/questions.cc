#include "client/lake/questions.h"

namespace profd::lake {
namespace {

constexpr Question kQuestions[] = {
    {"slow-ranks", "ranks whose own work is longest: the step less the time alone in collectives",
     "SELECT rank, node, count(*) AS steps, round(avg(step_us - coalesce(comm_exposed_us, 0)), 1) AS own_us, "
     "round(avg(step_us), 1) AS step_us, round(avg(comm_exposed_us), 1) AS comm_exposed_us "
     "FROM steps WHERE open = 0 GROUP BY rank, node ORDER BY own_us DESC, rank LIMIT 10"},
    {"slow-steps", "steps that took longest, and the rank that took longest in each",
     "SELECT step, max(step_us) AS step_us, arg_max(rank, step_us - coalesce(comm_exposed_us, 0)) AS "
     "slowest_rank "
     "FROM steps WHERE open = 0 GROUP BY step ORDER BY 2 DESC, step LIMIT 10"},
    {"late-ranks", "ranks that others wait for in collectives, and how long",
     "SELECT last_arrival AS rank, sum(wait_ns) // 1000 AS waited_us, count(DISTINCT rank) AS waiting_ranks, "
     "count(DISTINCT \"group\") AS groups FROM comm WHERE rank <> last_arrival GROUP BY last_arrival "
     "ORDER BY waited_us DESC, rank LIMIT 10"},
    {"top-ops", "kernels that take most of the devices' time",
     "SELECT op, type, unit, sum(n)::BIGINT AS n, sum(total_ns) // 1000 AS total_us, "
     "round(sum(total_ns) / sum(n) / 1000, 1) AS mean_us, round(max(p95_ns) / 1000, 1) AS p95_us FROM ops "
     "GROUP BY op, type, unit ORDER BY total_us DESC, op LIMIT 10"},
    {"slow-ops", "kernels that take a rank longer than the median rank, by the time that costs",
     "SELECT op, rank, n, round(mean / 1000, 1) AS mean_us, round(usual / 1000, 1) AS median_us, "
     "round((mean - usual) * n / 1000) AS cost_us FROM (SELECT *, median(mean) OVER (PARTITION BY op) AS "
     "usual "
     "FROM (SELECT op, rank, sum(n)::BIGINT AS n, sum(total_ns) / sum(n) AS mean FROM ops GROUP BY op, "
     "rank)) "
     "ORDER BY cost_us DESC, op, rank LIMIT 10"},
    {"comm", "collectives by group, type and size, and how much of their time is waiting",
     "SELECT \"group\", op, size_class, sum(n)::BIGINT AS n, sum(total_ns) // 1000 AS total_us, "
     "sum(wait_ns) // 1000 AS wait_us, sum(bytes)::BIGINT AS bytes FROM comm "
     "GROUP BY \"group\", op, size_class ORDER BY total_us DESC, 1, 2, 3 LIMIT 20"},
    // Slow is what its newest 21 steps are, by the median, against the fastest 21 it had. It begins with the
    // first long step behind the last 21 that were not slow, of which up to ten may be.
    {"slow-since", "ranks that are slow now: since which step, and how many times their fastest 21 steps",
     "WITH s AS (SELECT hash(node, proc, job, attempt, rank) AS k, node, job, attempt, rank, step, t, "
     "step_us, "
     "row_number() OVER (PARTITION BY hash(node, proc, job, attempt, rank) ORDER BY t) AS place, "
     "median(step_us) "
     "OVER (PARTITION BY hash(node, proc, job, attempt, rank) ORDER BY t ROWS BETWEEN 20 PRECEDING AND "
     "CURRENT "
     "ROW) AS lately FROM steps WHERE open = 0), u AS (SELECT *, min(CASE WHEN place > 20 THEN lately END) "
     "OVER "
     "(PARTITION BY k ORDER BY place) AS fastest FROM s), g AS (SELECT k, max(place) AS last, "
     "arg_max(lately, place) "
     "AS lately, arg_max(fastest, place) AS fastest, max(place) FILTER (WHERE place <= 20 OR lately <= 1.3 * "
     "fastest) "
     "AS fine FROM u GROUP BY k) SELECT job, attempt, rank, node, arg_min(step, place) AS since_step, min(t) "
     "AS since, "
     "round(any_value(g.lately / g.fastest), 2) AS times_longer FROM g JOIN s USING (k) WHERE fine < last "
     "AND place > "
     "fine - 10 AND step_us > 1.3 * g.fastest GROUP BY k, job, attempt, rank, node ORDER BY since, job, rank "
     "LIMIT 100"},
    // A step has a row of each profd that saw it.
    {"hangs", "steps that hang, or hung: longer than 10 s, or not ended when the row was written",
     "SELECT job, attempt, rank, node, step, min(t) AS since, arg_min(step_us, open) AS step_us, min(open) "
     "AS open "
     "FROM steps WHERE open = 0 OR kernels IS NULL GROUP BY node, proc, job, attempt, rank, step HAVING "
     "min(open) = 1 "
     "OR arg_min(step_us, open) > 10_000_000 ORDER BY since, job, rank LIMIT 100"},
    {"missing", "rows of the always-on summary that the lake lacks, and why",
     "SELECT node, why, \"table\", \"user\", job, rank, sum(\"rows\")::BIGINT AS \"rows\", min(\"from\") AS "
     "\"from\", "
     "max(\"to\") AS \"to\" FROM loss GROUP BY ALL UNION ALL SELECT node, 'not shipped, or lost with the "
     "node', "
     "'steps', NULL, NULL, NULL, gap - told, NULL, NULL FROM (SELECT node, instance, max(seq) + 1 - "
     "count(DISTINCT seq) AS gap, coalesce((SELECT sum(\"rows\")::BIGINT FROM loss WHERE loss.node = "
     "steps.node AND "
     "loss.instance = steps.instance AND \"table\" = 'steps' AND why = 'folder full'), 0) AS told FROM steps "
     "GROUP "
     "BY node, instance) WHERE gap > told ORDER BY node, \"rows\" DESC, why LIMIT 1000"},
    {"recordings", "recordings, whose they are, and whether they are whole",
     "SELECT object, node, \"user\", job, \"from\", \"to\", bytes, verdict, lost FROM captures "
     "ORDER BY node, object LIMIT 1000"},
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
