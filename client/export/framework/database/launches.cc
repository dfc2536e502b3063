#include "client/export/framework/database/launches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace profd::client::framework {
namespace {

std::vector<CannCall> Read(SqliteEngine& engine, const std::string& from) {
  std::vector<CannCall> calls;
  engine.ForEach("SELECT startNs, endNs, globalTid, connectionId FROM " + from + " ORDER BY startNs",
                 [&calls](const SqliteEngine::Row& row) {
                   calls.push_back({row.Int(0), row.Int(1), row.Int(2), row.Int(3)});
                 });
  return calls;
}

uint64_t TidOf(const CannCall& call) { return static_cast<uint64_t>(call.thread) & 0xFFFFFFFF; }

// What was in the queue when a call was made on the thread that empties it.
class Queue {
 public:
  explicit Queue(const Calls& calls) {
    for (const Queued& queued : calls.dequeues)
      of_thread_[calls.PlaceOf(queued.thread).tid].push_back(&queued);
    for (auto& [tid, list] : of_thread_) std::ranges::stable_sort(list, {}, &Queued::begin);
    for (const Queued& queued : calls.enqueues) enqueues_.emplace(queued.correlation, &queued);
  }
  // nullptr: none.
  const Queued* EnqueueOf(const CannCall& call) const {
    const auto list = of_thread_.find(TidOf(call));
    if (list == of_thread_.end()) return nullptr;
    const auto behind = std::ranges::upper_bound(list->second, call.begin, {}, &Queued::begin);
    if (behind == list->second.begin() || (*std::prev(behind))->end < call.begin) return nullptr;
    const auto enqueue = enqueues_.find((*std::prev(behind))->correlation);
    return enqueue == enqueues_.end() ? nullptr : enqueue->second;
  }

 private:
  std::map<uint64_t, std::vector<const Queued*>> of_thread_;
  std::unordered_map<uint64_t, const Queued*> enqueues_;
};

// **Thread:** one. What the vendor's parser does, step by step: its positions in lists never go back.
class VendorLinker {
 public:
  VendorLinker(const Calls& calls, const Progress& progress, Linked& linked)
      : calls_(calls), progress_(progress), linked_(linked) {
    pid_ = calls.ops.empty() ? 0 : calls.PlaceOf(calls.ops.front().thread).pid;
    std::unordered_set<uint64_t> put, taken;
    for (const Queued& queued : calls.enqueues) put.insert(queued.correlation);
    for (const Queued& queued : calls.dequeues) taken.insert(queued.correlation);
    for (const Queued& queued : calls.enqueues)
      if (taken.contains(queued.correlation)) enqueues_.push_back(&queued);
    for (const Queued& queued : calls.dequeues)
      if (put.contains(queued.correlation)) dequeues_.push_back(&queued);
  }

  bool has_queue() const { return !calls_.enqueues.empty() && !calls_.dequeues.empty(); }

  void ByQueue(const std::vector<Ref>& ops, const std::vector<CannCall>& calls) {
    size_t from = 0, op = 0;
    for (const CannCall& call : calls) {
      if (progress_.cancelled) return;
      for (size_t i = from; i < dequeues_.size(); ++i) {
        if (call.thread != Thread(dequeues_[i]->thread)) continue;
        if (call.begin > dequeues_[i]->begin && call.end < dequeues_[i]->end) {
          from = i;
          if (i < enqueues_.size()) op = Attach(ops, *enqueues_[i], op, call.connection);
          break;
        }
        if (dequeues_[i]->begin > call.end) {
          from = i;
          break;
        }
      }
    }
  }

  void ByThread(const std::vector<Ref>& ops, const std::vector<CannCall>& calls) {
    bool is_found = false;
    size_t last = 0;
    for (const CannCall& call : calls) {
      if (progress_.cancelled) return;
      for (size_t i = last; i < ops.size(); ++i) {
        const Op& op = calls_.ops[ops[i]];
        if (Thread(op.thread) != call.thread || call.begin > op.end) continue;
        if (call.begin > op.begin && call.end < op.end) {
          is_found = true;
          last = i;
        } else if (is_found) {
          linked_.connections.push_back({ops[last], call.connection});
          is_found = false;
          break;
        }
        if (call.end < op.begin) {
          last = i;
          break;
        }
      }
    }
  }

