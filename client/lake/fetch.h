// A lake in a bucket, for who asks it: the engine reads files alone.
#pragma once

#include <string>

#include "base/status.h"
#include "client/lake/engine.h"
#include "client/lake/s3/bucket.h"

namespace profd::lake {

// The files of the tables that the query names come into `folder`, in the lake's tree; of other tables none.
// An error where the file system has no place for them. Ends early, with an error, if the engine is
// interrupted.
base::Status FetchTables(s3::Bucket& bucket, const std::string& query, const Engine& engine,
                         const std::string& folder);

}  // namespace profd::lake
