#include "client/verify/verify.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "client/files/prof_files.h"
#include "client/verify/verify_parts.h"
#include "client/verify/verify_stream.h"
#include "client/words/jobs.h"
#include "client/words/text.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/directory/side_facts.h"
#include "format/events/stand_in.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr size_t kMaxThreads = 8;

class Verifier {
 public:
  Verifier(int dir, VerifyReport& report) : dir_(dir), report_(report) {}

  // False: no PROF directory.
  bool Run() {
    ::flock(dir_, LOCK_SH | LOCK_NB);  // profd removes none that is being read
    const std::set<std::string> names = Names(dir_);
    std::vector<std::string> sides;
    for (const std::string& name : names) {
      if (name == "host" || format::DeviceOfFolder(name)) sides.push_back(name);
    }
    if (sides.empty()) return false;
    if (names.contains(own_)) ReadManifest();
    for (const std::string& side : sides) Side(side);
    if (names.contains(own_)) Data(own_, OpenDir(dir_, own_), {});
    if (manifest_) {
      const std::string manifest = own_ + "/" + format::kManifestFile;
      for (const std::string& what : CheckCounts(*manifest_, own_, found_)) Complain(manifest, what);
      for (const std::string& what : CheckClocks(manifest_->clocks)) Complain(manifest, what);
    }
    return true;
  }

 private:
  void Complain(const std::string& file, const std::string& what, std::optional<uint64_t> offset = {}) {
    if (report_.complaints.size() < VerifyReport::kMaxComplaints) {
      report_.complaints.push_back({OneLine(file), offset, OneLine(what)});
    } else {
      ++report_.more_complaints;
    }
  }

  std::optional<std::string> ReadSmall(int dir, const std::string& name, const std::string& path) {
    auto text = ReadSmallFile(dir, name);
    if (text.ok()) return std::move(text).value();
    Complain(path, text.status().message());
    return std::nullopt;
  }

  void ReadManifest() {
    const std::string path = own_ + "/" + format::kManifestFile;
    const UniqueFd own = OpenDir(dir_, own_);
    const auto text = ReadSmall(own.get(), format::kManifestFile, path);
    report_.by_profd = true;
    if (!text) return;
    auto manifest = format::ParseManifest(*text);
    if (!manifest.ok()) return Complain(path, manifest.status().message());
    manifest_ = std::move(manifest).value();
    report_.session = manifest_->session;
    report_.state = manifest_->state;
    report_.end_reason = manifest_->end_reason;
    report_.perturbations = PerturbationsOf(*manifest_);
    for (const format::ManifestStream& stream : manifest_->streams)
      report_.lost_records += stream.lost_records;
    if (manifest_->state != "sealed") {
      Complain(path,
               "not sealed: it is being recorded, or was interrupted (profd mends what is in its spool when "
               "it starts "
               "again; profctl repair DIR mends any other)");
    }
  }

  bool sealed() const { return manifest_ && manifest_->state == "sealed"; }

  void Side(const std::string& side) {
    const UniqueFd folder = OpenDir(dir_, side);
    if (!folder) return Complain(side, "is not a directory");
    const auto device = format::DeviceOfFolder(side);
    const std::string tag = device ? "." + std::to_string(*device) : "";
    const std::set<std::string> names = Names(folder.get());
    std::vector<std::string> wanted = {"info.json" + tag, "sample.json", "start_info" + tag,
                                       "host_start.log" + tag};
    if (device) wanted.push_back("dev_start.log" + tag);
    if (sealed() || !manifest_) wanted.push_back("end_info" + tag);
    StreamVerifier::Records records;
    for (const std::string& name : wanted) {
      const std::string path = side + "/" + name;
      const bool names_chip = device && name.starts_with("info.json");
      // Once, not at every record of files that are as they should be.
      const std::string costs =
          names_chip ? ": files whose records depend on the chip are checked by size only" : "";
      if (!names.contains(name)) {
        Complain(path, "is missing" + costs);
        continue;
      }
      const auto text = ReadSmall(folder.get(), name, path);
      if (!text) continue;
      for (const std::string& what : CheckControlFile(name, *text, device)) Complain(path, what + costs);
      if (names_chip) records.chip = format::ChipOf(*text).value_or(format::Chip::kUnknown);
      if (name == "sample.json") records.cores_by_task = format::CoresByTask(*text);
    }
    for (const std::string& name : names) {
      if (name.starts_with(".")) Complain(side + "/" + name, "was left over by a write that did not end");
      if (name.starts_with(".") || name == "data" || name.ends_with(".done")) continue;
      Marker(folder.get(), side + "/", name, names);
    }
    const UniqueFd data = OpenDir(folder.get(), "data");
    if (!data) return Complain(side + "/data", "is not a directory");
    Data(side, UniqueFd(::dup(data.get())), records);
  }

