#include "client/report/recorded.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "client/analyze/model/parallel.h"
#include "client/export/read/capture.h"
#include "client/export/read/sources/pipeline.h"
#include "client/export/views/counters.h"
#include "format/decode/host/cpu_profile.h"

namespace profd::report {
namespace {

constexpr size_t kMostPoints = 6000;  // of a curve
constexpr size_t kMostCharts = 24;    // of a rank, and of a node
constexpr size_t kMostFlames = 64;
constexpr size_t kMostFrames = 4000;  // of a flame
constexpr size_t kDeepest = 160;

// A series of a capture as it comes: one argument of one of its events.
struct Track {
  client::BoundArg arg;
  std::string title, unit;
  int device = -1, order = 0;
  std::vector<std::pair<uint64_t, double>> points;
};

int OrderOf(std::string_view series) {
  constexpr std::string_view kOrder[] = {"hbm",       "hccs",        "pcie",      "roce",
                                         "nic",       "netdev",      "ddr",       "llc",
                                         "core_freq", "core_sample", "npu_mem",   "host_cgroup",
                                         "host_cpu",  "host_mem",    "host_disk", "host_network"};
  for (size_t i = 0; i < std::size(kOrder); ++i) {
    if (series.starts_with(kOrder[i])) return static_cast<int>(i);
  }
  return static_cast<int>(std::size(kOrder));
}

// "Read(MB/s)" → "Read", "MB/s"; "KB" → "", "KB".
std::pair<std::string, std::string> LabelAndUnit(const std::string& name) {
  const size_t at = name.rfind('(');
  if (at != name.npos && name.ends_with(')'))
    return {name.substr(0, at), name.substr(at + 1, name.size() - at - 2)};
  return name == "KB" ? std::pair<std::string, std::string>{"", "KB"}
                      : std::pair<std::string, std::string>{name, ""};
}

// **Thread:** one.
class Collector : public format::RowSink, public format::SpanSink, public client::ProfileSink {
 public:
  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override {
    rows_.Label(series, device, key, value, text);
  }
  void Rows(const format::RowBatch& batch) override {
    rows_.Rows(
        batch,
        [](const client::CounterTable& table, const format::RowBatch& of, std::span<const int64_t> keys,
           const client::Labels& labels, std::vector<Track>& tracks) {
          for (client::BoundEvent& event :
               client::BindEvents(table, *of.series, of.device, keys, labels, {})) {
            for (client::BoundArg& arg : event.args) {
              Track track;
              track.title = event.name;
              track.device = of.device;
              track.order = OrderOf(of.series->name);
              track.arg = std::move(arg);
              tracks.push_back(std::move(track));
            }
          }
        },
        [](Track& track, uint64_t at, const int64_t* keys, const double* values) {
          const double value = track.arg.Of(keys, values);
          if (std::isfinite(value)) track.points.emplace_back(at, value);
        });
  }
  void Spans(const format::SpanBatch&) override {}
  void Sample(const client::ProfileSample& sample) override {
    Flame& flame = flames_[{sample.pid, sample.off_cpu}];
    if (flame.samples++ == 0) {
      flame.pid = sample.pid;
      flame.process = sample.texts->Get(sample.process);
      flame.is_waiting = sample.off_cpu;
      flame.is_cycles = sample.cycles;
    }
    const auto weight = static_cast<double>(sample.period);
    Flame::Node* node = &flame.root;
    node->all += weight;
    size_t depth = 0;
    for (auto frame = sample.frames.rbegin(); frame != sample.frames.rend() && depth < kDeepest;
         ++frame, ++depth) {
      std::string name(sample.texts->Get(frame->function));
      if (name.empty()) name = "[unknown]";
      if (frame->kernel) name += " [k]";
      node = &node->called.try_emplace(name, Flame::Node{name}).first->second;
      node->all += weight;
    }
    node->self += weight;
  }

