// --json: what scripts read. Field names are stable (docs/profctl.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/export/exporter.h"
#include "client/export/inventory.h"
#include "client/show/threads.h"
#include "client/verify/verify.h"
#include "format/mend/mend.h"
#include "profd/v1/control.pb.h"
#include "profd/v1/metrics.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// One line each, with its line end.
std::string SessionJson(const v1::SessionInfo& info);
std::string SessionsJson(const std::vector<v1::SessionInfo>& sessions);
std::string DevicesJson(const v1::DevicesReply& reply);
std::string LiveJson(const v1::LiveValues& values);
std::string JobsJson(const v1::JobsReply& reply, uint64_t now_wall_ns);
std::string ThreadsJson(const ShownProcess& process);
std::string TargetsJson(const v1::TargetsReply& reply);
std::string LeaseJson(const v1::Lease& lease);
std::string LeasesJson(const std::vector<v1::Lease>& leases);
std::string ChecksJson(const std::vector<v1::Check>& checks);
// `via`: the relay that asked, or ""; `out`: what the verb printed as JSON, "" = nothing.
std::string AnswerJson(const std::string& host, const std::string& via, int exit_code, const std::string& out,
                       const std::string& err);
std::string SkewJson(size_t fired, uint64_t skew_ns, int64_t last_late_ns, uint64_t uncertainty_ns);
// What a node's profd says of itself in a registry; nullopt when it is nothing that profd writes.
struct Registration {
  std::string host;
  std::map<std::string, std::string> labels;
};
std::optional<Registration> ParseRegistration(const std::string& text);
// `is_ok`: of every directory that was named, also those that could not be read.
// Of directories that are sealed now.
std::string RepairJson(const std::vector<mend::Mended>& all, bool is_ok);
std::string VerifyJson(const std::vector<VerifyReport>& reports, bool is_ok);
std::string ExportJson(const std::vector<ExportResult>& results, bool is_ok);
// Of each directory the files that an export would write.
std::string PlannedJson(const std::vector<std::pair<std::string, std::vector<std::string>>>& planned,
                        bool is_ok);
std::string InventoryJson(const std::vector<Inventory>& inventories);

}  // namespace profd::client
