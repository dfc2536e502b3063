#include "client/words/vendor_words.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

namespace profd::client {

using base::Code;
using base::Status;
using options::Remark;
using options::Wish;

namespace {

std::string Line(const options::Option& option, const std::string& text) {
  return "--" + std::string(option.name) + ": " + text;
}

std::vector<const v1::Device*> Selected(const v1::DevicesReply& node, const v1::SessionSpec& spec) {
  std::vector<const v1::Device*> devices;
  for (const v1::Device& device : node.devices()) {
    const bool named = std::ranges::find(spec.devices(), device.device()) != spec.devices().end();
    if (spec.devices().empty() || named) devices.push_back(&device);
  }
  return devices;
}

bool IsDeviceKind(const std::vector<const v1::Device*>& devices, std::string_view kind) {
  return std::ranges::any_of(devices, [kind](const v1::Device* device) {
    return std::ranges::any_of(device->kinds(),
                               [kind](const v1::KindOffer& offer) { return offer.kind() == kind; });
  });
}

// An option that only says how kinds are collected: "" = one of them is, else why none is.
std::string WhyNone(const options::Option& option, const v1::SessionSpec& spec,
                    const std::map<std::string, std::string, std::less<>>& why) {
  std::string reason;
  bool collected = false;
  options::ForEachWord(option.what, [&](std::string_view kind) {
    collected = collected || std::ranges::any_of(spec.kinds(), [kind](const v1::KindRequest& request) {
                  return request.kind() == kind || request.kind() == std::string(kind) + "-task";
                });
    if (const auto found = why.find(kind); found != why.end() && reason.empty()) reason = found->second;
  });
  return collected ? "" : reason;
}

// What the devices say of a kind.
struct Offers {
  bool available = false;
  bool is_of_a_chip = false;  // a chip has it: what stands in the way is another thing
  double max_hz = 0;          // that all of those that have it take
  std::string reason;         // why not
};
Offers OffersOf(const std::vector<const v1::Device*>& devices, std::string_view kind) {
  Offers offers;
  for (const v1::Device* device : devices) {
    for (const v1::KindOffer& offer : device->kinds()) {
      if (offer.kind() != kind) continue;
      if (!offer.available()) {
        const bool known = offer.max_hz() > 0 || offer.modes_size() > 0;
        if (offers.reason.empty() || (known && !offers.is_of_a_chip)) offers.reason = offer.reason();
        offers.is_of_a_chip = offers.is_of_a_chip || known;
        continue;
      }
      offers.max_hz = offers.available ? std::min(offers.max_hz, offer.max_hz()) : offer.max_hz();
      offers.available = true;
    }
  }
  return offers;
}

std::string Hz(double hz) {
  char text[32];
  std::snprintf(text, sizeof text, "%g Hz", hz);
  return text;
}

v1::KindRequest Request(const Wish& wish) {
  v1::KindRequest request;
  request.set_kind(std::string(wish.kind));
  request.set_mode(wish.mode);
  request.set_hz(wish.hz);
  return request;
}

}  // namespace

options::Chips ChipsOf(const v1::DevicesReply& node, const v1::SessionSpec& spec) {
  options::Chips chips;
  for (const v1::Device* device : Selected(node, spec)) chips = chips | options::ChipOf(device->chip());
  return chips;
}

base::Result<Granted> AddWishes(const options::Given& given, const std::set<std::string>& defaults,
                                const v1::DevicesReply& node, v1::SessionSpec* spec) {
  const options::Chips chips = ChipsOf(node, *spec);
  PROFD_RETURN_IF_ERROR(options::Check(given, chips));
  const options::Wishes wishes = options::WishesOf(given, chips);
  Granted granted;
  for (const Remark& remark : wishes.remarks) {
    granted.remarks.push_back(Line(*remark.option, remark.text));
    const bool is_given = !defaults.contains(std::string(remark.option->name));
    granted.unmet = granted.unmet || (remark.unmet && is_given);
  }
  const std::vector<const v1::Device*> devices = Selected(node, *spec);
  std::map<const options::Option*, std::string> absent;  // options without a kind so far, and why
  std::map<std::pair<const options::Option*, double>, std::string> slower;
  std::map<const options::Option*, std::vector<std::string>>
      lacking;  // kinds that the chip has, not to be had
  std::set<const options::Option*> present;
  std::map<std::string, std::string, std::less<>> why;  // kinds that no device has, and why
  for (Wish wish : wishes.kinds) {
    const bool asked = std::ranges::any_of(
        spec->kinds(), [&](const v1::KindRequest& request) { return request.kind() == wish.kind; });
    if (!asked && IsDeviceKind(devices, wish.kind)) {
      const Offers offers = OffersOf(devices, wish.kind);
      if (!offers.available) {
        absent.emplace(wish.option, offers.reason);
        why.emplace(wish.kind, offers.reason);
        if (offers.is_of_a_chip)
          lacking[wish.option].push_back(std::string(wish.kind) + " is not collected: " + offers.reason);
        continue;
      }
      if (offers.max_hz < wish.hz && offers.max_hz > 0) {
        std::string& kinds = slower[{wish.option, offers.max_hz}];
        kinds += (kinds.empty() ? "" : " ") + std::string(wish.kind);
      }
      wish.hz = std::min(wish.hz, offers.max_hz);
    }
    present.insert(wish.option);
    if (asked) continue;
    v1::KindRequest& request = *spec->add_kinds();
    request = Request(wish);
    request.set_by_default(defaults.contains(std::string(wish.option->name)));
  }
  for (const auto& [option_and_hz, kinds] : slower)
    granted.remarks.push_back(
        Line(*option_and_hz.first, kinds + " at " + Hz(option_and_hz.second) + ", the maximum"));
  for (const auto& [option, reason] : absent) {
    if (present.contains(option)) {
      for (const std::string& text : lacking[option]) granted.remarks.push_back(Line(*option, text));
      continue;
    }
    granted.remarks.push_back(Line(*option, "not collected: " + reason));
    granted.unmet = true;
  }
  for (const auto& [name, value] : given) {
    const options::Option* const option = options::Find(name);
    if (option == nullptr || option->becomes != options::Becomes::kMode || !options::IsOn(value)) continue;
    const std::string reason = WhyNone(*option, *spec, why);
    if (reason.empty()) continue;
    granted.remarks.push_back(Line(*option, "not collected: " + reason));
    granted.unmet = true;
  }
  if (!granted.unmet || !present.empty() || !spec->kinds().empty() || !spec->preset().empty()) return granted;
  return Status(Code::kInvalidArgument, "nothing to collect: " + granted.remarks.back());
}

}  // namespace profd::client
