#include "client/verbs/data/lake_place.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/files/way.h"
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
  bool Has(const lake::Shipment& shipment) const override {
    std::error_code error;
    return fs::exists(fs::symlink_status(PathOf(shipment), error));
  }
  Result<bool> Add(lake::Engine& engine, const lake::Shipment& shipment,
                   const TemporaryFolder& scratch) override {
    if (Has(shipment)) return false;
    PROFD_RETURN_IF_ERROR(
        base::OpenWay(folder_ + "/" + shipment.folder, base::IfMissing::kMake, base::Trust::kLinks).status());
    PROFD_RETURN_IF_ERROR(WriteTable(engine, shipment.rows, scratch, PathOf(shipment)));
    return true;
  }

 private:
  std::string PathOf(const lake::Shipment& shipment) const {
    return folder_ + "/" + shipment.folder + "/" + shipment.name;
  }
  const std::string folder_;
};

class BucketPlace : public LakePlace {
 public:
  explicit BucketPlace(lake::s3::Address address) : bucket_(std::move(address)) {}
  std::string name() const override { return bucket_.name(); }
  bool Has(const lake::Shipment&) const override { return false; }
  Result<bool> Add(lake::Engine& engine, const lake::Shipment& shipment,
                   const TemporaryFolder& scratch) override {
    const std::string made = scratch.path() + "/table.parquet";
    PROFD_RETURN_IF_ERROR(engine.Write(shipment.rows, made));
    return bucket_.Put(shipment.folder + "/" + shipment.name, made);
  }

 private:
  lake::s3::Bucket bucket_;
};

}  // namespace

Result<std::unique_ptr<LakePlace>> OpenLakePlace(const std::string& to) {
  if (to.starts_with(lake::s3::kScheme)) {
    auto address = lake::s3::AddressOf(to, [](const char* name) { return std::getenv(name); });
    if (!address.ok()) return address.status().In("--to");
    return std::unique_ptr<LakePlace>(std::make_unique<BucketPlace>(std::move(*address)));
  }
  std::error_code error;
  if (!fs::is_directory(to, error))
    return Status(Code::kNotFound,
                  "--to " + OneLine(to) + ": there is no such folder: create the lake's folder first");
  return std::unique_ptr<LakePlace>(std::make_unique<FolderPlace>(to));
}

}  // namespace profd::client
