#include "client/lake/fetch.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "client/lake/files.h"
#include "client/lake/manifest.h"
#include "client/lake/schema.h"
#include "client/words/text.h"

namespace profd::lake {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

Status CheckRoom(const std::vector<s3::Object>& objects, const std::string& folder, const std::string& name) {
  uint64_t bytes = 0;
  for (const s3::Object& object : objects) bytes += object.bytes;
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || bytes < space.available) return {};
  constexpr uint64_t kMb = 1'000'000;
  return {Code::kResourceExhausted,
          name + ": the files of these tables have " + std::to_string(bytes / kMb) + " MB, and " +
              client::OneLine(folder) + " has room for " + std::to_string(space.available / kMb) +
              ": let TMPDIR name a folder with more, or ask a part of the lake (s3://BUCKET/FOLDER)"};
}

base::Result<bool> IsLakeIn(s3::Bucket& bucket) {
  for (const std::string_view tree : Trees()) {
    PROFD_ASSIGN_OR_RETURN(const auto found, bucket.List(std::string(tree) + "/"));
    if (!found.empty()) return true;
  }
  return false;
}

}  // namespace

Status FetchTables(s3::Bucket& bucket, const std::string& query, const Engine& engine,
                   const std::string& folder) {
  std::vector<s3::Object> objects;
  for (const TableSchema& table : Tables()) {
    if (query.find(table.name) == std::string::npos) continue;
    for (const std::string_view tree : Trees()) {
      PROFD_ASSIGN_OR_RETURN(const auto found,
                             bucket.List(std::string(tree) + "/" + std::string(table.name) + "/"));
      objects.insert(objects.end(), found.begin(), found.end());
    }
  }
  if (objects.empty()) {
    PROFD_ASSIGN_OR_RETURN(const bool is_lake, IsLakeIn(bucket));
    if (!is_lake)
      return {Code::kNotFound,
              bucket.name() + ": there is no lake: nothing below hot/v1 or cold/v1; check the folder's name"};
  }
  PROFD_ASSIGN_OR_RETURN(const auto manifests, bucket.List(std::string(kManifests)));
  std::set<std::string> merged;
  for (const s3::Object& object : manifests) {
    const std::string path = folder + "/manifest.json";
    PROFD_RETURN_IF_ERROR(bucket.Get(object.name, path));
    (void)AddMerged(path, &merged);  // as in a folder
  }
  std::erase_if(objects, [&](const s3::Object& object) { return merged.contains(object.name); });
  PROFD_RETURN_IF_ERROR(CheckRoom(objects, folder, bucket.name()));
  for (const s3::Object& object : objects) {
    const fs::path path = fs::path(folder) / object.name;
    if (path.extension() != kParquetEnd) continue;
    if (engine.interrupted()) return {Code::kCancelled, "interrupted"};
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return NotReadable(path.parent_path(), error);
    PROFD_RETURN_IF_ERROR(bucket.Get(object.name, path));
  }
  return {};
}

}  // namespace profd::lake
