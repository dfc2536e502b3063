#include "client/export/framework/join/links.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace profd::client::framework {
namespace {

using Kernels = std::vector<Ref>;

// Of "ProfilerStep#12"; nullopt: the operator is no step.
std::optional<int64_t> StepNumber(std::string_view name) {
  if (name.find("ProfilerStep#") == name.npos) return std::nullopt;
  const std::string_view digits = name.substr(name.rfind('#') + 1);
  int64_t number = 0;
  const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || at != digits.data() + digits.size() || number < 0) return std::nullopt;
  return number;
}

// By correlation: what was launched while the device's thread had it. Whatever asks for it first has it.
class OfQueue {
 public:
  void Add(uint64_t correlation, Ref kernel) { kernels_[correlation].push_back(kernel); }
  bool empty() const { return kernels_.empty(); }
  Kernels Take(uint64_t correlation) {
    const auto found = kernels_.find(correlation);
    return found == kernels_.end() ? Kernels() : std::exchange(found->second, {});
  }
  const Kernels* Look(uint64_t correlation) const {
    const auto found = kernels_.find(correlation);
    return found == kernels_.end() || found->second.empty() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<uint64_t, Kernels> kernels_;
};

std::vector<Ref> ByTime(const std::vector<Launch>& launches) {
  std::vector<Ref> order(launches.size());
  for (Ref i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](Ref i) { return launches[i].ns; });
  return order;
}

// **Thread:** one. Fills one Links.
class Connector {
 public:
  Connector(const Calls& calls, const DeviceSide& device, Tree& tree)
      : calls_(calls), device_(device), tree_(tree) {}

  Links Right();
  Links AsVendor();

 private:
  const Kernel& At(Ref kernel) const { return device_.kernels[kernel]; }
  uint64_t TidOf(const Queued& queued) const { return calls_.PlaceOf(queued.thread).tid; }
  std::vector<Moment> Enqueues() const;
  void Link1(Ref op, Ref kernel) {
    links_.links.push_back({op, kernel});
    links_.own[op].Add(At(kernel));
  }
  // By the begins of operators; of one operator as they are.
  void SortLinks();

  // Right()
  std::vector<Ref> IntoQueue(OfQueue& queue) const;
  void FindSteps();
  void Extend(int64_t ns, Ref kernel);
  void SumUp();

  // AsVendor()
  OfQueue IntoQueueAsVendor() const;
  void AddToAll(Ref op, Ref kernel);
  void ByQueueAsVendor();
  void ByLaunchAsVendor();
  std::vector<Ref> OuterSteps() const;
  void AddStep(Ref op, const std::vector<Kernels>& launched);

  const Calls& calls_;
  const DeviceSide& device_;
  Tree& tree_;
  Links links_;
  std::vector<bool> is_reached_;  // a step, by a kernel
};

std::vector<Moment> Connector::Enqueues() const {
  std::vector<Moment> moments;
  moments.reserve(calls_.enqueues.size());
  for (Ref i = 0; i < calls_.enqueues.size(); ++i)
    moments.push_back({calls_.enqueues[i].begin, TidOf(calls_.enqueues[i]), i, kNoRef});
  return moments;
}

void Connector::SortLinks() {
  std::vector<Ref> ranks(calls_.ops.size());
  for (Ref i = 0; i < tree_.order.size(); ++i) ranks[tree_.order[i]] = i;
  std::ranges::stable_sort(links_.links, {}, [&ranks](const Link& link) { return ranks[link.op]; });
}

// Launches that are in no dequeue of their thread come back. A thread that the framework knows nothing of may
// be that of the queue under another number.
std::vector<Ref> Connector::IntoQueue(OfQueue& queue) const {
  std::map<uint64_t, std::vector<const Queued*>> of_thread;
  std::vector<const Queued*> all;
  for (const Queued& queued : calls_.dequeues) {
    of_thread[TidOf(queued)].push_back(&queued);
    all.push_back(&queued);
  }
  std::ranges::stable_sort(all, {}, &Queued::begin);
  for (auto& [tid, list] : of_thread) std::ranges::stable_sort(list, {}, &Queued::begin);
  std::set<uint64_t> known;
  for (const Place& place : calls_.threads) known.insert(place.tid);
  std::vector<Ref> rest;
  for (const Ref i : ByTime(device_.launches)) {
    const Launch& launch = device_.launches[i];
    const auto own = of_thread.find(launch.tid);
    const std::vector<const Queued*>* list = own != of_thread.end() ? &own->second : nullptr;
    if (list == nullptr && !known.contains(launch.tid)) list = &all;
    const auto behind =
        list == nullptr ? all.end() : std::ranges::upper_bound(*list, launch.ns, {}, &Queued::begin);
    if (list != nullptr && behind != list->begin() && (*std::prev(behind))->end >= launch.ns) {
      queue.Add((*std::prev(behind))->correlation, launch.kernel);
    } else {
      rest.push_back(i);
    }
  }
  return rest;
}

