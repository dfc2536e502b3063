#include "daemon/rpc/calls/convert_jobs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/live/job_book.h"

namespace profd::rpc {

namespace {

bool IsAskedFor(const live::Job& job, const v1::JobsRequest& request) {
  return (request.pid() == 0 || request.pid() == job.facts.pid) &&
         std::ranges::all_of(request.labels(), [&job](const auto& label) {
           const auto found = job.facts.labels.find(label.first);
           return found != job.facts.labels.end() && found->second == label.second;
         });
}

void EncodeValue(const live::JobValue& value, v1::JobValue* to) {
  const live::Metric& metric = *value.metric;
  const bool is_counter = metric.type == live::Metric::Type::kCounter;
  to->set_metric(std::string(metric.name));
  to->set_kind(std::string(metric.kind));
  to->set_unit(std::string(metric.unit));
  to->set_counter(is_counter);
  for (const live::Label& label : value.labels) {
    v1::LiveLabel* const pair = to->add_labels();
    pair->set_name(std::string(label.name));
    pair->set_value(label.value);
  }
  if (!is_counter) to->set_mean(value.Mean());
  to->set_least(value.least);
  to->set_most(value.most);
  to->set_last(value.last);
  to->set_sum(value.sum);
  to->set_known_ns(value.known_ns);
}

void EncodeJob(const live::Job& job, const v1::JobsRequest& request, const auth::Caller& caller,
               v1::Job* to) {
  to->set_pid(job.facts.pid);
  to->set_uid(job.facts.uid);
  to->set_user(job.facts.user);
  to->set_name(job.facts.name);
  to->mutable_labels()->insert(job.facts.labels.begin(), job.facts.labels.end());
  to->mutable_devices()->Assign(job.facts.devices.begin(), job.facts.devices.end());
  to->set_begin_wall_ns(job.facts.begin_wall_ns);
  to->set_end_wall_ns(job.end_wall_ns);
  to->set_samples_left_out(job.left_out);
  const std::vector<std::string_view> wanted(request.metrics().begin(), request.metrics().end());
  for (const live::JobValue& value : job.values) {
    if (!wanted.empty() && std::ranges::find(wanted, value.metric->name) == wanted.end()) continue;
    if (auth::May(caller, value.needs, value.target).ok()) EncodeValue(value, to->add_values());
  }
}

}  // namespace

base::Result<v1::JobsReply> VisibleJobs(const live::JobBook* book, const v1::JobsRequest& request,
                                        const auth::Caller& caller) {
  if (book == nullptr) {
    return base::Status(
        base::Code::kFailedPrecondition,
        "this profd keeps no accounts of jobs: an administrator turns them on with live.jobs: true in its "
        "settings, and restarts it");
  }
  v1::JobsReply reply;
  for (const live::Job* const job : book->All()) {
    if (IsAskedFor(*job, request) &&
        auth::May(caller, auth::Action::kSeeProcess, {.owner = job->facts.uid}).ok())
      EncodeJob(*job, request, caller, reply.add_jobs());
  }
  return reply;
}

}  // namespace profd::rpc
