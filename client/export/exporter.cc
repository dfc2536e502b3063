#include "client/export/exporter.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "client/export/per_device.h"
#include "client/export/read/capture.h"
#include "client/export/read/metadata.h"
#include "client/export/read/missing.h"
#include "client/export/read/ranks.h"
#include "client/export/read/sources/pipeline.h"
#include "client/export/read/sources/tasks/host_records.h"
#include "client/export/readme.h"
#include "client/export/write/output.h"
#include "client/files/own_folder.h"
#include "client/words/text.h"
#include "format/decode/catalogue.h"
#include "libagent/abi/words.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr char kTablesFolder[] = "mindstudio_profiler_output";

struct FormatRow {
  std::string_view name;
  double growth;  // bytes of output per byte of input, of sampled data, roughly
};
// By ExportFormat.
constexpr FormatRow kFormats[kExportFormats] = {{"chrome", 5.0}, {"perfetto", 1.5}, {"csv", 0.5},
                                                {"json", 2.0},   {"db", 1.3},       {"collapsed", 0.5},
                                                {"pprof", 0.3}};

// Hands everything to several outputs.
class Tee : public format::RowSink, public format::SpanSink, public ProfileSink {
 public:
  Tee(const std::vector<std::unique_ptr<ExportOutput>>& outputs, const std::vector<Companion*>& companions)
      : outputs_(outputs), companions_(companions) {}
  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override {
    for (const auto& output : outputs_) output->Label(series, device, key, value, text);
  }
  void Rows(const format::RowBatch& batch) override {
    given_ += batch.rows();
    for (const auto& output : outputs_) output->Rows(batch);
  }
  void Process(const format::SpanProcess& process) override {
    for (const auto& output : outputs_) output->Process(process);
  }
  void Thread(const format::SpanThread& thread) override {
    for (const auto& output : outputs_) output->Thread(thread);
  }
  void Spans(const format::SpanBatch& batch) override {
    given_ += batch.spans.size();
    for (const auto& output : outputs_) output->Spans(batch);
    for (Companion* companion : companions_) companion->Spans(batch);
  }
  void Sample(const ProfileSample& sample) override {
    ++given_;
    for (const auto& output : outputs_) output->Sample(sample);
  }
  uint64_t given() const { return given_; }

 private:
  const std::vector<std::unique_ptr<ExportOutput>>& outputs_;
  const std::vector<Companion*> companions_;
  uint64_t given_ = 0;
};

// Of a program that was to tell of its kernels, and never loaded what launches them.
bool LaunchedNothing(const Capture& capture) {
  if (!capture.manifest) return false;
  bool any = false;
  for (const format::ManifestKind& kind : capture.manifest->kinds) {
    if (kind.kind != kKernels) continue;
    if (kind.reason != std::string(abi::kNeverBegan) + std::string(abi::kCannIsNotLoaded)) return false;
    any = true;
  }
  return any;
}

CaptureFacts FactsOf(const Capture& capture, const Wanted& wanted, Report& report) {
  CaptureFacts facts;
  facts.start_ns = capture.begin_wall_ns();
  facts.end_ns = capture.end_wall_ns();
  for (const Side& side : capture.sides) {
    if (side.is_host()) {
      facts.host = side.facts;
      continue;
    }
    if (!wanted.Device(side.facts.device)) continue;
    facts.devices.push_back(side.facts);
    for (const Stream& stream : side.streams) {
      int64_t pid = 0;
      const format::DecoderEntry* entry = format::FindDecoder(stream.file, side.facts, pid);
      if (entry == nullptr || stream.bytes() == 0) continue;
      const std::string kind(NameOf(entry->kind));
      facts.tells_of_tasks = facts.tells_of_tasks || entry->of_tasks;
      if (!format::VendorReads(*entry, side.facts.chip)) continue;
      if (std::ranges::count(facts.kinds, kind) == 0) facts.kinds.push_back(kind);
    }
  }
  if (capture.host() != nullptr) {
    facts.knows_operators = std::ranges::any_of(capture.host()->streams, [](const Stream& stream) {
      const bool tells =
          stream.file.ends_with("compact.node_basic_info") || stream.file.ends_with(".capture_op_info");
      return tells && stream.bytes() > 0;
    });
  }
  facts.tasks_are_others = LaunchedNothing(capture);
  if (facts.tasks_are_others && !facts.devices.empty())
    report.Note(
        "the program that was recorded did not use CANN: tasks are other programs', and not in op_summary");
  facts.logic_streams = ReadLogicStreams(capture, report);
  facts.groups = capture.groups;
  facts.metadata = MetadataOf(capture, report);
  facts.has_all_ranks = capture.has_all_ranks;
  // Devices that only programs have told of.
  for (const auto& [device, rank] : capture.ranks) {
    if (!wanted.Device(device) || facts.Device(device) != nullptr) continue;
    format::SideFacts side;
    side.device = device;
    side.rank_id = rank;
    side.pid = facts.host.pid;
    facts.devices.push_back(side);
  }
  if (capture.host() == nullptr && !facts.devices.empty()) {  // a device's files tell of their host, too
    facts.host = facts.devices.front();
    facts.host.device = -1;
  }
  return facts;
}

