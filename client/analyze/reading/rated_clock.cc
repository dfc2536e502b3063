#include "client/analyze/reading/rated_clock.h"

#include <filesystem>
#include <fstream>

#include "format/directory/side_facts.h"

namespace profd::analyze {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 1 << 20;

double MhzIn(const fs::path& capture, int device) {
  const std::string number = std::to_string(device);
  const fs::path path = capture / ("device_" + number) / ("info.json." + number);
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  format::SideFacts facts;
  // One that does not name its chip tells its clock all the same.
  static_cast<void>(format::ParseInfoJson(text, facts));
  return facts.aic_mhz;
}

}  // namespace

double RatedMhzNear(const std::string& database, int device) {
  const fs::path folder = fs::path(database).parent_path();
  if (const double here = MhzIn(folder, device); here > 0) return here;
  std::error_code error;
  for (fs::directory_iterator at(folder.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with("PROF")) continue;
    if (const double there = MhzIn(at->path(), device); there > 0) return there;
  }
  return 0;
}

}  // namespace profd::analyze
