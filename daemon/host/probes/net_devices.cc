// host-net-devices: counters of every network interface and of every port of RDMA devices.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/host/files/driver_counters.h"
#include "daemon/host/files/sys_file.h"
#include "daemon/host/probes/counter_rows.h"
#include "format/kind.h"

namespace profd::host {

namespace {

constexpr size_t kMostInterfaces = 1024;
constexpr size_t kMostRead = 64;  // interfaces and ports whose single files are read
constexpr uint64_t kBytesPerMbit = 1'000'000 / 8;
constexpr uint64_t kRdmaWordBytes = 4;  // the unit of the data counters of a port

using Number = std::optional<uint64_t>;

constexpr std::array<std::string_view, 3> kInterfaceFiles = {
    "statistics/rx_crc_errors", "statistics/rx_missed_errors", "carrier_changes"};
constexpr std::array<std::string_view, 14> kPortFiles = {"counters/port_rcv_data",
                                                         "counters/port_xmit_data",
                                                         "counters/port_rcv_packets",
                                                         "counters/port_xmit_packets",
                                                         "counters/port_xmit_wait",
                                                         "counters/port_rcv_errors",
                                                         "counters/port_xmit_discards",
                                                         "counters/symbol_error",
                                                         "hw_counters/np_cnp_sent",
                                                         "hw_counters/rp_cnp_handled",
                                                         "hw_counters/out_of_sequence",
                                                         "hw_counters/packet_seq_err",
                                                         "hw_counters/local_ack_timeout_err",
                                                         "hw_counters/rnr_nak_retry_err"};

// **Thread:** sample.
class NetDevicesProbe final : public CounterRows {
 public:
  NetDevicesProbe(const ProbeOptions& options, const ProbeContext& context)
      : CounterRows(options, context, std::string(format::file::kHostNetDevices)),
        // The unit gives profd a network of its own: process 1 has the host's.
        net_dev_(context.tree, "/proc/1/net/dev", context.budget),
        class_("/proc/1/root/sys/class") {
    if (!context.tree.Has(class_ + "/net")) class_ = "/sys/class";
  }

 private:
  struct Interface {
    std::vector<SysFile> files;
    Number bytes_per_second;
  };
  struct Port {
    std::string name;
    std::vector<std::optional<SysFile>> files;
  };

  void Refresh() override {
    const SysTree& tree = context_.tree;
    const std::vector<std::string> present = tree.Names(class_ + "/net");
    std::erase_if(interfaces_, [&](const auto& known) {
      return !std::binary_search(present.begin(), present.end(), known.first);
    });
    for (const std::string& name : present) {
      const std::string dir = class_ + "/net/" + name;
      auto known = interfaces_.find(name);
      if (known == interfaces_.end()) {
        if (interfaces_.size() >= kMostRead) continue;
        known = interfaces_.try_emplace(name).first;
        for (const std::string_view file : kInterfaceFiles)
          known->second.files.emplace_back(tree, dir + "/" + std::string(file), context_.budget);
      }
      // Asks the driver, which may take longer than all the rest; "-1" where it does not know.
      const Number mbit = tree.Number(dir + "/speed");
      known->second.bytes_per_second = mbit ? Number(*mbit * kBytesPerMbit) : std::nullopt;
    }
    std::vector<std::string> watched;
    for (const auto& [name, interface] : interfaces_) watched.push_back(name);
    drivers_.Watch(std::move(watched));
    for (const std::string& device : tree.Names(class_ + "/infiniband")) {
      const std::string ports = class_ + "/infiniband/" + device + "/ports/";
      const std::string of_device = device + "/";
      for (const std::string& port : tree.Names(ports)) AddPort(of_device + port, ports + port);
    }
  }

  void AddPort(const std::string& name, const std::string& dir) {
    const bool known = std::ranges::any_of(ports_, [&name](const Port& port) { return port.name == name; });
    if (known || ports_.size() >= kMostRead) return;
    Port& port = ports_.emplace_back();
    port.name = name;
    for (const std::string_view file : kPortFiles) {
      const std::string path = dir + "/" + std::string(file);
      auto& kept = port.files.emplace_back();
      if (context_.tree.Has(path)) kept.emplace(context_.tree, path, context_.budget);
    }
  }

  void AppendRows() override {
    std::string_view rest = net_dev_.Read(lines_);
    for (size_t count = 0; !rest.empty() && count < kMostInterfaces; ++count) AppendInterface(TakeLine(rest));
    for (const auto& [name, numbers] : drivers_.Take()) AppendRow("pfc", numbers, name);
    for (Port& port : ports_) {
      std::array<Number, kPortFiles.size()> numbers;
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (port.files[i]) numbers[i] = LeadingNumber(port.files[i]->Read(buffer_));
        if (i < 2 && numbers[i]) *numbers[i] *= kRdmaWordBytes;
      }
      const bool there =
          std::ranges::any_of(numbers, [](const Number& number) { return number.has_value(); });
      if (there) AppendRow("rdma", numbers, port.name);
    }
  }

  // "  eth0: <bytes> <packets> <errors> <dropped> fifo frame compressed multicast", the same of what was
  // sent.
  void AppendInterface(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view head = line.substr(0, colon);
    const std::string_view name = TakeWord(head);
    line.remove_prefix(colon + 1);
    std::array<Number, 16> of_line;
    for (Number& number : of_line) number = LeadingNumber(TakeWord(line));
    if (name.empty() || !of_line[0] || !of_line[8]) return;
    std::array<Number, 12> numbers;
    for (size_t i = 0; i < 4; ++i) {
      numbers[2 * i] = of_line[i];
      numbers[2 * i + 1] = of_line[8 + i];
    }
    if (const auto known = interfaces_.find(name); known != interfaces_.end()) {
      for (size_t i = 0; i < known->second.files.size(); ++i)
        numbers[8 + i] = LeadingNumber(known->second.files[i].Read(buffer_));
      numbers[11] = known->second.bytes_per_second;
    }
    AppendRow("net", numbers, name);
  }

  SysFile net_dev_;
  std::string class_;
  std::map<std::string, Interface, std::less<>> interfaces_;
  std::vector<Port> ports_;
  DriverCounters drivers_;
  std::string lines_;
};

}  // namespace

std::unique_ptr<Probe> MakeNetDevicesProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<NetDevicesProbe>(options, context);
}

}  // namespace profd::host
