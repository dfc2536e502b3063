#include "client/export/framework/database/call_tables.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "client/export/framework/join/forwards.h"
#include "client/export/framework/join/python_calls.h"
#include "client/export/write/json_text.h"

namespace profd::client::framework {
namespace {

// ENUM_API_TYPE
constexpr int kOperator = 50001, kQueue = 50002, kPython = 50003, kMark = 50004;
constexpr int64_t kFirstConnection = int64_t{5} << 28;

// Where a hostile number would overflow, it goes round.
int64_t Sum(uint64_t number, int64_t more) {
  return static_cast<int64_t>(number + static_cast<uint64_t>(more));
}

// **Thread:** one. Writes one set of tables.
class CallWriter {
 public:
  CallWriter(const Calls& calls, const Linked& linked, bool as_vendor, SqliteEngine& engine)
      : calls_(calls),
        linked_(linked),
        as_vendor_(as_vendor),
        engine_(engine),
        strings_(engine, StringIds::kOfCalls),
        plain_(calls.texts.size(), kUnknown),
        lines_(calls.texts.size(), kUnknown) {
    if (!calls.ops.empty()) {
      pid_ = calls.PlaceOf(calls.ops.front().thread).pid;
    } else if (!calls.enqueues.empty() || !calls.dequeues.empty()) {
      pid_ = calls.PlaceOf((calls.enqueues.empty() ? calls.dequeues : calls.enqueues).front().thread).pid;
    }
  }

  void Run(bool is_linked) {
    const std::vector<PythonSpan> python = ReplayPython(calls_);
    const bool has_rows =
        !calls_.ops.empty() || !calls_.enqueues.empty() || !calls_.dequeues.empty() || !python.empty();
    if (has_rows) {
      const std::string stamp = as_vendor_ ? "TEXT" : "INTEGER";
      engine_.Run("DROP TABLE IF EXISTS PYTORCH_API");
      engine_.Run(
          "CREATE TABLE PYTORCH_API (startNs " + stamp + ", endNs " + stamp +
          ", globalTid INTEGER, connectionId INTEGER, name INTEGER, sequenceNumber INTEGER, fwdThreadId "
          "INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER)");
      rows_.emplace(engine_.Into("PYTORCH_API", 11));
      WritePython(python);
      WriteQueue();
      WriteOps(is_linked);
    }
    engine_.Run("CREATE TABLE IF NOT EXISTS ENUM_API_TYPE (id INTEGER, name TEXT)");
    for (const auto& [number, name] :
         {std::pair{kOperator, "op"}, {kQueue, "queue"}, {kPython, "trace"}, {kMark, "mstx"}})
      engine_.Run("INSERT OR IGNORE INTO ENUM_API_TYPE (id, name) VALUES (" + std::to_string(number) + ",'" +
                  name + "')");
  }

 private:
  static constexpr int64_t kUnknown = -1;

  int64_t Id(format::TextId text) {
    int64_t& id = plain_[text];
    return id != kUnknown ? id : id = strings_.Of(calls_.texts.Get(text));
  }
  int64_t IdOfLines(format::TextId text) {
    int64_t& id = lines_[text];
    return id != kUnknown ? id : id = strings_.Of(InLines(calls_.texts.Get(text)));
  }
  int64_t Thread(Ref thread) const {
    const Place& place = calls_.PlaceOf(thread);
    return GlobalTid(as_vendor_ ? pid_ : place.pid, place.tid);
  }

  struct Row {
    int64_t begin, end, thread;
    DbValue connection;
    int64_t name;
    int type;
    DbValue sequence = {}, forward_tid = {}, types = {}, dims = {}, stack = {};
  };
  void Write(const Row& row) {
    rows_->Append({row.begin, row.end, row.thread, row.connection, row.name, row.sequence, row.forward_tid,
                   row.types, row.dims, row.stack, row.type});
  }

  // CONNECTION_IDS: one number for all of a row's.
  int64_t Connect(std::span<const int64_t> connections) {
    if (!connections_) {
      engine_.Run("DROP TABLE IF EXISTS CONNECTION_IDS");
      engine_.Run("CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER)");
      connections_.emplace(engine_.Into("CONNECTION_IDS", 2));
    }
    for (const int64_t connection : connections) connections_->Append({next_connection_, connection});
    return next_connection_++;
  }

  // PYTORCH_CALLCHAINS: one number for each stack; as the vendor's for each operator that has one.
  int64_t StackId(format::TextId stack) {
    const auto [at, is_new] = stacks_.try_emplace(stack, next_stack_);
    if (!is_new && !as_vendor_) return at->second;
    if (!frames_) {
      engine_.Run("DROP TABLE IF EXISTS PYTORCH_CALLCHAINS");
      engine_.Run("CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER)");
      frames_.emplace(engine_.Into("PYTORCH_CALLCHAINS", 3));
    }
    const std::string_view text = calls_.texts.Get(stack);
    int depth = 0;
    for (size_t from = 0; from <= text.size();) {
      const size_t to = std::min(text.find(';', from), text.size());
      frames_->Append({next_stack_, strings_.Of(ValidUtf8(text.substr(from, to - from))), depth++});
      from = to + 1;
    }
    return next_stack_++;
  }

  void WritePython(const std::vector<PythonSpan>& python) {
    for (const PythonSpan& span : python) {
      const Place& place = calls_.PlaceOf(span.thread);
      Write({span.begin, span.end, GlobalTid(place.pid, place.tid), {}, strings_.Of(span.name), kPython});
    }
  }