  client::CounterRows<Track> rows_{true};
  std::map<std::pair<int64_t, bool>, Flame> flames_;
};

struct OfCapture {
  std::string path, node;
  Collector collector;
};

// Smallest and largest of each of as many bins as there is room for, in their order.
Curve Thinned(std::string label, const std::vector<std::pair<uint64_t, double>>& points,
              const std::function<Ns(Ns)>& moved) {
  Curve curve{std::move(label), {}, {}};
  const auto add = [&](const std::pair<uint64_t, double>& point) {
    const Ns at = moved(static_cast<Ns>(point.first));
    if (!curve.at.empty() && at < curve.at.back()) return;
    curve.at.push_back(at);
    curve.value.push_back(static_cast<float>(point.second));
  };
  const size_t each = (points.size() + kMostPoints / 2 - 1) / (kMostPoints / 2);
  if (points.size() <= kMostPoints) {
    for (const auto& point : points) add(point);
    return curve;
  }
  for (size_t i = 0; i < points.size(); i += each) {
    const auto from = points.begin() + static_cast<ptrdiff_t>(i);
    const auto to = points.begin() + static_cast<ptrdiff_t>(std::min(points.size(), i + each));
    auto [low, high] =
        std::minmax_element(from, to, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    add(*low);
    if (high != low) add(*high);
  }
  return curve;
}

// The rank that a device of a directory is; of the host the first of its node.
std::optional<size_t> RankOf(const View& view, const OfCapture& capture, int device) {
  for (size_t r = 0; r < view.job.ranks.size(); ++r) {
    const analyze::Rank& rank = view.job.ranks[r];
    const bool is_its_node = rank.node == capture.node || rank.source.starts_with(capture.path);
    if (is_its_node && (device < 0 || rank.device == device)) return r;
  }
  return std::nullopt;
}

void AddCharts(const View& view, OfCapture& capture, Recorded& recorded) {
  std::map<std::tuple<size_t, bool, int, std::string, std::string>, Chart> charts;
  capture.collector.rows_.ForEach([&](Track& track) {
    const auto [low, high] =
        std::ranges::minmax_element(track.points, {}, &std::pair<uint64_t, double>::second);
    if (track.points.size() < 2 || (low->second == 0 && high->second == 0)) return;
    const auto rank = RankOf(view, capture, track.device);
    if (!rank) return;
    auto [label, unit] = LabelAndUnit(track.arg.name);
    std::string title = track.title;
    if (const size_t at = title.rfind('/'); at != title.npos && at + 1 < title.size()) {
      label = title.substr(at + 1) + (label.empty() || label == title.substr(at + 1) ? "" : " " + label);
      title.resize(at);
    }
    const bool is_host = track.device < 0;
    Chart& chart = charts[{*rank, is_host, track.order, title, unit}];
    chart.title = title;
    chart.unit = unit;
    chart.rank = *rank;
    chart.order = track.order;
    if (is_host) chart.node = capture.node;
    constexpr size_t kMostCurves = 8;
    std::ranges::stable_sort(track.points, {}, &std::pair<uint64_t, double>::first);
    if (chart.curves.size() < kMostCurves)
      chart.curves.push_back(Thinned(std::move(label), track.points,
                                     [&](Ns at) { return view.analysis.clocks().Moved(*rank, at); }));
  });
  std::map<std::pair<size_t, bool>, size_t> count;
  for (auto& [key, chart] : charts) {
    if (++count[{std::get<0>(key), std::get<1>(key)}] <= kMostCharts) {
      recorded.charts.push_back(std::move(chart));
    } else {
      ++recorded.charts_left_out;
    }
  }
}

// The heaviest frames stay; what is left of others counts for their caller.
void Prune(Flame& flame) {
  std::vector<double> weights;
  const std::function<void(const Flame::Node&)> weigh = [&](const Flame::Node& node) {
    weights.push_back(node.all);
    for (const auto& [name, called] : node.called) weigh(called);
  };
  weigh(flame.root);
  double least = flame.root.all / 2000;
  if (weights.size() > kMostFrames) {
    std::ranges::nth_element(weights, weights.begin() + kMostFrames, std::greater<>());
    least = std::max(least, weights[kMostFrames]);
  }
  const std::function<void(Flame::Node&)> cut = [&](Flame::Node& node) {
    std::erase_if(node.called, [&](const auto& called) {
      if (called.second.all >= least) return false;
      node.self += called.second.all;
      return true;
    });
    for (auto& [name, called] : node.called) cut(called);
  };
  cut(flame.root);
}

void AddFlames(const View& view, OfCapture& capture, Recorded& recorded) {
  for (auto& [key, flame] : capture.collector.flames_) {
    flame.node_name = capture.node;
    for (const analyze::Rank& rank : view.job.ranks) {
      if (rank.node == capture.node && rank.process != 0 && rank.process == static_cast<uint64_t>(flame.pid))
        flame.rank = rank.number;
    }
    Prune(flame);
    recorded.flames.push_back(std::move(flame));
  }
}

}  // namespace

Recorded ReadRecorded(const View& view, unsigned jobs) {
  std::set<std::string> paths;
  for (const std::string& path : view.analysis.request().paths) {
    if (const auto found = client::FindCaptures(path); found.ok()) paths.insert(found->begin(), found->end());
  }
  std::vector<OfCapture> captures(paths.size());
  size_t i = 0;
  for (const std::string& path : paths) captures[i++].path = path;
  // What is wrong with them the analysis has noted.
  analyze::ForEach(captures.size(), jobs, [&](size_t at) {
    OfCapture& of = captures[at];
    client::Report report;
    const auto capture = client::OpenCapture(of.path, false, report);
    if (!capture.ok()) return;
    for (const client::Side& side : capture->sides) {
      if (of.node.empty()) of.node = side.facts.hostname;
    }
    client::Wanted wanted;
    wanted.kinds = client::KindsOf(*capture);
    for (const char* kind : {"task", "api", "step-trace", "aicore-task"}) wanted.kinds->erase(kind);
    std::erase_if(*wanted.kinds, [](const std::string& kind) { return kind.starts_with("agent-"); });
    format::Texts texts;
    client::Sinks sinks;
    sinks.rows = &of.collector;
    sinks.spans = &of.collector;
    sinks.profile = &of.collector;
    sinks.texts = &texts;
    sinks.report = &report;
    sinks.overlap = false;
    client::Decode(*capture, wanted, false, sinks);
  });
  Recorded recorded;
  for (OfCapture& capture : captures) {
    AddCharts(view, capture, recorded);
    AddFlames(view, capture, recorded);
  }
  std::ranges::stable_sort(recorded.charts, {}, [](const Chart& chart) {
    return std::tuple(chart.rank, !chart.node.empty(), chart.order, chart.title);
  });
  // Programs of the job first, the heaviest first.
  std::ranges::stable_sort(recorded.flames, {}, [](const Flame& flame) {
    return std::tuple(flame.rank < 0, flame.rank, flame.is_waiting, -flame.root.all);
  });
  if (recorded.flames.size() > kMostFlames) recorded.flames.resize(kMostFlames);
  return recorded;
}

}  // namespace profd::report
