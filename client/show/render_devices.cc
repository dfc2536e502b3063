// Devices and the host: what can be collected.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "base/join.h"
#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using Offers = google::protobuf::RepeatedPtrField<v1::KindOffer>;
// Of each kind who holds it, and on which devices.
using Holders = std::map<std::string, std::map<std::string, std::vector<uint32_t>>>;

// Devices of which the same is true.
struct Group {
  const v1::Device* device;
  std::vector<uint32_t> numbers;
  Holders holders;
};

// "1–100 Hz, default 50"
std::string RateText(const v1::KindOffer& offer) {
  if (offer.max_hz() == 0) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%g–%g Hz, default %g", offer.min_hz(), offer.max_hz(),
                offer.default_hz());
  return text;
}

// "session 49c76ddd of root since …" is 49c76ddd in a table; what else holds a kind is called as it is.
std::string ShortOf(const std::string& holder) {
  constexpr std::string_view kSession = "session ";
  if (!holder.starts_with(kSession)) return holder;
  return holder.substr(kSession.size(), holder.find(' ', kSession.size()) - kSession.size());
}

// Whom ShortOf() stands for, a line each.
std::string HolderLines(const v1::DevicesReply& reply, const Look& look) {
  std::set<std::string> holders;
  for (const v1::Device& device : reply.devices()) {
    for (const v1::KindHolder& holder : device.holders()) {
      if (ShortOf(holder.holder()) != holder.holder()) holders.insert(OneLine(holder.holder()));
    }
  }
  std::string text = holders.empty() ? "" : "\n";
  for (const std::string& holder : holders) text += Wrapped("held by " + holder, look.columns) + "\n";
  return text;
}

std::string RenderOffers(const Offers& offers, const Holders& holders, size_t devices, const Look& look) {
  // Kinds of which the same is true share a line.
  struct Line {
    std::vector<std::string> kinds;
    std::vector<Table::Cell> rest;
  };
  std::vector<Line> lines;
  Reasons missing;
  for (const v1::KindOffer& offer : offers) {
    if (!offer.available() && !look.all) {
      missing.Add(OneLine(offer.kind()), "", OneLine(offer.reason()));
      continue;
    }
    std::string held_by;
    if (const auto held = holders.find(offer.kind()); held != holders.end()) {
      for (const auto& [holder, on] : held->second)
        base::AddTo(held_by, OneLine(look.all ? holder : ShortOf(holder)) +
                                 (on.size() < devices ? " on " + RangesText(on) : ""));
    }
    Line line;
    line.kinds.push_back(OneLine(offer.kind()));
    line.rest.emplace_back(RateText(offer));
    line.rest.emplace_back(OneLine(base::Joined(offer.modes(), ", ")));
    line.rest.emplace_back(!look.all           ? ""
                           : offer.available() ? "yes"
                                               : "no",
                           offer.available() ? Colour::kGood : Colour::kDim);
    line.rest.emplace_back(held_by);
    line.rest.emplace_back(OneLine(offer.reason()));
    const auto alike = [&line](const Line& other) {
      return std::ranges::equal(line.rest, other.rest, {}, &Table::Cell::text, &Table::Cell::text);
    };
    const auto same = look.all ? lines.end() : std::ranges::find_if(lines, alike);
    if (same == lines.end()) {
      lines.push_back(std::move(line));
    } else {
      same->kinds.push_back(line.kinds.front());
    }
  }
  Table table({"~KIND", "RATE", "~MODES", "HERE", "~HELD BY", "~REASON"});
  for (Line& line : lines) {
    line.rest.insert(line.rest.begin(), base::Joined(line.kinds, ", "));
    table.Add(std::move(line.rest));
  }
  return (lines.empty() ? "" : table.Text(look)) + missing.Text("not here:", look);
}

// What device it is does not count.
std::string WithoutNumber(const v1::Device& device) {
  v1::Device same = device;
  same.clear_device();
  same.clear_physical_id();
  same.clear_holders();
  same.clear_links();
  same.clear_pci_address();
  same.clear_numa_node();
  same.clear_cpus();
  return same.SerializeAsString();
}

