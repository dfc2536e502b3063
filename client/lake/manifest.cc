#include "client/lake/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files/whole_file.h"
#include "client/lake/s3/signature.h"
#include "client/words/text.h"

namespace profd::lake {

std::string IdOf(const std::vector<std::string>& inputs) {
  std::string names;
  for (const std::string& input : inputs) names += input + "\n";
  return s3::Sha256(names).substr(0, 16);
}

std::string TextOf(const Manifest& manifest) {
  const nlohmann::ordered_json json = {
      {"inputs", manifest.inputs}, {"outputs", manifest.outputs}, {"rows", manifest.rows}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

base::Result<Manifest> ManifestOf(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto names = [&json](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_array() &&
           std::ranges::all_of(json[key], [](const nlohmann::json& name) { return name.is_string(); });
  };
  if (!names("inputs") || !names("outputs") || !json.contains("rows") || !json["rows"].is_number_unsigned())
    return base::Status(base::Code::kDataLoss, "no list of what was merged");
  return Manifest{json["inputs"].get<std::vector<std::string>>(),
                  json["outputs"].get<std::vector<std::string>>(), json["rows"].get<uint64_t>()};
}

base::Status AddMerged(const std::string& path, std::set<std::string>* merged) {
  constexpr size_t kMost = 64 << 20;
  PROFD_ASSIGN_OR_RETURN(const std::string text, base::ReadWhole(path, kMost));
  const auto manifest = ManifestOf(text);
  if (!manifest.ok()) return manifest.status().In(client::OneLine(path));
  merged->insert(manifest->inputs.begin(), manifest->inputs.end());
  return {};
}

}  // namespace profd::lake
