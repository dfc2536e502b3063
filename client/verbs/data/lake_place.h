// Where a lake lies, for who adds to it: a folder, or a bucket of an S3 store.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "client/files/temporary_folder.h"
#include "client/lake/engine.h"
#include "client/lake/ship/shipments.h"

namespace profd::client {

// **Thread:** one.
class LakePlace {
 public:
  virtual ~LakePlace() = default;
  virtual std::string name() const = 0;
  // A bucket is not asked: a node's key may write only. It answers to Add().
  virtual bool Has(const lake::Shipment& shipment) const = 0;
  // The shipment's rows, as its file; whole or not at all. False: it was there.
  virtual base::Result<bool> Add(lake::Engine& engine, const lake::Shipment& shipment,
                                 const TemporaryFolder& scratch) = 0;
};

// A folder that is there, or "s3://BUCKET/FOLDER".
base::Result<std::unique_ptr<LakePlace>> OpenLakePlace(const std::string& to);

}  // namespace profd::client