Status NoTime(const std::string& where) {
  return {Code::kInvalidArgument, where + "--from is not before --to: there is no time between them"};
}

Result<Wanted> WantedOf(const Capture& capture, const ExportOptions& options, Progress& progress) {
  const auto resolve = [&capture](const TimePoint& point) {
    const uint64_t begin = point.behind_begin ? capture.begin_wall_ns() : 0;
    return point.ns > UINT64_MAX - begin ? UINT64_MAX : begin + point.ns;
  };
  Wanted wanted;
  if (options.from) wanted.from_ns = resolve(*options.from);
  if (options.to) wanted.to_ns = resolve(*options.to);
  if (wanted.from_ns >= wanted.to_ns) return NoTime("export " + capture.path + ": ");
  if (options.iteration) {
    PROFD_ASSIGN_OR_RETURN(const IterationTime time, FindIteration(capture, *options.iteration, progress));
    wanted.from_ns = std::max(wanted.from_ns, time.from_ns);
    wanted.to_ns = std::min(wanted.to_ns, time.to_ns);
    if (wanted.from_ns > wanted.to_ns) return NoTime("export " + capture.path + ": of that iteration: ");
  }
  wanted.devices = options.devices;
  wanted.kinds = options.kinds;
  return wanted;
}

// Of the programs on other devices; one that nobody knows a device of may belong to any.
void LeaveOutOtherPrograms(const Capture& capture, Wanted& wanted) {
  for (const auto& [lanes_file, devices] : capture.devices_of) {
    const auto is_wanted = [&](int device) { return wanted.Device(device); };
    if (!devices.empty() && std::ranges::none_of(devices, is_wanted))
      wanted.other_programs.insert(lanes_file);
  }
}

// What was asked for by name and isn't there, and what is instead.
std::vector<std::string> Absent(const Capture& capture, const Wanted& wanted) {
  std::vector<std::string> lines;
  const auto compare = [&lines](std::string_view what, const auto& asked, const auto& there, auto name) {
    std::string missing, have;
    for (const auto& one : asked) {
      if (!there.contains(one)) missing += " " + name(one);
    }
    for (const auto& one : there) have += " " + name(one);
    if (missing.empty()) return;
    lines.push_back("no " + std::string(what) + missing + " in it, there " +
                    (have.empty() ? "is none" : "are" + have));
  };
  if (wanted.devices) {
    std::set<int64_t> there;
    for (const Side& side : capture.sides) {
      if (!side.is_host()) there.insert(side.facts.device);
    }
    for (const auto& [device, rank] : capture.ranks) there.insert(device);
    compare("device", *wanted.devices, there, [](int64_t device) { return std::to_string(device); });
  }
  if (wanted.kinds)
    compare("kind", *wanted.kinds, KindsOf(capture), [](const std::string& kind) { return kind; });
  return lines;
}

// As the vendor's parser tells an export by model: of the steps of programs its tables stay as they are.
std::optional<uint64_t> IterationOfModel(const ExportOptions& options) {
  const auto& asked = options.iteration;
  if (!asked || !asked->model || *asked->model == kStepsOfPrograms) return std::nullopt;
  return asked->number;
}

