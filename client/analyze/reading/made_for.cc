#include "client/analyze/reading/made_for.h"

#include <filesystem>
#include <fstream>

#include "format/directory/side_facts.h"

namespace profd::analyze {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 1 << 20;

MadeFor MadeForIn(const fs::path& capture, int device) {
  const std::string number = std::to_string(device);
  const fs::path path = capture / ("device_" + number) / ("info.json." + number);
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  format::SideFacts facts;
  // One that does not name its chip tells its clock all the same.
  static_cast<void>(format::ParseInfoJson(text, facts));
  return {facts.aic_mhz, static_cast<int>(facts.ai_core_num), static_cast<int>(facts.aiv_num)};
}

}  // namespace

MadeFor MadeForNear(const std::string& database, int device) {
  const fs::path folder = fs::path(database).parent_path();
  if (const MadeFor here = MadeForIn(folder, device); here.mhz > 0) return here;
  std::error_code error;
  for (fs::directory_iterator at(folder.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with("PROF")) continue;
    if (const MadeFor there = MadeForIn(at->path(), device); there.mhz > 0) return there;
  }
  return {};
}

}  // namespace profd::analyze
