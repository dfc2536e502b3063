#include "client/verbs/data/lake_place.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/files/way.h"
#include "client/lake/files.h"
#include "client/lake/s3/bucket.h"
#include "client/verbs/data/table_file.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;

class FolderPlace : public LakePlace {
 public:
  explicit FolderPlace(std::string folder) : folder_(std::move(folder)) {}
  std::string name() const override { return OneLine(folder_); }
  bool Has(const std::string& object) const override {
    std::error_code error;
    return fs::exists(fs::symlink_status(PathOf(object), error));
  }
  Result<bool> Put(const std::string& object, const std::string& file) override {
    if (Has(object)) return false;
    const std::string path = PathOf(object);
    PROFD_RETURN_IF_ERROR(
        base::OpenWay(fs::path(path).parent_path(), base::IfMissing::kMake, base::Trust::kLinks).status());
    PROFD_RETURN_IF_ERROR(CopyToNamed(file, path));
    return true;
  }
  Result<std::vector<std::string>> List(const std::string& beginning) override {
    return lake::FilesBelow(folder_, beginning);
  }
  Result<std::string> Local(const std::string& object, const TemporaryFolder&) override {
    return PathOf(object);
  }

 private:
  std::string PathOf(const std::string& object) const { return folder_ + "/" + object; }
  const std::string folder_;
};

class BucketPlace : public LakePlace {
 public:
  explicit BucketPlace(lake::s3::Address address) : bucket_(std::move(address)) {}
  std::string name() const override { return bucket_.name(); }
  bool Has(const std::string&) const override { return false; }
  Result<bool> Put(const std::string& object, const std::string& file) override {
    return bucket_.Put(object, file);
  }
  Result<std::vector<std::string>> List(const std::string& beginning) override {
    PROFD_ASSIGN_OR_RETURN(const auto objects, bucket_.List(beginning));
    std::vector<std::string> names;
    names.reserve(objects.size());
    for (const lake::s3::Object& object : objects) names.push_back(object.name);
    return names;
  }
  Result<std::string> Local(const std::string& object, const TemporaryFolder& scratch) override {
    const fs::path path = fs::path(scratch.path()) / object;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return lake::NotReadable(path.parent_path(), error);
    PROFD_RETURN_IF_ERROR(bucket_.Get(object, path));
    return path.string();
  }

 private:
  lake::s3::Bucket bucket_;
};

}  // namespace

Result<bool> LakePlace::PutRows(lake::Engine& engine, const std::string& rows, const std::string& object,
                                const TemporaryFolder& scratch) {
  if (Has(object)) return false;
  const std::string made = scratch.path() + "/table.parquet";
  PROFD_RETURN_IF_ERROR(engine.Write(rows, made));
  return Put(object, made);
}

Result<std::unique_ptr<LakePlace>> OpenLakePlace(const std::string& option, const std::string& place) {
  if (place.starts_with(lake::s3::kScheme)) {
    auto address = lake::s3::AddressOf(place, [](const char* name) { return std::getenv(name); });
    if (!address.ok()) return address.status().In(option);
    return std::unique_ptr<LakePlace>(std::make_unique<BucketPlace>(std::move(*address)));
  }
  std::error_code error;
  if (!fs::is_directory(place, error))
    return Status(Code::kNotFound, option + " " + OneLine(place) +
                                       ": there is no such folder: create the lake's folder first");
  return std::unique_ptr<LakePlace>(std::make_unique<FolderPlace>(place));
}

}  // namespace profd::client