  void WriteQueue() {
    std::unordered_map<uint64_t, format::TextId> names;
    for (const Queued& dequeue : calls_.dequeues) names.insert_or_assign(dequeue.correlation, dequeue.name);
    const auto write = [this](const Queued& queued, const std::string& name) {
      const int64_t connection = Sum(queued.correlation, kFirstConnection);
      Write({queued.begin, queued.end, Thread(queued.thread), Connect({&connection, 1}), strings_.Of(name),
             kQueue});
    };
    for (const Queued& enqueue : calls_.enqueues) {
      const auto name = names.find(enqueue.correlation);
      write(enqueue,
            name == names.end() ? "Enqueue" : "Enqueue@" + std::string(calls_.texts.Get(name->second)));
    }
    for (const Queued& dequeue : calls_.dequeues)
      write(dequeue, "Dequeue@" + std::string(calls_.texts.Get(dequeue.name)));
  }

  // By operator: the one that it goes forward or backward from, the calls that it made.
  std::vector<OpConnection> Connections() const {
    std::vector<OpConnection> all;
    uint64_t next = 0;
    for (const Queued& enqueue : calls_.enqueues) next = std::max(next, enqueue.correlation + 1);
    for (const ForwardPair& pair : PairForwards(calls_, as_vendor_ ? Latest::kInFile : Latest::kByBegin)) {
      const bool is_one_thread = calls_.ops[pair.forward].thread == calls_.ops[pair.backward].thread;
      if (is_one_thread && !as_vendor_) continue;
      const int64_t connection = Sum(next++, kFirstConnection);
      all.push_back({pair.forward, connection});
      all.push_back({pair.backward, connection});
    }
    all.insert(all.end(), linked_.connections.begin(), linked_.connections.end());
    std::ranges::stable_sort(all, {}, &OpConnection::op);
    return all;
  }

  void WriteOps(bool is_linked) {
    const std::vector<OpConnection> connections = Connections();
    std::vector<Ref> order = linked_.tree.order;
    if (as_vendor_) {
      const auto is_mark = [this](Ref op) { return calls_.NameOf(calls_.ops[op]).starts_with(kMarkPrefix); };
      std::vector<Ref> in_file(calls_.ops.size());
      std::iota(in_file.begin(), in_file.end(), 0);
      if (!is_linked) order = in_file;
      std::stable_partition(order.begin(), order.end(), [&](Ref op) { return !is_mark(op); });
    }
    std::vector<int64_t> of_op;
    for (const Ref i : order) {
      const Op& op = calls_.ops[i];
      of_op.clear();
      for (auto at = std::ranges::lower_bound(connections, i, {}, &OpConnection::op);
           at != connections.end() && at->op == i; ++at)
        of_op.push_back(at->connection);
      const auto text = [](int64_t id) { return id == StringIds::kNoText ? DbValue() : DbValue(id); };
      Row row{op.begin, op.end, Thread(op.thread), {}, Id(op.name), kOperator};
      if (!as_vendor_ && calls_.NameOf(op).starts_with(kMarkPrefix)) row.type = kMark;
      if (!of_op.empty()) row.connection = Connect(of_op);
      const Rest& rest = calls_.RestOf(op);
      row.sequence = calls_.SequenceOf(op);
      row.forward_tid = rest.forward_tid;
      row.types = text(IdOfLines(rest.types));
      row.dims = text(IdOfLines(rest.dims));
      if (rest.stack != 0) row.stack = StackId(rest.stack);
      Write(row);
    }
  }

  const Calls& calls_;
  const Linked& linked_;
  const bool as_vendor_;
  SqliteEngine& engine_;
  uint64_t pid_ = 0;
  StringIds strings_;
  std::vector<int64_t> plain_, lines_;  // numbers of texts
  std::optional<SqliteEngine::Insert> rows_, connections_, frames_;
  int64_t next_connection_ = 0, next_stack_ = 0;
  std::unordered_map<format::TextId, int64_t> stacks_;
};

// So many numbers that one text may be behind another without one being taken twice.
int64_t FirstId(SqliteEngine& engine, int64_t wanted) {
  engine.Run("CREATE TABLE IF NOT EXISTS STRING_IDS (id INTEGER, value TEXT)");
  int64_t last = 0;
  engine.ForEach("SELECT max(id) FROM STRING_IDS",
                 [&last](const SqliteEngine::Row& row) { last = row.Int(0); });
  return std::max(wanted, std::min(last, INT64_MAX - StringIds::kOfMemory) + 1);
}

}  // namespace

StringIds::StringIds(SqliteEngine& engine, int64_t first)
    : next_(FirstId(engine, first)), rows_(engine.Into("STRING_IDS (id, value)", 2)) {}

int64_t StringIds::Of(std::string_view text) {
  if (text.empty()) return kNoText;
  const auto [at, is_new] = ids_.try_emplace(std::string(text), next_);
  if (is_new) {
    const std::string valid = ValidUtf8(text);
    rows_.Append({next_++, std::string_view(valid)});
  }
  return at->second;
}

void WriteCallTables(const Calls& calls, const Linked& linked, bool is_linked, bool as_vendor,
                     SqliteEngine& engine) {
  CallWriter(calls, linked, as_vendor, engine).Run(is_linked);
}

}  // namespace profd::client::framework
