// ship: what recordings say, and what profd keeps of programs (daemon/summary), into a lake.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/export/write/output_file.h"
#include "client/files/temporary_folder.h"
#include "client/lake/ship/rows_files.h"
#include "client/lake/ship/shipments.h"
#include "client/verbs/data/lake_place.h"
#include "client/verbs/lake_work.h"
#include "client/verbs/verb.h"
#include "client/words/jobs.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

struct Options {
  std::vector<std::string> directories;
  std::string to, node, summary, acked;
  bool recursive = false;
};

std::string ObjectOf(const lake::Shipment& shipment) { return shipment.folder + "/" + shipment.name; }

// What became of files.
class Ledger {
 public:
  Ledger(const Context& context, LakePlace& place) : context_(context), place_(place) {}

  Status Ship(lake::Engine& engine, const lake::Shipment& shipment, const TemporaryFolder& scratch) {
    PROFD_ASSIGN_OR_RETURN(const bool is_new,
                           place_.PutRows(engine, shipment.rows, ObjectOf(shipment), scratch));
    shipped_ += is_new ? 1 : 0;
    files_.push_back({{"file", ObjectOf(shipment)}, {"table", shipment.table}, {"new", is_new}});
    return {};
  }
  void Print() const {
    if (context_.json) return context_.Print(files_.dump() + "\n");
    const size_t there = files_.size() - shipped_;
    context_.Print(std::to_string(shipped_) + " files shipped to " + place_.name() +
                   (there > 0 ? "; " + std::to_string(there) + " were there" : std::string()) + "\n");
  }

 private:
  const Context& context_;
  LakePlace& place_;
  nlohmann::ordered_json files_ = nlohmann::ordered_json::array();
  size_t shipped_ = 0;
};

// Tables are shipped in the order of the schema: `captures`, the last of a recording's, says that all are
// there.
ExitCode ShipRecordings(const Context& context, const Options& options, LakePlace& place, LakeWork& work,
                        const TemporaryFolder& scratch) {
  analyze::Request request;
  request.recursive = options.recursive;
  request.jobs = OwnJobs();
  const auto analysis = work.Fill(context, options.directories, std::move(request));
  if (!analysis.ok()) return context.Fail(analysis.status());
  const auto shipments = lake::ShipmentsOf(work.engine(), options.node);
  if (!shipments.ok()) return context.Fail(shipments.status());
  Ledger ledger(context, place);
  for (const lake::Shipment& shipment : *shipments) {
    if (const Status status = ledger.Ship(work.engine(), shipment, scratch); !status.ok())
      return context.Fail(status);
  }
  ledger.Print();
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

// The lake has them now: profd removes its own.
Status Acknowledge(const std::string& path, const std::vector<std::string>& names) {
  if (path.empty()) return {};
  PROFD_ASSIGN_OR_RETURN(const auto file, OutputFile::CreateNamed(path));
  for (const std::string& name : names) file->Append(name + "\n");
  return file->Finish();
}

// A file that cannot be shipped stays, is said, and holds up no other.
ExitCode ShipSummary(const Context& context, const Options& options, LakePlace& place, LakeWork& work,
                     const TemporaryFolder& scratch) {
  const auto names = lake::RowsFilesIn(options.summary);
  if (!names.ok()) return context.Fail(names.status());
  if (names->empty() && !context.json)
    context.Note(
        OneLine(options.summary) +
        " holds no closed files of rows: is it profd's summary.folder? A file closes after summary.file_s");
  if (const auto engine = work.Open(); !engine.ok()) return context.Fail(engine.status());
  Ledger ledger(context, place);
  std::vector<std::string> there;
  ExitCode worst = ExitCode::kOk;
  for (const std::string& name : *names) {
    const auto one = [&]() -> Status {
      PROFD_ASSIGN_OR_RETURN(const lake::RowsFile file, lake::ReadRowsFile(options.summary, name));
      PROFD_ASSIGN_OR_RETURN(const lake::Shipment shipment, lake::ShipmentOf(file));
      if (!place.Has(ObjectOf(shipment))) PROFD_RETURN_IF_ERROR(lake::FillFrom(work.engine(), file, scratch));
      return ledger.Ship(work.engine(), shipment, scratch);
    };
    const Status status = one();
    if (status.ok()) {
      there.push_back(name);
    } else if (status.code() == Code::kDataLoss || status.code() == Code::kUnimplemented) {
      context.Note(status.message());
      worst = ExitCode::kPartialLoss;
    } else if (!fs::exists(options.summary + "/" + name)) {
      continue;  // profd has removed it meanwhile
    } else {
      const ExitCode code = context.Fail(status);
      (void)Acknowledge(options.acked, there);
      return code;
    }
  }
  if (const Status status = Acknowledge(options.acked, there); !status.ok()) return context.Fail(status);
  ledger.Print();
  return worst;
}

Status CheckWishes(const Options& options) {
  const bool of_summary = !options.summary.empty();
  if (options.directories.empty() != of_summary)
    return {Code::kInvalidArgument, "expected recordings, or --summary FOLDER: name one of the two"};
  if (of_summary && (!options.node.empty() || options.recursive))
    return {Code::kInvalidArgument,
            "--node and --recursive are for recordings: leave them out with --summary"};
  if (!of_summary && !options.acked.empty())
    return {Code::kInvalidArgument, "--acked goes with --summary: recordings stay where they are"};
  std::error_code error;
  if (of_summary && !fs::is_directory(options.summary, error))
    return {Code::kNotFound, "--summary " + OneLine(options.summary) +
                                 ": there is no such folder: name profd's summary.folder"};
  const fs::path acked = options.acked;
  if (!acked.empty() && (acked.filename().empty() || fs::is_directory(acked, error)))
    return {Code::kInvalidArgument, "--acked " + OneLine(options.acked) + " is a folder: name a file"};
  if (!acked.empty() && !fs::is_directory(fs::absolute(acked).parent_path(), error))
    return {Code::kNotFound,
            "--acked " + OneLine(options.acked) + ": there is no such folder: create it first"};
  return {};
}

ExitCode Run(const Context& context, const Options& options) {
  if (const Status status = CheckWishes(options); !status.ok()) return context.Fail(status);
  const auto place = OpenLakePlace("--to", options.to);
  if (!place.ok()) return context.Fail(place.status());
  LakeWork work;
  const auto scratch = TemporaryFolder::Make("ship");
  if (!scratch.ok()) return context.Fail(scratch.status());
  if (options.summary.empty()) return ShipRecordings(context, options, **place, work, *scratch);
  return ShipSummary(context, options, **place, work, *scratch);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.List("DIR", &options->directories,
                 "a session, PROF directory, *_ascend_pt folder, database, or folder of these");
  arguments
      .Text("--to", &options->to,
            "the lake: a folder, which the nodes may share, or s3://BUCKET/FOLDER (docs/lake.md)")
      .Required();
  arguments.Text("--summary", &options->summary,
                 "files of profd's always-on summary lie there (summary.folder)");
  arguments.Text("--acked", &options->acked,
                 "with --summary: file that says what is shipped, so that profd removes it (summary.acked)");
  arguments.Text("--node", &options->node, "host name of the node, for recordings that do not say it");
  arguments.Flag("--recursive", &options->recursive, "recordings of one job lie anywhere below DIR");
  return {.run = [options](const Context& context) { return Run(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Ship() { return {"ship", "adds recordings, or the always-on summary, to a lake", Reach::kHere, Define}; }
}  // namespace verbs

}  // namespace profd::client