void Connector::FindSteps() {
  links_.steps = HostSteps(calls_, tree_, false);
  is_reached_.assign(links_.steps.size(), false);
}

// The step in which the kernel was launched.
void Connector::Extend(int64_t ns, Ref kernel) {
  const auto behind = std::ranges::upper_bound(links_.steps, ns, {}, &Step::begin);
  if (behind == links_.steps.begin()) return;
  Step& step = *std::prev(behind);
  if (ns > step.end) return;
  const auto at = static_cast<size_t>(std::prev(behind) - links_.steps.begin());
  step.device_begin = is_reached_[at] ? std::min(step.device_begin, At(kernel).ns) : At(kernel).ns;
  step.device_end = std::max(step.device_end, At(kernel).end_ns());
  is_reached_[at] = true;
}

void Connector::SumUp() {
  links_.total = links_.own;
  for (auto op = tree_.order.rbegin(); op != tree_.order.rend(); ++op) {
    const auto sum = links_.total.find(*op);
    const Ref parent = tree_.parents[*op];
    if (sum == links_.total.end() || parent == kNoRef) continue;
    const DeviceTime copy = sum->second;
    links_.total[parent].Add(copy);
  }
}

Links Connector::Right() {
  OfQueue queue;
  const std::vector<Ref> direct = IntoQueue(queue);
  std::vector<Moment> moments = Enqueues();
  for (const Ref i : direct)
    moments.push_back({device_.launches[i].ns, device_.launches[i].tid,
                       static_cast<Ref>(calls_.enqueues.size()) + i, kNoRef});
  tree_ = BuildTree(calls_, false, moments);
  FindSteps();
  for (const Moment& moment : moments) {
    const bool is_queued = moment.of < calls_.enqueues.size();
    const Kernels kernels = is_queued ? queue.Take(calls_.enqueues[moment.of].correlation)
                                      : Kernels{device_.launches[moment.of - calls_.enqueues.size()].kernel};
    for (const Ref kernel : kernels) {
      Extend(moment.ns, kernel);
      if (moment.op != kNoRef) Link1(moment.op, kernel);
    }
  }
  SortLinks();
  SumUp();
  return std::move(links_);
}

// Dequeues by their ends, whatever thread they are on.
OfQueue Connector::IntoQueueAsVendor() const {
  OfQueue queue;
  size_t next = 0;
  for (const Ref i : ByTime(device_.launches)) {
    const Launch& launch = device_.launches[i];
    for (; next < calls_.dequeues.size(); ++next) {
      const Queued& dequeue = calls_.dequeues[next];
      if (dequeue.begin > launch.ns) break;
      if (launch.ns > dequeue.end) continue;
      queue.Add(dequeue.correlation, launch.kernel);
      break;
    }
  }
  return queue;
}

// Sums in the vendor's order: floating-point numbers differ by it.
void Connector::AddToAll(Ref op, Ref kernel) {
  for (size_t level = 0; op != kNoRef && level < kMostLevels; op = tree_.parents[op], ++level)
    links_.total[op].Add(At(kernel));
}

std::vector<Ref> Connector::OuterSteps() const {
  std::vector<Ref> steps;
  for (const Ref op : tree_.order) {
    if (tree_.parents[op] == kNoRef && StepNumber(calls_.NameOf(calls_.ops[op]))) steps.push_back(op);
  }
  return steps;
}

