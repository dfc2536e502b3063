// What msprof takes inside of a running job, and of results.
#include "client/options/table_rows.h"

namespace profd::options {

namespace {

constexpr Values kIteration[] = {{.min = 1, .max = kMaxSeconds, .preset = "1"}};
constexpr Values kTableFormat[] = {{.words = "csv json", .preset = "csv"}};
constexpr Values kRules[] = {
    {.words = "communication communication_matrix", .preset = "communication,communication_matrix"}};
constexpr std::string_view kOneIteration =
    "what lies within the iteration, tables and tracks of the host and of devices alike; without the two all "
    "there is";

constexpr Option kOptions[] = {
    // Start and stop inside a running job.
    {.name = "dynamic",
     .rows = "F-080 F-082 F-087",
     .about = "on: start and stop by words on the standard input",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .excludes = "sys-devices sys-period sys-cpu-profiling delay duration",
     .becomes = Becomes::kProgram,
     .standing = Standing::kDifferent,
     .because =
         "on a 310 too; no environment variable has to be set, and client and job may be of two users"},
    {.name = "pid",
     .rows = "F-081",
     .about = "the running processes: N,…",
     .values = kPlain,
     .needs = "dynamic=on",
     .becomes = Becomes::kProgram},

    // Results.
    {.name = "parse",
     .rows = "F-089",
     .about = "on: parse a PROF directory",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .excludes = "query export analyze rule clear",
     .becomes = Becomes::kResults,
     .what = "export",
     .standing = Standing::kDifferent,
     .because = "does what export=on does: nothing is parsed beforehand"},
    {.name = "query",
     .rows = "F-090",
     .about = "on: what is in PROF directories",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .becomes = Becomes::kResults,
     .what = "query"},
    {.name = "export",
     .rows = "F-091 F-101",
     .about = "on: timelines, tables and a database of PROF directories",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .becomes = Becomes::kResults,
     .what = "export"},
    {.name = "iteration-id",
     .rows = "F-092",
     .about = "which iteration",
     .shape = Shape::kNumber,
     .values = kIteration,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .what = "export",
     .standing = Standing::kDifferent,
     .because = kOneIteration},
    {.name = "model-id",
     .rows = "F-093",
     .about = "which model",
     .shape = Shape::kNumber,
     .values = kNumber,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .what = "export",
     .standing = Standing::kDifferent,
     .because = kOneIteration},
    {.name = "summary-format",
     .rows = "F-094",
     .about = "of the tables",
     .shape = Shape::kWord,
     .values = kTableFormat,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .what = "format"},
    {.name = "reports",
     .rows = "F-095",
     .about = "file that chooses tracks of the timeline",
     .shape = Shape::kPath,
     .values = kPlain,
     .needs = "export=on",
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kMissing,
     .because = "every track is exported; profctl export --kinds chooses by kind"},
    {.name = "clear",
     .rows = "F-096",
     .about = "on: remove what parsing left",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = "nothing is left to be removed"},
    {.name = "analyze",
     .rows = "F-097",
     .about = "on: analyse communication",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because =
         "writes JSON and database at once, whatever type and rule say; of collectives whose parts are "
         "not recorded, all of the time is transit"},
    {.name = "rule",
     .rows = "F-097",
     .about = "what is analysed",
     .shape = Shape::kWords,
     .values = kRules,
     .needs = "analyze=on output",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because =
         "writes JSON and database at once, whatever type and rule say; of collectives whose parts are "
         "not recorded, all of the time is transit"},
};

}  // namespace

std::span<const Option> RowsOfResults() { return kOptions; }

}  // namespace profd::options