// In one line.
std::string Nothing(const Capture& capture, const ExportOptions& options, const Wanted& wanted) {
  std::string text;
  for (const std::string& line : Absent(capture, wanted)) text += (text.empty() ? "" : "; ") + line;
  if (!text.empty() || (!options.from && !options.to)) return text.empty() ? "no record in it" : text;
  text = "no record between --from and --to; it begins " + FormatWallTime(capture.begin_wall_ns());
  if (capture.end_wall_ns() > capture.begin_wall_ns())
    text += " and lasts " + FormatDuration(capture.end_wall_ns() - capture.begin_wall_ns());
  return text;
}

// Where the outputs of one directory go. Files are made through descriptors of folders that nobody can
// exchange meanwhile; root()/tables() are paths through them, Shown() puts the names back. **Owns:** the
// folders it made, until Keep().
class Places {
 public:
  Places(const Capture& capture, const ExportOptions& options)
      : capture_(capture),
        shown_(options.out.empty() ? capture.path : options.out),
        stamp_(capture.Stamp()),
        gzip_(options.gzip),
        is_beside_(options.out.empty()) {}

  ~Places() {
    if (made_tables_) ::unlinkat(root_.get(), kTablesFolder, AT_REMOVEDIR);
    if (made_) ::unlinkat(above_.get(), name_.c_str(), AT_REMOVEDIR);
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // With what is above them.
  Status Make() {
    PROFD_RETURN_IF_ERROR(OpenRoot());
    struct stat there {};
    made_tables_ = ::fstatat(root_.get(), kTablesFolder, &there, AT_SYMLINK_NOFOLLOW) != 0;
    auto tables =
        OpenOwnFolder(root_.get(), kTablesFolder, shown_ + "/" + kTablesFolder, FolderOwner::kCallerOrParent);
    if (!tables.ok()) return tables.status();
    tables_ = std::move(*tables);
    return Status::Ok();
  }
  // Something is in them; of the database alone nothing in the folder of tables.
  void Keep() {
    made_ = false;
    if (std::exchange(made_tables_, false)) ::unlinkat(root_.get(), kTablesFolder, AT_REMOVEDIR);
  }
  const UniqueFd& root_folder() const { return root_; }
  const std::string& shown() const { return shown_; }
  std::string root() const { return PathOf(root_); }
  std::string tables() const { return PathOf(tables_); }
  // A path or a message with the folders' names in place of their descriptors.
  std::string Shown(std::string text) const {
    const std::pair<std::string, std::string> names[] = {{tables() + "/", shown_ + "/" + kTablesFolder + "/"},
                                                         {root() + "/", shown_ + "/"}};
    if (text == tables()) return shown_ + "/" + kTablesFolder;
    for (const auto& [path, name] : names) {
      for (size_t at = 0; (at = text.find(path, at)) != text.npos; at += name.size())
        text.replace(at, path.size(), name);
    }
    return text;
  }
  Status Shown(const Status& status) const {
    return status.ok() ? status : Status(status.code(), Shown(status.message()));
  }
  // csv, json: the folder, for their files are many.
  std::string Of(ExportFormat format) const {
    return (format == ExportFormat::kDatabase ? root() : tables()) + FileOf(format);
  }
  // As Shown(), before anything is made.
  std::string Planned(ExportFormat format) const {
    return shown_ + (format == ExportFormat::kDatabase ? "" : std::string("/") + kTablesFolder) +
           FileOf(format);
  }
  // Of stacks: those of host-off-cpu.
  std::string OfWaits(ExportFormat format) const {
    return tables() + "/off_cpu_" + stamp_ + (format == ExportFormat::kPprof ? ".pb.gz" : ".collapsed");
  }
  const std::string& stamp() const { return stamp_; }

 private:
  // Behind its folder.
  std::string FileOf(ExportFormat format) const {
    switch (format) {
      case ExportFormat::kChrome:
        return "/msprof_" + stamp_ + (gzip_ ? ".json.gz" : ".json");
      case ExportFormat::kPerfetto:
        return "/msprof_" + stamp_ + ".perfetto-trace";
      case ExportFormat::kDatabase:
        return "/msprof_" + stamp_ + ".db";
      case ExportFormat::kCollapsed:
        return "/cpu_profile_" + stamp_ + ".collapsed";
      case ExportFormat::kPprof:
        return "/cpu_profile_" + stamp_ + ".pb.gz";
      case ExportFormat::kCsv:
      case ExportFormat::kJson:
        break;
    }
    return "";
  }
  Status OpenRoot() {
    if (is_beside_) {
      root_.Reset(::fcntl(capture_.dir.get(), F_DUPFD_CLOEXEC, 0));
    } else {
      // Folders above are other directories' outputs', too: they stay.
      const std::string path = shown_.substr(0, shown_.find_last_not_of('/') + 1);
      const size_t name = path.rfind('/') + 1;
      PROFD_ASSIGN_OR_RETURN(above_, OpenWay(path.empty() ? "/" : path.substr(0, name), IfMissing::kMake));
      name_ = path.substr(name);
      made_ = !name_.empty() && ::mkdirat(above_.get(), name_.c_str(), 0750) == 0;
      PROFD_ASSIGN_OR_RETURN(const UniqueFd way, OpenWay(shown_, IfMissing::kMake));
      root_.Reset(::openat(way.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    if (!root_ && errno == ENOTDIR) {
      return Status(Code::kInvalidArgument,
                    shown_ + " is a file: name a directory, or one that is to be created (--out)");
    }
    return root_ ? Status::Ok() : Status::FromErrno("open " + shown_);
  }

  const Capture& capture_;
  const std::string shown_, stamp_;
  const bool gzip_, is_beside_;
  UniqueFd above_, root_, tables_;
  std::string name_;  // of root_ in above_
  bool made_ = false, made_tables_ = false;
};

Result<std::unique_ptr<ExportOutput>> MakeOutput(ExportFormat format, const Places& places,
                                                 const CaptureFacts& facts, const OutputOptions& options,
                                                 uint64_t split_ns) {
  const std::string path = places.Of(format);
  switch (format) {
    case ExportFormat::kChrome:
      if (split_ns > 0) {
        return MakeSplitChromeOutput(places.tables(), places.stamp(), split_ns, facts, options);
      }
      return MakeChromeOutput(path, facts, options);
    case ExportFormat::kPerfetto:
      return MakePerfettoOutput(path, facts, options);
    case ExportFormat::kDatabase:
      return MakeDatabaseOutput(path, facts, options);
    case ExportFormat::kCollapsed:
      return MakeCollapsedOutput(path, places.OfWaits(format));
    case ExportFormat::kPprof:
      return MakePprofOutput(path, places.OfWaits(format));
    case ExportFormat::kCsv:
    case ExportFormat::kJson:
      break;
  }
  return MakeTablesOutput(path, places.stamp(), format == ExportFormat::kJson, facts, options);
}

bool Narrowed(const ExportOptions& options) {
  return options.iteration || options.from || options.to || options.devices || options.kinds;
}

// What one thread does: decodes everything once, for some of the outputs.
struct Share {
  format::Texts texts;  // outputs refer to them
  std::vector<ExportFormat> formats;
  std::vector<std::unique_ptr<ExportOutput>> outputs;
  std::vector<Companion*> companions;
  Report report;
  Status status;
  uint64_t given = 0;  // rows and spans
};

void Finish(Share& share, size_t output, const Progress& progress) {
  if (progress.cancelled) return;
  if (Status status = share.outputs[output]->Finish(); !status.ok() && share.status.ok())
    share.status = std::move(status);
}

void Work(const Capture& capture, const ExportOptions& options, const Wanted& wanted, Share& share,
          Progress& progress) {
  Tee tee(share.outputs, share.companions);
  Sinks sinks;
  sinks.rows = &tee;
  sinks.spans = &tee;
  sinks.profile = &tee;
  sinks.texts = &share.texts;
  sinks.report = &share.report;
  sinks.progress = &progress;
  sinks.overlap = std::ranges::any_of(share.outputs, &ExportOutput::shows_overlap);
  Decode(capture, wanted, options.vendor_compatible, sinks);
  for (size_t i = 0; i < share.outputs.size() && !progress.cancelled; ++i) {
    if (share.formats[i] != ExportFormat::kPerfetto) continue;
    for (Companion* companion : share.companions) companion->Give(*share.outputs[i]);
  }
  share.given = tee.given();
  if (share.given == 0 && Narrowed(options)) return;  // a file of nothing would look like a result
  for (size_t i = 0; i < share.outputs.size(); ++i) {
    if (share.formats[i] != ExportFormat::kCsv) Finish(share, i, progress);
  }
}

// An output that was finished after the last change of its input.
bool UpToDate(const Capture& capture, const std::string& path) {
  struct stat output {};
  if (::stat(path.c_str(), &output) != 0 || !S_ISREG(output.st_mode)) return false;
  const auto newer = [&](const std::string& name) {
    struct stat input {};
    return ::fstatat(capture.dir.get(), name.c_str(), &input, AT_SYMLINK_NOFOLLOW) != 0 ||
           std::pair(input.st_mtim.tv_sec, input.st_mtim.tv_nsec) >=
               std::pair(output.st_mtim.tv_sec, output.st_mtim.tv_nsec);
  };
  const auto changed = [&](const Stream& stream) {
    return std::ranges::any_of(stream.slices,
                               [&](const Slice& slice) { return newer(stream.folder + "/" + slice.name); });
  };
  for (const Side& side : capture.sides) {
    if (std::ranges::any_of(side.streams, changed)) return false;
  }
  return std::ranges::none_of(capture.agents, changed);
}

Status CheckRoom(const std::string& folder, uint64_t wanted_bytes) {
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0) return Status::Ok();  // the first write will tell
  const uint64_t free = uint64_t{room.f_bavail} * room.f_frsize;
  if (free >= wanted_bytes) return Status::Ok();
  return Status(Code::kResourceExhausted, folder + " has room for " + FormatBytes(static_cast<double>(free)) +
                                              ", the export takes about " +
                                              FormatBytes(static_cast<double>(wanted_bytes)) +
                                              ": name another place with --out");
}

}  // namespace

std::string_view FormatName(ExportFormat format) { return kFormats[static_cast<size_t>(format)].name; }

uint64_t EstimateBytes(uint64_t input_bytes, const std::vector<ExportFormat>& formats) {
  double growth = 0;
  for (const ExportFormat format : formats) growth += kFormats[static_cast<size_t>(format)].growth;
  return static_cast<uint64_t>(static_cast<double>(input_bytes) * growth);
}

Status CheckRange(const ExportOptions& options) {
  const bool comparable =
      options.from && options.to && options.from->behind_begin == options.to->behind_begin;
  return comparable && options.from->ns >= options.to->ns ? NoTime("") : Status::Ok();
}

Result<std::vector<std::string>> Outputs(const std::string& directory, const ExportOptions& options) {
  Report unused;
  PROFD_ASSIGN_OR_RETURN(const Capture capture, OpenCapture(directory, options.vendor_compatible, unused));
  const Places places(capture, options);
  std::vector<std::string> outputs;
  for (const ExportFormat format : options.formats) {
    std::string output = places.Planned(format);
    if (format == ExportFormat::kCsv) output += "/*.csv";
    if (format == ExportFormat::kJson) output += "/*.json";
    if (format == ExportFormat::kChrome && options.split_ns > 0)
      output = places.Planned(ExportFormat::kCsv) + "/msprof_*";
    outputs.push_back(std::move(output));
  }
  outputs.push_back(places.Planned(ExportFormat::kCsv) + "/README.txt");
  if (options.per_device) outputs.push_back(options.out + "/" + RankInfoName(*options.devices->begin()));
  return outputs;
}

unsigned Passes(const ExportOptions& options) {
  return std::clamp<unsigned>(options.jobs, 1,
                              std::max<unsigned>(static_cast<unsigned>(options.formats.size()), 1));
}

Result<ExportResult> Export(const std::string& directory, const ExportOptions& options, Progress& progress) {
  const uint64_t begin_ns = base::MonotonicNs();
  ExportResult result;
  result.directory = directory;
  auto capture = OpenCapture(directory, options.vendor_compatible, result.report);
  if (!capture.ok()) return capture.status();
  result.input_bytes = capture->bytes();
  result.is_unsealed = capture->manifest && capture->manifest->state != "sealed";
  if (result.input_bytes == 0 && capture->begin_wall_ns() == 0) {
    return Status(Code::kInvalidArgument,
                  directory +
                      ": there is nothing in it: no data, and no file that says when it began; is it "
                      "the right directory?");
  }
  PROFD_ASSIGN_OR_RETURN(Wanted wanted, WantedOf(*capture, options, progress));
  FindRanks(*capture);
  if (options.per_device) LeaveOutOtherPrograms(*capture, wanted);
  Places places(*capture, options);
  PROFD_RETURN_IF_ERROR(places.Make());

  std::vector<ExportFormat> formats;
  for (const ExportFormat format : options.formats) {
    const bool split = format == ExportFormat::kChrome && options.split_ns > 0;  // files of all sorts
    const bool there = options.resume && format != ExportFormat::kCsv && format != ExportFormat::kJson &&
                       !split && UpToDate(*capture, places.Of(format));
    if (there) {
      result.report.Note(places.Shown(places.Of(format)) + ": is there already, and newer than the data");
    } else {
      formats.push_back(format);
    }
  }
  PROFD_RETURN_IF_ERROR(
      places.Shown(CheckRoom(places.root() + "/", EstimateBytes(result.input_bytes, formats))));

  const CaptureFacts facts = FactsOf(*capture, wanted, result.report);
  const OutputOptions output_options = {options.vendor_compatible, options.gzip, options.per_device,
                                        options.without, IterationOfModel(options)};
  std::vector<Share> shares(std::clamp<size_t>(formats.size(), 1, Passes(options)));
  for (size_t i = 0; i < formats.size(); ++i) {
    auto output = MakeOutput(formats[i], places, facts, output_options, options.split_ns);
    if (!output.ok()) return places.Shown(output.status());
    Share& share = shares[i % shares.size()];
    share.formats.push_back(formats[i]);
    share.outputs.push_back(std::move(output).value());
  }
  const auto with_timeline = std::ranges::find_if(shares, [](const Share& share) {
    return std::ranges::count(share.formats, ExportFormat::kPerfetto) > 0;
  });
  (with_timeline == shares.end() ? shares.front() : *with_timeline).companions = options.companions;
  std::vector<std::thread> threads;
  for (size_t i = 1; i < shares.size(); ++i) {
    threads.emplace_back([&, i] { Work(*capture, options, wanted, shares[i], progress); });
  }
  Work(*capture, options, wanted, shares[0], progress);
  for (std::thread& thread : threads) thread.join();
  const bool nothing = !formats.empty() && shares[0].given == 0 && Narrowed(options);
  // Tables come last: analysers take the first one for a sign that all is there.
  for (Share& share : shares) {
    for (size_t i = 0; i < share.outputs.size() && !nothing; ++i) {
      if (share.formats[i] == ExportFormat::kCsv) Finish(share, i, progress);
    }
  }
  if (progress.cancelled) return Status(Code::kCancelled, "export " + directory + ": interrupted");
  if (nothing) {
    result.nothing = Nothing(*capture, options, wanted);
  } else {
    for (const std::string& line : Absent(*capture, wanted)) result.report.Skip({"", 0, 0, 0, line});
    ReportMissingKinds(*capture, wanted, result.report);
  }
  for (const Share& share : shares) {
    if (!share.status.ok()) return places.Shown(share.status);
    if (nothing) break;
    for (size_t i = 0; i < share.outputs.size(); ++i) {
      std::vector<std::string> files = share.outputs[i]->files();
      if (files.empty()) files.push_back(places.Of(share.formats[i]));
      for (std::string& file : files) result.files.push_back(places.Shown(std::move(file)));
      result.output_bytes += share.outputs[i]->bytes();
      result.left_out += share.outputs[i]->left_out();
    }
  }
  if (!nothing) {
    if (!options.formats.empty())
      PROFD_RETURN_IF_ERROR(places.Shown(WriteReadme(places.tables(), places.stamp())));
    if (options.per_device) {
      PROFD_RETURN_IF_ERROR(places.Shown(
          WriteRankInfo(places.root_folder(), places.shown(), *capture, *options.devices->begin())));
    }
    places.Keep();
  }
  result.report.Add(shares[0].report);  // every thread has read the same
  result.duration_ns = base::MonotonicNs() - begin_ns;
  return result;
}

}  // namespace profd::client
