#include "client/export/framework/join/tree.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace profd::client::framework {
namespace {

// Operators that are running, the innermost last. **Thread:** one.
class Running {
 public:
  explicit Running(const std::deque<Op>& ops) : ops_(ops) {}

  // Those that ended before `ns` are over.
  void EndBefore(int64_t ns) {
    while (!stack_.empty() && ops_[stack_.back()].end < ns) stack_.pop_back();
  }
  Ref innermost() const { return stack_.empty() ? kNoRef : stack_.back(); }
  void Push(Ref op) { stack_.push_back(op); }

 private:
  const std::deque<Op>& ops_;
  std::vector<Ref> stack_;
};

}  // namespace

void Tree::AddInside(Ref op, int64_t ns) {
  int64_t sum = 0;
  if (__builtin_add_overflow(InsideNs(op), ns, &sum)) sum = INT64_MAX;
  if (0 <= sum && sum < kLong) {
    inside_ns[op] = static_cast<uint32_t>(sum);
  } else {
    inside_ns[op] = kLong;
    long_ns[op] = sum;
  }
}

Tree BuildTree(const Calls& calls, bool as_vendor, std::vector<Moment>& moments) {
  const std::deque<Op>& ops = calls.ops;
  Tree tree;
  tree.order.resize(ops.size());
  std::iota(tree.order.begin(), tree.order.end(), 0);
  std::ranges::stable_sort(tree.order, [&](Ref a, Ref b) {
    if (ops[a].begin != ops[b].begin) return ops[a].begin < ops[b].begin;
    return !as_vendor && ops[a].end > ops[b].end;  // of those that begin together the longer is the outer one
  });
  tree.parents.assign(ops.size(), kNoRef);
  tree.inside_ns.assign(ops.size(), 0);
  std::ranges::stable_sort(moments, {}, &Moment::ns);

  std::map<uint64_t, Running> threads;  // by thread; as_vendor: all are one
  const auto running = [&](uint64_t tid) -> Running& {
    return threads.try_emplace(as_vendor ? 0 : tid, ops).first->second;
  };
  size_t next = 0;
  const auto look_up = [&](int64_t until, bool is_last) {
    for (; next < moments.size() && (is_last || moments[next].ns < until); ++next) {
      Moment& moment = moments[next];
      Running& on_thread = running(moment.tid);
      on_thread.EndBefore(moment.ns);
      const Ref op = on_thread.innermost();
      if (op != kNoRef && calls.PlaceOf(ops[op].thread).tid == moment.tid) moment.op = op;
    }
  };
  for (const Ref op : tree.order) {
    look_up(ops[op].begin, false);
    Running& on_thread = running(calls.PlaceOf(ops[op].thread).tid);
    on_thread.EndBefore(as_vendor ? ops[op].begin : ops[op].end);
    const Ref parent = on_thread.innermost();
    on_thread.Push(op);
    tree.parents[op] = parent;
    if (parent != kNoRef) tree.AddInside(parent, ops[op].ns());
  }
  look_up(0, true);
  return tree;
}

void FindAsVendor(const Calls& calls, const Tree& tree, std::vector<Moment>& moments) {
  const std::deque<Op>& ops = calls.ops;
  std::vector<Ref> path;
  for (Moment& moment : moments) {
    auto next = std::ranges::upper_bound(tree.order, moment.ns, {}, [&](Ref op) { return ops[op].begin; });
    path.clear();
    if (next != tree.order.begin()) {
      for (Ref op = *std::prev(next); op != kNoRef && path.size() < kMostLevels; op = tree.parents[op])
        path.push_back(op);
    }
    for (; !path.empty() && ops[path.back()].end > moment.ns; path.pop_back()) moment.op = path.back();
    if (!path.empty()) continue;
    for (; next != tree.order.end() && tree.parents[*next] == moment.op; ++next) moment.op = *next;
  }
}

}  // namespace profd::client::framework
