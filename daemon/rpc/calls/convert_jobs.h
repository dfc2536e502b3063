// Accounts of jobs as a caller may see them.
#pragma once

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "profd/v1/metrics.pb.h"

namespace profd::live {
class JobBook;
}

namespace profd::rpc {

// `book` nullptr: kFailedPrecondition.
base::Result<v1::JobsReply> VisibleJobs(const live::JobBook* book, const v1::JobsRequest& request,
                                        const auth::Caller& caller);

}  // namespace profd::rpc
