#include "client/export/per_device.h"

#include <cctype>
#include <utility>

#include "client/export/read/capture.h"
#include "client/export/read/ranks.h"
#include "client/export/write/output_file.h"
#include "client/files/own_folder.h"
#include "client/files/prof_files.h"
#include "format/directory/prof_dir.h"

namespace profd::client {

namespace {

constexpr uint64_t kMostInfo = 1 << 20;

using base::Code;
using base::Result;
using base::Status;

// "PROF_000003_20261121055338123_00012345ABCDEFGH": analysers look for the front and tell directories of one
// rank apart by the time; the vendor's number is that of the directory among those of a run, here it is the
// device.
std::string PartName(const Capture& capture, int device) {
  constexpr std::string_view kFront = "PROF_000000_";
  std::string number = std::to_string(device);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  std::string rest = capture.name;
  if (rest.size() > kFront.size() && rest.starts_with("PROF_") && rest[kFront.size() - 1] == '_') {
    rest = rest.substr(kFront.size());
  } else {
    std::erase_if(rest, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
    rest = capture.Stamp() + "000_" + rest;
  }
  return "PROF_" + number + "_" + rest;
}

}  // namespace

Result<std::vector<ExportOptions>> ByDevice(const std::string& directory, const ExportOptions& options) {
  Report unused;
  PROFD_ASSIGN_OR_RETURN(Capture capture, OpenCapture(directory, options.vendor_compatible, unused));
  FindRanks(capture);
  std::vector<ExportOptions> parts;
  for (const auto& [device, rank] : capture.ranks) {
    if (options.devices && !options.devices->contains(device)) continue;
    ExportOptions& part = parts.emplace_back(options);
    part.devices = {device};
    part.out = options.out + "/" + PartName(capture, device);
    part.per_device = true;
  }
  if (!parts.empty()) return parts;
  return Status(
      Code::kInvalidArgument,
      directory + ": --per-device: " +
          (capture.ranks.empty() ? "there is no device in it" : "none of the devices asked for is in it"));
}

std::string RankInfoName(int64_t device) {
  const std::string number = std::to_string(device);
  return "device_" + number + "/info.json." + number;
}

Status WriteRankInfo(const base::UniqueFd& root, const std::string& shown, const Capture& capture,
                     int64_t device) {
  const std::string name = RankInfoName(device);
  const std::string folder = name.substr(0, name.find('/')), file = name.substr(folder.size() + 1);
  std::string info;
  if (const base::UniqueFd from = OpenDir(capture.dir.get(), folder)) {
    if (auto text = ReadSmallFile(from.get(), file, kMostInfo); text.ok()) info = std::move(text).value();
  }
  const auto rank = capture.ranks.find(static_cast<int>(device));
  const std::string hostname = capture.sides.empty() ? "" : capture.sides.front().facts.hostname;
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd to, OpenOwnFolder(root.get(), folder, shown + "/" + folder,
                                                                FolderOwner::kCallerOrParent));
  PROFD_ASSIGN_OR_RETURN(const auto output, OutputFile::Create(PathOf(to) + "/" + file));
  output->Append(format::InfoJsonOfRank(info, static_cast<uint32_t>(device),
                                        rank == capture.ranks.end() ? -1 : rank->second, hostname));
  return output->Finish();
}

}  // namespace profd::client
