#include "client/export/framework/input/cann.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "client/export/framework/input/trace_file.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::UniqueFd;

constexpr std::string_view kDigits = "0123456789";

// Behind "<stem>_" and perhaps "slice_" comes a digit; the stamp is what is behind the last "_".
std::optional<std::string> StampOf(std::string_view name, std::string_view stem, std::string_view ending) {
  if (!name.starts_with(stem) || !name.ends_with(ending)) return std::nullopt;
  name.remove_prefix(stem.size());
  if (!name.starts_with('_')) return std::nullopt;
  name.remove_suffix(ending.size());
  std::string_view rest = name.substr(1);
  if (rest.starts_with("slice_")) rest.remove_prefix(6);
  if (rest.empty() || kDigits.find(rest.front()) == kDigits.npos) return std::nullopt;
  return std::string(name.substr(name.rfind('_') + 1));
}

// **Thread:** one. Fills one DeviceSide.
class Reader {
 public:
  Reader(const CannFiles& files, bool as_vendor, Report& report, Progress& progress)
      : files_(files), as_vendor_(as_vendor), report_(report), progress_(progress) {}

  DeviceSide Run() {
    for (const std::string& name : files_.Of("msprof", ".json")) {
      uint64_t bytes = 0;
      std::string why;
      const std::string shown = files_.shown + "/" + name;
      UniqueFd fd = OpenFile(files_.tables.get(), name, &bytes, &why);
      if (!fd) {
        report_.Skip({shown, 0, 0, 0, why});
        continue;
      }
      TraceFile file(std::move(fd), shown, report_, progress_);
      TraceEvent event;
      while (file.Next(event)) Take(event);
    }
    Join();
    std::erase_if(side_.pieces, [this](Piece& piece) {
      const auto device = devices_.find(static_cast<Ref>(piece.device));
      if (device == devices_.end()) return true;
      piece.device = device->second;
      return false;
    });
    return std::move(side_);
  }

 private:
  using At = std::pair<Ref, int64_t>;  // a place and when
  // An arrow from a call to what it launched: a collective is many tasks.
  struct Flow {
    std::optional<std::pair<int64_t, uint64_t>> from;  // ns, thread
    std::vector<At> to;
  };

  static std::string Json(std::string_view value, bool is_text) {
    if (is_text) return '"' + std::string(value) + '"';
    return value.empty() ? "0" : std::string(value);
  }

  Ref PidOf(const TraceEvent& event) {
    return pids_.try_emplace(Json(event.pid, event.pid_is_text), static_cast<Ref>(pids_.size()))
        .first->second;
  }
  Ref PlaceOf(const TraceEvent& event) {
    std::string pid = Json(event.pid, event.pid_is_text), tid = Json(event.tid, event.tid_is_text);
    const auto [at, is_new] = places_.try_emplace(pid + "\n" + tid, static_cast<Ref>(side_.places.size()));
    if (is_new) side_.places.push_back({std::move(pid), std::move(tid)});
    return at->second;
  }

  void Take(const TraceEvent& event) {
    if (event.category == "HostToDevice" && (event.phase == 's' || event.phase == 'f'))
      return TakeFlow(event);
    if (event.name == "process_labels") return TakeLabel(event);
    if (event.phase != 'X') return;
    const std::string_view type = event.Arg("Task Type");
    const bool is_core =
        type == "AI_CORE" || (!as_vendor_ && (type == "AI_VECTOR_CORE" || type.starts_with("MIX_AI")));
    side_.kernels.push_back({PlaceOf(event), event.ns, event.us, is_core});
    TakePiece(event);
  }

  void TakeFlow(const TraceEvent& event) {
    const auto [at, is_new] = flow_of_.try_emplace(std::string(event.id), flows_.size());
    if (is_new) flows_.emplace_back();
    Flow& flow = flows_[at->second];
    if (event.phase == 'f') {
      if (flow.to.empty() || !as_vendor_) flow.to.emplace_back(PlaceOf(event), event.ns);
    } else if (!flow.from) {
      uint64_t tid = 0;
      std::from_chars(event.tid.data(), event.tid.data() + event.tid.size(), tid);
      flow.from.emplace(event.ns, tid);
    }
  }

