// host-hardware: where memory came from, by NUMA node, and the PCIe links of NPUs.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/host/files/sys_file.h"
#include "daemon/host/probes/counter_rows.h"
#include "format/kind.h"

namespace profd::host {

namespace {

constexpr size_t kMostUnits = 64;
constexpr uint64_t kBytesPerKb = 1024;

using Number = std::optional<uint64_t>;

// "16.0 GT/s PCIe" in MT/s.
Number TransfersOf(std::string_view text) {
  const Number whole = LeadingNumber(text);
  if (!whole || *whole > 1'000'000 || text.find("GT/s") == std::string_view::npos) return std::nullopt;
  const size_t point = text.find('.');
  const bool half = point != std::string_view::npos && text.substr(point + 1).starts_with('5');
  return *whole * 1000 + (half ? 500 : 0);
}

// **Thread:** sample.
class HardwareProbe final : public CounterRows {
 public:
  HardwareProbe(const ProbeOptions& options, const ProbeContext& context)
      : CounterRows(options, context, std::string(format::file::kHostHardware)) {
    Refresh();
    if (nodes_.empty() && links_.empty() && options.outcome)
      options.outcome->note = "neither NUMA nodes nor PCIe links of NPUs can be read here";
  }

 private:
  struct Node {
    std::string name;
    SysFile stat, memory;
  };
  struct Link {
    std::string name;
    std::vector<SysFile> files;  // speed, width, most of them
  };

  void Refresh() override {
    const SysTree& tree = context_.tree;
    const std::string nodes = "/sys/devices/system/node";
    for (const std::string& name : tree.Names(nodes, "node")) {
      const std::string dir = nodes + "/" + name;
      if (nodes_.size() >= kMostUnits || Known(nodes_, name) || !tree.Has(dir + "/numastat")) continue;
      nodes_.push_back({name, SysFile(tree, dir + "/numastat", context_.budget),
                        SysFile(tree, dir + "/meminfo", context_.budget)});
    }
    if (links_read_) return;  // the bus has many devices, and NPUs do not come and go
    links_read_ = true;
    const std::string bus = "/sys/bus/pci/devices";
    for (const std::string& name : tree.Names(bus)) {
      const std::string dir = bus + "/" + name;
      // A processing accelerator of the vendor's.
      if (links_.size() >= kMostUnits || !tree.Read(dir + "/vendor").starts_with("0x19e5") ||
          !tree.Read(dir + "/class").starts_with("0x12")) {
        continue;
      }
      Link& link = links_.emplace_back();
      link.name = name;
      for (const char* file :
           {"/current_link_speed", "/current_link_width", "/max_link_speed", "/max_link_width"})
        link.files.emplace_back(tree, dir + file, context_.budget);
    }
  }

  template <typename Unit>
  static bool Known(const std::vector<Unit>& units, const std::string& name) {
    return std::ranges::any_of(units, [&name](const Unit& unit) { return unit.name == name; });
  }

  void AppendRows() override {
    constexpr std::string_view kKeys[] = {"numa_hit",       "numa_miss",  "numa_foreign",
                                          "interleave_hit", "local_node", "other_node"};
    for (Node& node : nodes_) {
      std::array<Number, std::size(kKeys) + 1> numbers;
      const std::string_view stat = node.stat.Read(buffer_);
      for (size_t i = 0; i < std::size(kKeys); ++i) numbers[i] = NumberOf(stat, kKeys[i]);
      // "Node 0 MemFree:  123 kB"
      for (std::string_view rest = node.memory.Read(buffer_); !rest.empty();) {
        std::string_view line = TakeLine(rest);
        TakeWord(line);
        TakeWord(line);
        if (TakeWord(line) != "MemFree:") continue;
        if (const Number kb = LeadingNumber(TakeWord(line)); kb) numbers.back() = *kb * kBytesPerKb;
      }
      if (numbers[0]) AppendRow("numa", numbers, node.name);
    }
    for (Link& link : links_) {
      std::array<Number, 4> numbers;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const std::string_view text = link.files[i].Read(buffer_);
        numbers[i] = i % 2 == 0 ? TransfersOf(text) : LeadingNumber(text);
      }
      if (numbers[0] || numbers[1]) AppendRow("pcie", numbers, link.name);
    }
  }

  std::vector<Node> nodes_;
  std::vector<Link> links_;
  bool links_read_ = false;
};

}  // namespace

std::unique_ptr<Probe> MakeHardwareProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<HardwareProbe>(options, context);
}

}  // namespace profd::host