std::string RenderDevice(const Group& group, const Look& look) {
  const v1::Device& device = *group.device;
  const std::vector<uint32_t>& numbers = group.numbers;
  std::string text =
      "\n" +
      Paint((numbers.size() == 1 ? "device " : "devices ") + RangesText(numbers), Colour::kBold, look) +
      "  " + OneLine(device.chip()) + "  " +
      Paint(HealthName(device), device.status() == 1 ? Colour::kGood : Colour::kBad, look) + "  " +
      std::to_string(device.ai_cores()) + " AI cores" + (device.virtual_npu() ? "  virtual NPU" : "") + "\n";
  if (!device.error().empty())
    text += Paint(Wrapped(OneLine(device.error()), look.columns), Colour::kWarn, look) + "\n";
  return text +
         (device.kinds_size() > 0 ? RenderOffers(device.kinds(), group.holders, numbers.size(), look) : "");
}

// How each device reaches the others, and where it is in the host: a matrix where all is shown, else which it
// reaches by what.
std::string RenderLinks(const v1::DevicesReply& reply, const Look& look) {
  const auto is_linked = [](const v1::Device& device) {
    return device.links_size() > 0 || !device.pci_address().empty();
  };
  if (std::ranges::none_of(reply.devices(), is_linked)) return "";
  std::vector<std::string> heads{look.all ? "LINKS" : ">DEVICE"};
  if (look.all) {
    for (const v1::Device& device : reply.devices()) heads.push_back(std::to_string(device.device()));
  } else {
    heads.emplace_back("~LINKS");
  }
  for (const char* head : {"PCI", ">NUMA", "?CPUS"}) heads.emplace_back(head);
  Table table(heads);
  for (const v1::Device& device : reply.devices()) {
    const std::string number = std::to_string(device.device());
    std::vector<Table::Cell> row{look.all ? "device " + number : number};
    if (look.all) {
      for (const v1::Device& other : reply.devices()) {
        std::string kind = device.device() == other.device() ? "X" : "-";
        for (const v1::DeviceLink& link : device.links()) {
          if (link.device() == other.device()) kind = OneLine(link.kind());
        }
        row.emplace_back(kind);
      }
    } else {
      std::map<std::string, std::vector<uint32_t>> reached;
      for (const v1::DeviceLink& link : device.links())
        reached[OneLine(link.kind())].push_back(link.device());
      std::string links;
      for (const auto& [kind, devices] : reached)
        links += (links.empty() ? "" : "; ") + kind + " to " + RangesText(devices);
      row.emplace_back(links);
    }
    row.emplace_back(OneLine(device.pci_address()));
    row.emplace_back(device.has_numa_node() ? std::to_string(device.numa_node()) : "");
    row.emplace_back(OneLine(device.cpus()));
    table.Add(std::move(row));
  }
  return "\n" + table.Text(look);
}

std::string DriverLines(const v1::DevicesReply& reply, const Look& look) {
  const auto warn = [&look](const std::string& line) {
    return Paint(Wrapped(line, look.columns), Colour::kWarn, look) + "\n";
  };
  if (reply.driver_path().empty()) return warn("no driver library: " + OneLine(reply.driver_error()));
  char version[16];
  std::snprintf(version, sizeof(version), "0x%06x", reply.driver_api_version());
  const std::string line = "driver " + OneLine(reply.driver_path()) + ", API version " + version + "\n";
  return line + (reply.driver_error().empty() ? "" : warn("driver: " + OneLine(reply.driver_error())));
}

}  // namespace

std::string RenderDevices(const v1::DevicesReply& reply, const Look& look) {
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (const v1::Device& device : reply.devices()) {
    const auto [same, is_new] = known.try_emplace(WithoutNumber(device), groups.size());
    if (is_new || look.all) groups.push_back({&device, {}, {}});
    Group& group = look.all ? groups.back() : groups[same->second];
    group.numbers.push_back(device.device());
    for (const v1::KindHolder& holder : device.holders())
      group.holders[holder.kind()][holder.holder()].push_back(device.device());
  }
  std::string text = DriverLines(reply, look);
  if (reply.devices_size() == 0) text += "no devices\n";
  if (reply.devices_size() > 1) {
    const auto works = std::ranges::count_if(reply.devices(), [](const auto& d) { return d.status() == 1; });
    text += std::to_string(reply.devices_size()) + " devices, " +
            (works == reply.devices_size() ? "all" : std::to_string(works)) + " working\n";
  }
  std::ranges::stable_sort(groups, {}, [](const Group& group) { return group.device->status() == 1; });
  for (const Group& group : groups) text += RenderDevice(group, look);
  if (!look.all) text += HolderLines(reply, look);
  text += RenderLinks(reply, look);
  return text + "\n" + Paint("host", Colour::kBold, look) + "\n" +
         RenderOffers(reply.host_kinds(), {}, 1, look);
}

}  // namespace profd::client