 private:
  int64_t Thread(Ref thread) const { return GlobalTid(pid_, calls_.PlaceOf(thread).tid); }

  size_t Attach(const std::vector<Ref>& ops, const Queued& enqueue, size_t last, int64_t connection) {
    bool is_found = false;
    for (size_t i = last; i < ops.size(); ++i) {
      const Op& op = calls_.ops[ops[i]];
      if (Thread(enqueue.thread) != Thread(op.thread) || enqueue.begin > op.end) continue;
      if (enqueue.begin > op.begin && enqueue.end < op.end) {
        is_found = true;
        last = i;
      } else if (is_found) {
        break;
      }
      if (enqueue.end < op.begin) {
        last = i;
        break;
      }
    }
    if (is_found) linked_.connections.push_back({ops[last], connection});
    return last;
  }

  const Calls& calls_;
  const Progress& progress_;
  Linked& linked_;
  uint64_t pid_ = 0;
  std::vector<const Queued*> enqueues_, dequeues_;  // those with a partner
};

}  // namespace

std::vector<CannCall> LaunchesIn(SqliteEngine& engine, bool is_own) {
  if (!engine.HasTable("CANN_API") || !engine.HasTable("STRING_IDS")) return {};
  if (is_own) {  // what launched something has its connection, whatever the call is called
    std::string started;
    for (const char* const table : {"TASK", "COMMUNICATION_OP"}) {
      if (!engine.HasTable(table)) continue;
      started += started.empty() ? "" : " UNION ";
      started += std::string("SELECT connectionId FROM ") + table;
    }
    return started.empty() ? std::vector<CannCall>()
                           : Read(engine, "CANN_API WHERE connectionId IN (" + started + ")");
  }
  return Read(engine,
              "CANN_API WHERE type = 10000 AND name IN (SELECT id FROM STRING_IDS WHERE value = 'launch')");
}

std::vector<CannCall> MarksIn(SqliteEngine& engine) {
  return engine.HasTable("MSTX_EVENTS") ? Read(engine, "MSTX_EVENTS") : std::vector<CannCall>();
}

Linked LinkCalls(const Calls& calls, const std::vector<CannCall>& launches,
                 const std::vector<CannCall>& marks) {
  Linked linked;
  const Queue queue(calls);
  std::vector<Moment> moments;
  std::vector<int64_t> connections;
  moments.reserve(launches.size() + marks.size());
  const auto add = [&](const CannCall& call) {
    const Queued* const enqueue = queue.EnqueueOf(call);
    const int64_t ns = enqueue != nullptr ? enqueue->begin : call.begin;
    const uint64_t tid = enqueue != nullptr ? calls.PlaceOf(enqueue->thread).tid : TidOf(call);
    moments.push_back({ns, tid, static_cast<Ref>(connections.size()), kNoRef});
    connections.push_back(call.connection);
  };
  for (const CannCall& call : launches) add(call);
  for (const CannCall& call : marks) add(call);
  linked.tree = BuildTree(calls, false, moments);
  for (const Moment& moment : moments) {
    const bool is_mark = moment.of >= launches.size();
    if (!is_mark) linked.moments.emplace_back(moment.ns, connections[moment.of]);
    if (moment.op == kNoRef) continue;
    if (is_mark && !calls.NameOf(calls.ops[moment.op]).starts_with(kMarkPrefix)) continue;
    linked.connections.push_back({moment.op, connections[moment.of]});
  }
  return linked;
}

Linked LinkCallsAsVendor(const Calls& calls, const std::vector<CannCall>& launches,
                         const std::vector<CannCall>& marks, const Progress& progress) {
  Linked linked;
  std::vector<Moment> none;
  linked.tree = BuildTree(calls, true, none);
  std::vector<Ref> ops, marking;  // by their begins
  for (const Ref op : linked.tree.order)
    (calls.NameOf(calls.ops[op]).starts_with(kMarkPrefix) ? marking : ops).push_back(op);
  VendorLinker linker(calls, progress, linked);
  linker.has_queue() ? linker.ByQueue(ops, launches) : linker.ByThread(ops, launches);
  if (linker.has_queue()) linker.ByQueue(marking, marks);
  return linked;
}

}  // namespace profd::client::framework
