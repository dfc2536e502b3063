#include "client/analyze/reading/metadata.h"

#include <nlohmann/json.hpp>

namespace profd::analyze {
namespace {

using Json = nlohmann::json;

std::map<std::string, Rank::Group> GroupsOf(const Json& json) {
  std::map<std::string, Rank::Group> groups;
  for (const auto& [key, entry] : json.items()) {
    if (!entry.is_object()) continue;
    Rank::Group group;
    if (const auto role = entry.find("group_name"); role != entry.end() && role->is_string())
      group.role = role->get<std::string>();
    if (const auto ranks = entry.find("global_ranks"); ranks != entry.end() && ranks->is_array()) {
      for (const auto& rank : *ranks) {
        if (rank.is_number_integer()) group.ranks.push_back(rank.get<int64_t>());
      }
    }
    groups[key] = std::move(group);
  }
  return groups;
}

std::map<std::string, std::string> TextsOf(const Json& json) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, entry] : json.items()) {
    if (entry.is_string()) texts[key] = entry.get<std::string>();
  }
  return texts;
}

}  // namespace

void TakeMetadata(const client::Metadata& metadata, RankBuilder& builder) {
  for (const auto& [name, value] : metadata) {
    if (!client::IsShallow(value)) {
      builder.Note("META_DATA: " + name + " is nested too deep to be read", false);
      continue;
    }
    const bool is_groups = name == client::kParallelGroups, is_environment = name == client::kEnvironment;
    if (!is_groups && !is_environment) {
      builder.ForEachRank([&name = name, &value = value](Rank& rank) { rank.metadata[name] = value; });
      continue;
    }
    const Json json = Json::parse(value, nullptr, false);
    if (!json.is_object()) {
      builder.Note("META_DATA: " + name + " is not a JSON object", false);
      continue;
    }
    builder.ForEachRank([&](Rank& rank) {
      if (is_groups) {
        for (auto& [key, group] : GroupsOf(json)) rank.groups[key] = group;
      } else {
        rank.environment = TextsOf(json);
      }
    });
  }
}

}  // namespace profd::analyze