  // "NPU 3"; "NPU" where there is but one.
  void TakeLabel(const TraceEvent& event) {
    std::string_view label = event.Arg("labels");
    if (!label.starts_with("NPU")) return;
    label.remove_prefix(std::min<size_t>(label.size(), 4));
    int device = -1;
    std::from_chars(label.data(), label.data() + label.size(), device);
    devices_.insert_or_assign(PidOf(event), device);
  }

  void TakePiece(const TraceEvent& event) {
    static constexpr std::pair<std::string_view, Piece::Of> kPieces[] = {
        {"Computing", Piece::Of::kComputing},
        {"Communication", Piece::Of::kCommunication},
        {"Communication(Not Overlapped)", Piece::Of::kNotOverlapped},
        {"Free", Piece::Of::kFree}};
    std::optional<Piece::Of> of;
    for (const auto& [name, piece] : kPieces) {
      if (event.name == name) of = piece;
    }
    if (!of && event.name.starts_with("hcom_receive")) of = Piece::Of::kReceive;
    if (of) side_.pieces.push_back({*of, static_cast<int>(PidOf(event)), event.ns, event.us});
  }

  static At AtOf(const Kernel& kernel) { return {kernel.place, kernel.ns}; }

  // A launch's kernels are what begins where its arrows end; of several that begin there the last one. As the
  // vendor sees it, only the first arrow counts.
  void Join() {
    std::ranges::stable_sort(side_.kernels, {}, AtOf);
    std::vector<Kernel> joined;
    uint64_t alone = 0;
    for (const Flow& flow : flows_) {
      if (!flow.from || flow.to.empty()) ++alone;
      for (const At& to : flow.to) {
        if (!flow.from) continue;
        const auto behind = std::ranges::upper_bound(side_.kernels, to, {}, AtOf);
        if (behind == side_.kernels.begin() || AtOf(*std::prev(behind)) != to) {
          ++alone;
          continue;
        }
        side_.launches.push_back({flow.from->first, flow.from->second, static_cast<Ref>(joined.size())});
        joined.push_back(*std::prev(behind));
      }
    }
    side_.kernels = std::move(joined);
    report_.Note(files_.shown, alone, "arrow from a launch to its kernel has only one end",
                 "arrows from launches to their kernels have only one end");
  }

  const CannFiles& files_;
  const bool as_vendor_;
  Report& report_;
  Progress& progress_;
  DeviceSide side_;
  std::unordered_map<std::string, Ref> pids_, places_;
  std::map<Ref, int> devices_;  // by pid
  std::unordered_map<std::string, size_t> flow_of_;
  std::vector<Flow> flows_;
};

}  // namespace

std::vector<std::string> CannFiles::Of(std::string_view stem, std::string_view ending) const {
  std::vector<std::string> names;
  if (!tables) return names;
  for (const std::string& name : Names(tables.get())) {
    if (StampOf(name, stem, ending) == stamp) names.push_back(name);
  }
  return names;
}

CannFiles FindCannFiles(const UniqueFd& prof, const std::string& name, const std::string& stamp,
                        Report& report) {
  CannFiles files;
  if (!prof) return files;
  constexpr char kTables[] = "mindstudio_profiler_output";
  files.analyze = OpenDir(prof.get(), "analyze");
  files.tables = OpenDir(prof.get(), kTables);
  files.shown = name + "/" + kTables;
  files.stamp = stamp;
  if (!files.tables || !stamp.empty()) return files;
  std::set<std::string> stamps;
  for (const std::string& file : Names(files.tables.get())) {
    for (const auto& [stem, ending] : {std::pair{"msprof", ".json"}, {"op_summary", ".csv"}}) {
      if (auto found = StampOf(file, stem, ending)) stamps.insert(*std::move(found));
    }
  }
  if (!stamps.empty()) files.stamp = *stamps.rbegin();
  if (stamps.size() > 1) {
    report.Note(files.shown + ": has " + std::to_string(stamps.size()) + " exports; the newest is used, " +
                files.stamp);
  }
  return files;
}

DeviceSide ReadTimelines(const CannFiles& files, bool as_vendor, Report& report, Progress& progress) {
  return Reader(files, as_vendor, report, progress).Run();
}

}  // namespace profd::client::framework
