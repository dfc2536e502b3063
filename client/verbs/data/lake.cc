// lake merge: the small files of a lake become few large ones.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/calendar.h"
#include "base/clock.h"
#include "client/files/temporary_folder.h"
#include "client/lake/files.h"
#include "client/lake/manifest.h"
#include "client/lake/ship/merge.h"
#include "client/verbs/data/lake_place.h"
#include "client/verbs/lake_work.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Status;

constexpr uint64_t kSlotNs = 600'000'000'000;  // of the names in hot/

struct Options {
  std::string place;
  bool now = false;
};
struct Sum {
  uint64_t inputs = 0, outputs = 0, rows = 0;
  uint64_t young = 0;  // left for later
};

// "hot/v1/steps/20261129T1420/a/n1_….parquet" → "20261129T1420"
std::string SlotIn(const std::string& name, const std::string& tree) {
  return name.substr(tree.size(), name.find('/', tree.size()) - tree.size());
}

class Merger {
 public:
  Merger(LakePlace& place, LakeWork& work, const TemporaryFolder& scratch)
      : place_(place), work_(work), scratch_(scratch) {}

  // Files of slots that ended a slot ago; with `all` those of any.
  Status Run(bool all) {
    PROFD_RETURN_IF_ERROR(ReadManifests());
    PROFD_RETURN_IF_ERROR(work_.engine().MakeRoom("merging"));
    const std::string last =
        all ? "~" : base::UtcText((base::WallNs() / kSlotNs - 1) * kSlotNs, "%Y%m%dT%H%M");
    for (const lake::TableSchema& table : lake::Tables()) PROFD_RETURN_IF_ERROR(Merge(table, last));
    if (!any_)
      return {Code::kNotFound,
              place_.name() + ": there is no lake: nothing below hot/v1; check the folder's name"};
    return {};
  }
  const Sum& sum() const { return sum_; }

 private:
  Status ReadManifests() {
    PROFD_ASSIGN_OR_RETURN(const auto names, place_.List(std::string(lake::kManifests)));
    for (const std::string& name : names) {
      if (!name.ends_with(".json")) continue;
      PROFD_ASSIGN_OR_RETURN(const std::string path, place_.Local(name, scratch_));
      PROFD_RETURN_IF_ERROR(lake::AddMerged(path, &merged_));
    }
    return {};
  }

  Status Merge(const lake::TableSchema& table, const std::string& last) {
    const std::string tree = "hot/v1/" + std::string(table.name) + "/";
    PROFD_ASSIGN_OR_RETURN(const auto names, place_.List(tree));
    any_ = any_ || !names.empty() || !merged_.empty();
    lake::Manifest manifest;
    std::vector<std::string> files;
    for (const std::string& name : names) {
      if (!name.ends_with(lake::kParquetEnd) || merged_.contains(name)) continue;
      if (SlotIn(name, tree) >= last) {
        ++sum_.young;
        continue;
      }
      if (work_.engine().interrupted()) return {Code::kCancelled, "interrupted"};
      PROFD_ASSIGN_OR_RETURN(const std::string path, place_.Local(name, scratch_));
      manifest.inputs.push_back(name);
      files.push_back(path);
    }
    if (files.empty()) return {};
    const std::string id = lake::IdOf(manifest.inputs);
    PROFD_ASSIGN_OR_RETURN(const auto hours, lake::Merged(work_.engine(), table, files));
    for (const lake::Hour& hour : hours) {
      const std::string object = hour.folder + "/" + id + std::string(lake::kParquetEnd);
      PROFD_RETURN_IF_ERROR(place_.PutRows(work_.engine(), hour.rows, object, scratch_).status());
      manifest.outputs.push_back(object);
      manifest.rows += hour.count;
    }
    PROFD_RETURN_IF_ERROR(PutManifest(id, manifest));
    sum_.inputs += manifest.inputs.size();
    sum_.outputs += manifest.outputs.size();
    sum_.rows += manifest.rows;
    return {};
  }

  Status PutManifest(const std::string& id, const lake::Manifest& manifest) {
    const std::string path = scratch_.path() + "/manifest.json";
    if (std::ofstream out(path, std::ios::binary); !(out << lake::TextOf(manifest)).flush())
      return Status::FromErrno("write " + path);
    return place_.Put(std::string(lake::kManifests) + id + ".json", path).status();
  }

  LakePlace& place_;
  LakeWork& work_;
  const TemporaryFolder& scratch_;
  std::set<std::string> merged_;
  bool any_ = false;
  Sum sum_;
};

ExitCode MergeLake(const Context& context, const Options& options) {
  const auto place = OpenLakePlace("lake merge", options.place);
  if (!place.ok()) return context.Fail(place.status());
  LakeWork work;
  const auto scratch = TemporaryFolder::Make("merge");
  if (!scratch.ok()) return context.Fail(scratch.status());
  if (const auto engine = work.Open(); !engine.ok()) return context.Fail(engine.status());
  Merger merger(**place, work, *scratch);
  if (const Status status = merger.Run(options.now); !status.ok()) return context.Fail(status);
  const Sum& sum = merger.sum();
  if (context.json) {
    context.Print(
        nlohmann::ordered_json{{"inputs", sum.inputs}, {"outputs", sum.outputs}, {"rows", sum.rows}}.dump() +
        "\n");
  } else if (sum.inputs == 0) {
    context.Print(
        "nothing to merge in " + (*place)->name() +
        (sum.young > 0 ? ": " + std::to_string(sum.young) + " files are newer than 20 minutes (--now)" : "") +
        "\n");
  } else {
    context.Print(std::to_string(sum.inputs) + " files merged into " + std::to_string(sum.outputs) + " in " +
                  (*place)->name() + ", " + std::to_string(sum.rows) + " rows\n");
  }
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  cli::Arguments merge =
      arguments.Sub("merge", "make large files of a lake's small ones, so that questions are fast");
  merge.Text("LAKE", &options->place, "a folder, or s3://BUCKET/FOLDER").Required();
  merge.Flag("--now", &options->now, "files of the last 20 minutes, too, to which more may come");
  return {.run = [options](const Context& context) { return MergeLake(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Lake() { return {"lake", "keeps a lake in order", Reach::kHere, Define}; }
}  // namespace verbs

}  // namespace profd::client
