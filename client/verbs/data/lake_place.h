// Where a lake lies, for who adds to it: a folder, or a bucket of an S3 store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/files/temporary_folder.h"
#include "client/lake/engine.h"

namespace profd::client {

// Objects are files; their names are those below the lake's folder: "hot/v1/…". **Thread:** one.
class LakePlace {
 public:
  virtual ~LakePlace() = default;
  virtual std::string name() const = 0;
  // A bucket is not asked: a node's key may write only. It answers to Put().
  virtual bool Has(const std::string& object) const = 0;
  // Whole or not at all. False: it was there.
  virtual base::Result<bool> Put(const std::string& object, const std::string& file) = 0;
  // Those whose names begin with that, sorted.
  virtual base::Result<std::vector<std::string>> List(const std::string& beginning) = 0;
  // A file with what is in the object: in `scratch`, or the object itself.
  virtual base::Result<std::string> Local(const std::string& object, const TemporaryFolder& scratch) = 0;

  // `rows`, a table or "(SELECT …)", as a Parquet file. False: it was there.
  base::Result<bool> PutRows(lake::Engine& engine, const std::string& rows, const std::string& object,
                             const TemporaryFolder& scratch);
};

// A folder that is there, or "s3://BUCKET/FOLDER". `option`: what named it, for errors.
base::Result<std::unique_ptr<LakePlace>> OpenLakePlace(const std::string& option, const std::string& place);

}  // namespace profd::client
