// How busy the pipes of cores were while kernels ran, as their counters tell.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace profd::analyze {

// What of a core works beside the others; names in brackets as in the vendor's metric PipeUtilization.
enum class Pipe : uint8_t { kCube, kVector, kScalar, kLoadInner, kLoad, kStore, kFixpipe };
inline constexpr std::array<std::string_view, 7> kPipeNames = {"mac",  "vec",  "scalar", "mte1",
                                                               "mte2", "mte3", "fixpipe"};
inline std::string_view PipeName(Pipe pipe) { return kPipeNames[static_cast<size_t>(pipe)]; }

struct PipeOfCore {
  Pipe pipe{};
  bool vector_core = false;
};
// Of "aic_mac_ratio", "aiv_vec_ratio", "mte2_ratio"; nullopt: not how busy a pipe was.
inline std::optional<PipeOfCore> PipeOf(std::string_view metric) {
  constexpr std::string_view kEnd = "_ratio";
  const bool vector = metric.starts_with("aiv_");
  if (vector || metric.starts_with("aic_")) metric.remove_prefix(4);
  if (!metric.ends_with(kEnd)) return std::nullopt;
  metric.remove_suffix(kEnd.size());
  for (size_t i = 0; i < kPipeNames.size(); ++i) {
    if (metric == kPipeNames[i]) return PipeOfCore{static_cast<Pipe>(i), vector};
  }
  return std::nullopt;
}

// Over all kernels of a class that have been counted.
struct PipeUse {
  struct Mean {
    double sum = 0;
    uint64_t count = 0;
  };
  std::array<std::array<Mean, kPipeNames.size()>, 2> cores{};  // AI cores, vector cores

  // `busy`: part of the kernel's time; what is none is left out.
  void Add(PipeOfCore of, double busy) {
    if (!(busy >= 0) || busy > 1.5) return;  // a counter that ran over
    Mean& mean = cores[of.vector_core][static_cast<size_t>(of.pipe)];
    mean.sum += busy;
    ++mean.count;
  }
  void Add(const PipeUse& other) {
    for (size_t core = 0; core < cores.size(); ++core) {
      for (size_t pipe = 0; pipe < kPipeNames.size(); ++pipe) {
        cores[core][pipe].sum += other.cores[core][pipe].sum;
        cores[core][pipe].count += other.cores[core][pipe].count;
      }
    }
  }
  // In the mean, on the cores where it is busier; NaN: not counted.
  double Busy(Pipe pipe) const {
    double busy = std::nan("");
    for (const auto& core : cores) {
      const Mean& mean = core[static_cast<size_t>(pipe)];
      if (mean.count > 0) busy = std::fmax(busy, mean.sum / static_cast<double>(mean.count));
    }
    return busy;
  }
};

}  // namespace profd::analyze