// `launched`: what each call launched, in their order; perhaps nothing.
void Connector::AddStep(Ref op, const std::vector<Kernels>& launched) {
  const Op& row = calls_.ops[op];
  Step step{*StepNumber(calls_.NameOf(row)), row.begin, row.end, row.begin, row.end};
  const auto has_some = [](const Kernels& kernels) { return !kernels.empty(); };
  const auto first = std::ranges::find_if(launched, has_some);
  if (first != launched.end()) {
    const auto last = std::find_if(launched.rbegin(), launched.rend(), has_some);
    step.device_begin = At(*std::ranges::min_element(*first, {}, [this](Ref i) { return At(i).ns; })).ns;
    for (const Ref kernel : *last) step.device_end = std::max(step.device_end, At(kernel).end_ns());
  }
  links_.steps.push_back(step);
}

void Connector::ByQueueAsVendor() {
  OfQueue queue = IntoQueueAsVendor();
  std::vector<Moment> moments = Enqueues();
  tree_ = BuildTree(calls_, true, moments);
  std::vector<Ref> outermost(calls_.ops.size(), kNoRef);
  for (const Ref op : tree_.order)
    outermost[op] = tree_.parents[op] == kNoRef ? op : outermost[tree_.parents[op]];
  std::map<Ref, std::map<uint64_t, Kernels>> of_step;  // by correlation
  const bool has_kernels = !queue.empty();
  for (const Moment& moment : moments) {
    if (moment.op == kNoRef) continue;
    const uint64_t correlation = calls_.enqueues[moment.of].correlation;
    const Kernels kernels = queue.Take(correlation);
    for (const Ref kernel : kernels) {
      Link1(moment.op, kernel);
      AddToAll(moment.op, kernel);
    }
    of_step[outermost[moment.op]].try_emplace(correlation, kernels);
  }
  SortLinks();
  if (!has_kernels) return;
  for (const Ref op : OuterSteps()) {
    const auto found = of_step.find(op);
    if (found == of_step.end()) continue;
    std::vector<Kernels> launched;
    for (auto& [correlation, kernels] : found->second) launched.push_back(std::move(kernels));
    AddStep(op, launched);
  }
}

void Connector::ByLaunchAsVendor() {
  std::vector<Moment> none;
  tree_ = BuildTree(calls_, true, none);
  std::vector<Moment> moments;  // of launches at one time the first one stands for all
  std::map<int64_t, std::pair<Ref, Kernels>> at;
  for (Ref i = 0; i < device_.launches.size(); ++i) {
    const Launch& launch = device_.launches[i];
    const auto [entry, is_new] = at.try_emplace(launch.ns, static_cast<Ref>(moments.size()), Kernels());
    if (is_new) moments.push_back({launch.ns, launch.tid, i, kNoRef});
    entry->second.second.push_back(launch.kernel);
  }
  FindAsVendor(calls_, tree_, moments);
  for (const Moment& moment : moments) {
    if (moment.op == kNoRef) continue;
    for (const Ref kernel : at.at(moment.ns).second) {
      Link1(moment.op, kernel);
      AddToAll(moment.op, kernel);
    }
  }
  auto next = at.begin();
  for (const Ref op : OuterSteps()) {
    const Op& row = calls_.ops[op];
    std::vector<Kernels> launched;
    while (next != at.end() && next->first < row.begin) ++next;
    for (; next != at.end() && next->first <= row.end; ++next) launched.push_back(next->second.second);
    if (!launched.empty()) AddStep(op, launched);
  }
}

Links Connector::AsVendor() {
  calls_.has_queue ? ByQueueAsVendor() : ByLaunchAsVendor();
  return std::move(links_);
}

}  // namespace

void DeviceTime::Add(const Kernel& kernel) {
  us += kernel.us;
  has_any = true;
  if (!kernel.is_core) return;
  core_us += kernel.us;
  has_core = true;
}

void DeviceTime::Add(const DeviceTime& other) {
  us += other.us;
  core_us += other.core_us;
  has_any = has_any || other.has_any;
  has_core = has_core || other.has_core;
}

std::vector<Step> HostSteps(const Calls& calls, const Tree& tree, bool as_vendor) {
  std::vector<Step> steps;
  for (const Ref op : tree.order) {
    if (as_vendor && tree.parents[op] != kNoRef) continue;
    const Op& row = calls.ops[op];
    const auto number = StepNumber(calls.NameOf(row));
    if (number) steps.push_back({*number, row.begin, row.end, row.begin, row.end});
  }
  return steps;
}

Links Connect(const Calls& calls, const DeviceSide& device, bool as_vendor, Tree& tree) {
  Connector connector(calls, device, tree);
  return as_vendor ? connector.AsVendor() : connector.Right();
}

}  // namespace profd::client::framework
