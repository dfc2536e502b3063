#include "client/export/read/metadata.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
#include "client/files/prof_files.h"
#include "format/directory/bounded_json.h"

namespace profd::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostBytes = 4u << 20;  // torch_npu takes 50 KB

std::string Dumped(const Json& json) {
  const auto list = [](const Json& of, char open, char close, bool has_keys) {
    std::string text(1, open);
    for (const auto& [key, value] : of.items()) {
      if (text.size() > 1) text += ", ";
      if (has_keys) text += Json(key).dump(-1, ' ', true, Json::error_handler_t::replace) + ": ";
      text += Dumped(value);
    }
    return text + close;
  };
  if (json.is_object()) return list(json, '{', '}', true);
  if (json.is_array()) return list(json, '[', ']', false);
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool IsThere(int dir) {
  struct stat facts {};
  return ::fstatat(dir, kMetadataFile, &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

// A folder above may be anybody's, as /tmp.
bool IsTrusted(int dir, int capture) {
  struct stat file {
  }, own{};
  if (::fstatat(dir, kMetadataFile, &file, AT_SYMLINK_NOFOLLOW) != 0 || ::fstat(capture, &own) != 0)
    return false;
  return file.st_uid == own.st_uid || file.st_uid == ::geteuid() || file.st_uid == 0;
}

}  // namespace

bool IsShallow(std::string_view json) {
  constexpr size_t kDeepest = 64;
  return format::IsBounded(json, SIZE_MAX, kDeepest);
}

Metadata ReadMetadata(int dir, Report& report) {
  if (!IsThere(dir)) return {};
  const auto text = ReadSmallFile(dir, kMetadataFile, kMostBytes);
  const Json json = text.ok() && IsShallow(*text) ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object()) {
    report.Skip({kMetadataFile, 0, 0, 0, text.ok() ? "is no JSON object" : text.status().message()});
    return {};
  }
  Metadata metadata;
  for (const auto& [name, value] : json.items()) metadata.emplace_back(name, Dumped(value));
  return metadata;
}

Metadata MetadataOf(const Capture& capture, Report& report) {
  const auto read = [&report](int dir) {
    Report of_file;
    Metadata metadata = ReadMetadata(dir, of_file);
    for (const Skipped& skipped : of_file.skipped()) report.Note(skipped.stream + ": " + skipped.why);
    return metadata;
  };
  if (IsThere(capture.dir.get())) return read(capture.dir.get());
  const base::UniqueFd above = OpenDir(capture.dir.get(), "..");
  if (!above || !IsThere(above.get())) return {};
  if (!IsTrusted(above.get(), capture.dir.get())) {
    report.Note(std::string(kMetadataFile) + " beside it is another user's, and is not read");
    return {};
  }
  return read(above.get());
}

}  // namespace profd::client
