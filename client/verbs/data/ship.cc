// ship: what recordings say, into a lake on a folder.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files/way.h"
#include "client/files/temporary_folder.h"
#include "client/lake/shipments.h"
#include "client/verbs/data/table_file.h"
#include "client/verbs/lake_work.h"
#include "client/verbs/verb.h"
#include "client/words/jobs.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;

struct Options {
  std::vector<std::string> directories;
  std::string to, node;
  bool recursive = false;
};

enum class Fate : uint8_t { kShipped, kWasThere };

Status CheckLake(const std::string& to) {
  std::error_code error;
  if (fs::is_directory(to, error)) return {};
  return {Code::kNotFound,
          "--to " + OneLine(to) + ": there is no such folder: create the lake's folder first"};
}

Result<Fate> Ship(lake::Engine& engine, const lake::Shipment& shipment, const TemporaryFolder& scratch,
                  const std::string& lake) {
  const std::string folder = lake + "/" + shipment.folder, path = folder + "/" + shipment.name;
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error))) return Fate::kWasThere;
  PROFD_RETURN_IF_ERROR(base::OpenWay(folder, base::IfMissing::kMake, base::Trust::kLinks).status());
  PROFD_RETURN_IF_ERROR(WriteTable(engine, shipment.rows, scratch, path));
  return Fate::kShipped;
}

// Tables are shipped in the order of the schema: `captures`, the last, says that all are there.
ExitCode Run(const Context& context, const Options& options) {
  if (const Status status = CheckLake(options.to); !status.ok()) return context.Fail(status);
  analyze::Request request;
  request.recursive = options.recursive;
  request.jobs = OwnJobs();
  LakeWork work;
  const auto analysis = work.Fill(context, options.directories, std::move(request));
  if (!analysis.ok()) return context.Fail(analysis.status());
  const auto shipments = lake::ShipmentsOf(work.engine(), options.node);
  if (!shipments.ok()) return context.Fail(shipments.status());
  const auto scratch = TemporaryFolder::Make("ship");
  if (!scratch.ok()) return context.Fail(scratch.status());
  auto files = nlohmann::ordered_json::array();
  size_t shipped = 0;
  for (const lake::Shipment& shipment : *shipments) {
    const auto fate = Ship(work.engine(), shipment, *scratch, options.to);
    if (!fate.ok()) return context.Fail(fate.status());
    const bool is_new = *fate == Fate::kShipped;
    shipped += is_new ? 1 : 0;
    files.push_back(
        {{"file", shipment.folder + "/" + shipment.name}, {"table", shipment.table}, {"new", is_new}});
  }
  if (context.json) {
    context.Print(files.dump() + "\n");
  } else {
    const size_t there = files.size() - shipped;
    context.Print(std::to_string(shipped) + " files shipped to " + OneLine(options.to) +
                  (there > 0 ? "; " + std::to_string(there) + " were there" : std::string()) + "\n");
  }
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments
      .List("DIR", &options->directories,
            "a session, PROF directory, *_ascend_pt folder, database, or folder of these")
      .Required();
  arguments.Text("--to", &options->to, "the lake: a folder, which the nodes may share").Required();
  arguments.Text("--node", &options->node, "host name of the node, for recordings that do not say it");
  arguments.Flag("--recursive", &options->recursive, "recordings of one job lie anywhere below DIR");
  return {.run = [options](const Context& context) { return Run(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Ship() { return {"ship", "adds the tables of recordings to a lake", Reach::kHere, Define}; }
}  // namespace verbs

}  // namespace profd::client
