// What people read: tables with units. Sums and what is wrong come first, what is alike is one line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/screen/table.h"
#include "profd/v1/control.pb.h"
#include "profd/v1/metrics.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// Names as JSON and people have them.
const char* StateName(v1::SessionState state);
const char* EndReasonName(v1::EndReason reason);  // "" when not ended
// The same as people read it: "its duration was over".
const char* EndReasonText(v1::EndReason reason);
const char* VerdictName(v1::Verdict verdict);
const char* OutcomeName(v1::Outcome outcome);
std::string HealthName(const v1::Device& device);

// A protobuf map has no order.
using LabelMap = google::protobuf::Map<std::string, std::string>;
std::map<std::string, std::string> Sorted(const LabelMap& labels);
// "job=llm rank=3"
std::string LabelsText(const LabelMap& labels);
std::string LabelsText(const google::protobuf::RepeatedPtrField<v1::LiveLabel>& labels);

// A session with its kinds; the directory comes last. `with_data`: bytes, rate and losses too.
std::string RenderSession(const v1::SessionInfo& info, bool with_data, const Look& look);
// "s-17  running  3.2 s  1.2 MB  120.0 kB/s  lost 0"
std::string RenderProgress(const v1::SessionInfo& info);

// Tables whose rows somebody may choose from; what stands above them is of what is left.
Table SessionTable(const std::vector<v1::SessionInfo>& sessions, const Look& look);
std::string RenderList(const std::vector<v1::SessionInfo>& sessions, const Table& table, const Look& look);
Table TargetTable(const v1::TargetsReply& reply);
std::string RenderTargets(const v1::TargetsReply& reply, const Table& table, const Look& look);

// The metrics that the table has a column for.
std::vector<std::string_view> JobTableMetrics();
Table JobTable(const v1::JobsReply& reply, uint64_t now_wall_ns);
std::string RenderJobValues(const v1::Job& job, const Look& look);
// How long it has run until now, or ran.
uint64_t LastedNs(const v1::Job& job, uint64_t now_wall_ns);

std::string RenderDevices(const v1::DevicesReply& reply, const Look& look);
std::string RenderLeases(const std::vector<v1::Lease>& leases, const Look& look);
std::string RenderLive(const v1::LiveValues& values, const Look& look);
std::string RenderChecks(const std::vector<v1::Check>& checks, const Look& look);

// What cannot be had of some things, and why: those of one reason are a line, and what is more than a few
// lines is only named.
class Reasons {
 public:
  void Add(const std::string& what, const std::string& unit, const std::string& why);
  // "skipped ddr, ub (device:0-7): a 910B has none"
  // `more`: where the reasons are that have no line.
  std::string Text(const std::string& verb, const Look& look, const std::string& more = "--all") const;

 private:
  struct Group {
    std::string why;
    std::vector<std::string> what, units;
  };
  std::vector<Group> groups_;
};
// "device:0-7,12" of "device:0", …; others as they are.
std::string UnitsText(const std::vector<std::string>& units);

}  // namespace profd::client