  // The `.done` of a file says its size.
  void Marker(int dir, const std::string& folder, const std::string& name,
              const std::set<std::string>& names) {
    const std::string done = name + ".done";
    if (!names.contains(done)) {
      if (sealed()) Complain(folder + name, "has no .done marker");
      return;
    }
    uint64_t bytes = 0;
    std::string why;
    if (!OpenFile(dir, name, &bytes, &why)) return Complain(folder + name, why);
    const auto text = ReadSmall(dir, done, folder + done);
    if (!text) return;
    const auto says = format::DoneBytes(*text);
    if (!says) return Complain(folder + done, "does not begin with 'filesize:' and a number");
    if (*says != bytes) {
      Complain(folder + done,
               "says " + std::to_string(*says) + " bytes, the file has " + std::to_string(bytes));
    }
  }

  void Data(const std::string& side, UniqueFd data, const StreamVerifier::Records& records) {
    if (!data) return Complain(side, "is not a directory");
    const std::string folder = side == own_ ? side + "/" : side + "/data/";
    const std::set<std::string> names = Names(data.get());
    for (const std::string& name : names) {
      const bool marker = name.ends_with(".done");
      if (name.starts_with(".")) {
        // While it is recorded the manifest's other half lies there.
        if (sealed() || name != ".manifest.json.tmp") {
          Complain(folder + name, "was left over by a write that did not end");
        }
      } else if (marker && !names.contains(name.substr(0, name.size() - 5))) {
        Complain(folder + name, "marks a file that is not there");
      } else if (!marker && format::ParseSliceName(name)) {
        Marker(data.get(), folder, name, names);
      }
    }
    std::deque<StreamVerifier> verifiers;
    for (const auto& [file, numbers] : SlicesByStream(names)) {
      if (report_.by_profd && side == "host" &&
          format::IsStandIn(file, manifest_ && format::HasStream(*manifest_, side, file)))
        continue;
      verifiers.emplace_back(StreamVerifier::Where{side, folder, data.get()}, file, numbers, records,
                             report_.by_profd);
    }
    RunAll(verifiers);
    for (StreamVerifier& verifier : verifiers) Take(verifier);
  }

  // Streams know nothing of each other.
  static void RunAll(std::deque<StreamVerifier>& verifiers) {
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i; (i = next.fetch_add(1)) < verifiers.size();) verifiers[i].Run();
    };
    const size_t count = std::min<size_t>({OwnJobs(), kMaxThreads, verifiers.size()});
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < count; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }

  void Take(StreamVerifier& verifier) {
    for (const Complaint& complaint : verifier.complaints())
      Complain(complaint.file, complaint.what, complaint.offset);
    if (!verifier.is_known() && std::ranges::count(report_.unchecked, verifier.kind()) == 0) {
      report_.unchecked.push_back(OneLine(verifier.kind()));
    }
    report_.slices += verifier.slices();
    report_.bytes += verifier.bytes();
    found_[verifier.name()] = verifier.found();
  }

  const int dir_;
  const std::string own_ = format::OwnFolderIn(dir_);  // profd's folder
  VerifyReport& report_;
  std::optional<format::Manifest> manifest_;
  FoundStreams found_;
};

}  // namespace

Result<VerifyReport> Verify(const std::string& directory) {
  VerifyReport report;
  report.directory = directory;
  const UniqueFd dir(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) {
    if (errno == ENOTDIR)
      return Status(Code::kInvalidArgument,
                    directory + " is not a directory; DIR is a PROF directory or has some in it");
    return Status::FromErrno("verify " + directory);
  }
  if (Verifier(dir.get(), report).Run()) return report;
  return Status(Code::kInvalidArgument,
                directory + " is not a PROF directory: it has neither host/ nor device_<N>/");
}

}  // namespace profd::client
