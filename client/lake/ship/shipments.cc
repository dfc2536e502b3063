#include "client/lake/ship/shipments.h"

#include <algorithm>
#include <string_view>

#include "base/fnv.h"
#include "client/lake/schema.h"
#include "client/words/text.h"

namespace profd::lake {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kMostOfNode = 253;  // of a host name

// So that no folder of a fleet has all files of a time.
char ShardOf(const std::string& node) { return "0123456789abcdef"[base::Fnv1a(node) & 15]; }

// What `captures` says of one recording.
struct Recording {
  std::string node, instance, object, verdict, slot;
};

Result<std::vector<Recording>> RecordingsOf(Engine& engine) {
  PROFD_ASSIGN_OR_RETURN(
      const Answer answer,
      engine.Ask("SELECT node, instance, object, verdict, strftime(time_bucket(INTERVAL 10 MINUTE, "
                 "t::TIMESTAMP), '%Y%m%dT%H%M') FROM captures ORDER BY node, object"));
  std::vector<Recording> recordings;
  for (const Row& row : answer.rows) {
    const auto text = [&row](size_t i) { return row[i].value_or(""); };
    recordings.push_back({text(0), text(1), text(2), text(3), text(4)});
  }
  return recordings;
}

Status Check(const Recording& recording, const std::string& node) {
  const std::string whose = client::OneLine(recording.object) + ": ";
  if (recording.verdict == "running")
    return {
        Code::kFailedPrecondition,
        whose +
            "it is still being recorded, or was cut off: ship it when it has ended, or after profctl repair"};
  if (node.empty())
    return {Code::kInvalidArgument, whose + "it does not say of which node it is: name it with --node"};
  if (!IsNode(node))
    return {Code::kInvalidArgument, whose + "'" + client::OneLine(node) +
                                        "' is no name for a node: expected letters, digits, - and ."};
  return {};
}

}  // namespace

bool IsNode(const std::string& name) {
  const auto may_be = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMostOfNode && name.front() != '.' &&
         std::ranges::all_of(name, may_be);
}

std::string FolderOf(const std::string& table, const std::string& slot, const std::string& node) {
  return "hot/v1/" + table + "/" + slot + "/" + ShardOf(node);
}

Result<std::vector<Shipment>> ShipmentsOf(Engine& engine, const std::string& otherwise) {
  PROFD_ASSIGN_OR_RETURN(const auto recordings, RecordingsOf(engine));
  std::vector<Shipment> shipments;
  for (const Recording& recording : recordings) {
    const std::string& node = recording.node.empty() ? otherwise : recording.node;
    PROFD_RETURN_IF_ERROR(Check(recording, node));
    for (const TableSchema& table : Tables()) {
      if (table.of_summary) continue;
      const std::string name(table.name);
      shipments.push_back({.table = name,
                           .rows = "(SELECT * FROM " + name + " WHERE node = " + Quoted(recording.node) +
                                   " AND instance = " + Quoted(recording.instance) + ")",
                           .folder = FolderOf(name, recording.slot, node),
                           .name = node + "_" + recording.instance + "_0.parquet"});
    }
  }
  return shipments;
}

}  // namespace profd::lake
