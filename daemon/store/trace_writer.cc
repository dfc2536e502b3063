#include "daemon/store/trace_writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/base/mailbox.h"
#include "daemon/store/files/open_files.h"
#include "daemon/store/trace_files.h"

namespace profd::store {

namespace {

using base::Code;
using base::Status;
using chunk::Item;

// Items taken from one pipe before the next one has its turn.
constexpr size_t kBatch = 64;

size_t OpenFileLimit() {
  constexpr rlim_t kEnough = 512;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kEnough;
  return static_cast<size_t>(std::clamp<rlim_t>(limit.rlim_cur / 2, 1, kEnough));
}

Status Unknown() { return {Code::kNotFound, "no such trace is open"}; }

}  // namespace

class TraceWriter::Impl {
 public:
  struct SealRequest {
    size_t ends = 0;
    uint64_t deadline_ns = 0;
    std::function<void(TraceRecord)> done;
  };

  Impl(std::string name, FileSystem& fs, Reply reply, Durability durability, uint64_t flush_every_ns)
      : fs_(fs), reply_(std::move(reply)), flusher_(fs, durability, flush_every_ns), open_(OpenFileLimit()) {
    thread_ = base::StartThread(std::move(name), [this] { Run(); });
  }

  ~Impl() {
    stopping_.store(true, std::memory_order_release);
    bell_.Ring();
    thread_.join();
  }

  // -- any thread --

  void Post(std::function<void()> command) {
    commands_.Send(std::move(command));
    bell_.Ring();
  }

  chunk::Pipe& AddPipe(std::string name, size_t chunk_bytes, size_t chunks, chunk::PipeRoom room) {
    auto pipe = std::make_unique<chunk::Pipe>(std::move(name), chunk_bytes, chunks, bell_, std::move(room));
    chunk::Pipe& result = *pipe;
    {
      const std::lock_guard lock(pipes_mutex_);
      owned_pipes_.push_back(std::move(pipe));
    }
    Post([this, &result] { pipes_.push_back(&result); });
    return result;
  }

  uint64_t dropped_chunks() const { return dropped_chunks_.load(std::memory_order_relaxed); }

  // -- writer thread: the commands --

  void Open(uint32_t trace, TraceSpec spec, const std::vector<ControlFile>& control,
            std::function<void(Status)> done) {
    Status status;
    if (traces_.contains(trace)) {
      status = {Code::kAlreadyExists, "trace " + std::to_string(trace) + " is open"};
    } else {
      spec.flusher = &flusher_;
      auto files = TraceFiles::Create(fs_, open_, trace, std::move(spec), control);
      status = files.status();
      if (files.ok()) traces_[trace].files = std::move(files).value();
    }
    Answer(std::move(done), std::move(status));
  }

  void AddStream(format::StreamKey key, chunk::StreamSpec spec) {
    if (Trace* trace = Find(key.trace)) trace->files->AddStream(key.stream, std::move(spec));
  }

  void Replace(uint32_t number, const std::vector<ControlFile>& control) {
    Trace* trace = Find(number);
    if (trace == nullptr) return;
    [[maybe_unused]] const Status kept = trace->files->Replace(control);  // in the trace's record
  }

  void Pause(uint32_t number, bool paused, uint64_t at_ns, const std::string& reason) {
    Trace* trace = Find(number);
    if (trace != nullptr && !trace->sealed) trace->files->PauseAsked(paused, at_ns, reason);
  }

  void Snapshot(uint32_t number, std::function<void(TraceRecord)> done) {
    Answer(std::move(done), RecordOf(Find(number)));
  }

  void Flush(uint32_t number, std::function<void(TraceRecord)> done) {
    ServeAll();
    Snapshot(number, std::move(done));
  }

  void WriteRecent(uint32_t number, uint64_t from_ns, std::function<void(TraceRecord)> done) {
    ServeAll();
    if (Trace* trace = Find(number)) trace->files->WriteRecent(from_ns);
    Snapshot(number, std::move(done));
  }

  void WriteRecentAtSeal(uint32_t number) {
    if (Trace* trace = Find(number)) trace->files->WriteRecentAtFinish();
  }

  void Settle(uint32_t number, std::function<void(TraceRecord)> done) {
    if (Trace* trace = Find(number)) trace->files->Settle();
    Snapshot(number, std::move(done));
  }

  void Seal(uint32_t number, SealRequest request) {
    Trace* trace = Find(number);
    if (trace == nullptr || trace->sealed || trace->seal) {
      Answer(std::move(request.done), RecordOf(trace));
      return;
    }
    trace->seal = std::move(request);
    ++open_seals_;
  }

  void Close(uint32_t number, std::function<void(Status)> done) {
    Trace* trace = Find(number);
    if (trace != nullptr) {
      Seal(*trace);
      trace->files->Complete();
      traces_.erase(number);
    }
    Answer(std::move(done), trace != nullptr ? Status::Ok() : Unknown());
  }

  void Discard(uint32_t number, std::function<void()> done) {
    if (Trace* trace = Find(number)) {
      Seal(*trace);
      trace->files->Remove();
      traces_.erase(number);
    }
    reply_(std::move(done));
  }

 private:
  struct Trace {
    std::unique_ptr<TraceFiles> files;
    size_t ends = 0;  // end marks seen
    std::optional<SealRequest> seal;
    bool sealed = false;
  };

  void Run() {
    for (;;) {
      // Read before the last look: what was queued before the destructor is then seen by that look.
      const bool stopping = stopping_.load(std::memory_order_acquire);
      if (Work()) continue;
      bell_.Prepare();
      if (Work()) {
        bell_.Cancel();
        continue;
      }
      if (stopping) break;
      bell_.Wait(NextDeadline());
    }
    for (auto& [number, trace] : traces_) {
      Seal(trace);
      trace.files->Complete();
    }
    traces_.clear();
  }

  // Everything that was pushed before.
  void ServeAll() {
    for (size_t i = 0; i < pipes_.size(); ++i) Serve(*pipes_[i], pipes_[i]->Waiting());
  }

  // One round over everything that can be waiting; false when nothing was.
  bool Work() {
    bool worked = RunCommands();
    // By index: a command that runs in between may add a pipe.
    for (size_t i = 0; i < pipes_.size(); ++i) worked |= Serve(*pipes_[i], kBatch);
    if (open_seals_ > 0) worked |= SealWhatIsDue();
    return worked;
  }

  bool RunCommands() {
    bool any = false;
    while (const auto command = commands_.Take()) {
      (*command)();
      any = true;
    }
    return any;
  }

  bool Serve(chunk::Pipe& pipe, size_t most) {
    Item item;
    size_t count = 0;
    while (count < most && pipe.Pop(item)) {
      ++count;
      Take(pipe, item);
    }
    return count > 0;
  }

  void Take(chunk::Pipe& pipe, const Item& item) {
    if (item.what == Item::What::kChunk) {
      TakeChunk(*item.chunk);
      pipe.Return(item.chunk);
      return;
    }
    Trace* trace = FindLate(item.key, item.what == Item::What::kLoss);
    if (trace == nullptr) return;
    if (item.what == Item::What::kLoss) {
      trace->files->NoteLoss(item.key.stream, item.loss);
    } else if (item.what == Item::What::kStream) {
      if (item.spec) trace->files->AddStream(item.key.stream, *item.spec);
    } else if (item.what == Item::What::kEnd) {
      ++trace->ends;
    }
  }

  void TakeChunk(const chunk::Chunk& chunk) {
    Trace* trace = FindLate(chunk.header.key, true);
    if (trace == nullptr) {
      chunk::Add(dropped_chunks_, 1);
    } else if (trace->sealed) {
      trace->files->Refuse(chunk);
    } else {
      trace->files->Store(chunk);
    }
  }

  Trace* Find(uint32_t number) {
    const auto found = traces_.find(number);
    return found == traces_.end() ? nullptr : &found->second;
  }

  // ctl announces traces and streams through the commands, before their sources start. An item that names an
  // unknown one may therefore have overtaken its command, which waits in the queue: carry that out first.
  Trace* FindLate(format::StreamKey key, bool with_stream) {
    const auto find = [&] {
      Trace* trace = Find(key.trace);
      return trace != nullptr && with_stream && !trace->files->HasStream(key.stream) ? nullptr : trace;
    };
    Trace* trace = find();
    return trace == nullptr && RunCommands() ? find() : trace;
  }

  bool SealWhatIsDue() {
    const uint64_t now = base::MonotonicNs();
    // It is the sources' time that is over, not the writer's, which may be behind with what they have sent.
    const bool is_over = std::ranges::any_of(traces_, [now](const auto& entry) {
      const std::optional<SealRequest>& seal = entry.second.seal;
      return seal && entry.second.ends < seal->ends && now >= seal->deadline_ns;
    });
    if (is_over) ServeAll();
    bool any = false;
    for (auto& [number, trace] : traces_) {
      if (!trace.seal) continue;
      if (trace.ends < trace.seal->ends && now < trace.seal->deadline_ns) continue;
      Seal(trace);
      any = true;
    }
    return any;
  }

  // Closes the files for good and answers who asked for it.
  void Seal(Trace& trace) {
    if (!std::exchange(trace.sealed, true)) trace.files->Finish();
    if (trace.seal) {
      --open_seals_;
      Answer(std::move(trace.seal->done), RecordOf(&trace));
      trace.seal.reset();
    }
  }

  uint64_t NextDeadline() const {
    uint64_t next = UINT64_MAX;
    for (const auto& [number, trace] : traces_) {
      if (trace.seal) next = std::min(next, trace.seal->deadline_ns);
    }
    return next;
  }

  static TraceRecord RecordOf(const Trace* trace) {
    if (trace != nullptr) return trace->files->Record();
    return {.streams = {}, .pauses = {}, .error = Unknown().message(), .bytes = 0};
  }

  template <typename Done, typename Value>
  void Answer(Done done, Value value) {
    reply_([done = std::move(done), value = std::move(value)] { done(value); });
  }

  FileSystem& fs_;
  const Reply reply_;
  base::WakeUp bell_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> dropped_chunks_{0};

  base::Mailbox<std::function<void()>> commands_;
  std::mutex pipes_mutex_;
  std::vector<std::unique_ptr<chunk::Pipe>> owned_pipes_;  // by pipes_mutex_

  // The writer thread's own.
  Flusher flusher_;
  OpenFiles open_;
  std::vector<chunk::Pipe*> pipes_;
  std::unordered_map<uint32_t, Trace> traces_;
  size_t open_seals_ = 0;

  std::thread thread_;
};

TraceWriter::TraceWriter(std::string name, FileSystem& fs, Reply reply, Durability durability,
                         uint64_t flush_every_ns)
    : impl_(std::make_unique<Impl>(std::move(name), fs, std::move(reply), durability, flush_every_ns)) {}

TraceWriter::~TraceWriter() = default;

chunk::Pipe& TraceWriter::AddPipe(std::string name, size_t chunk_bytes, size_t chunks, chunk::PipeRoom room) {
  return impl_->AddPipe(std::move(name), chunk_bytes, chunks, std::move(room));
}

void TraceWriter::Open(uint32_t trace, TraceSpec spec, std::vector<ControlFile> control,
                       std::function<void(Status)> done) {
  // Shared only because std::function wants to be copyable.
  auto owned = std::make_shared<TraceSpec>(std::move(spec));
  impl_->Post([this, trace, owned = std::move(owned), control = std::move(control), done = std::move(done)] {
    impl_->Open(trace, std::move(*owned), control, done);
  });
}

void TraceWriter::AddStream(format::StreamKey key, chunk::StreamSpec spec) {
  impl_->Post([this, key, spec = std::move(spec)] { impl_->AddStream(key, spec); });
}

void TraceWriter::Replace(uint32_t trace, std::vector<ControlFile> control) {
  impl_->Post([this, trace, control = std::move(control)] { impl_->Replace(trace, control); });
}

void TraceWriter::Pause(uint32_t trace, bool paused, uint64_t at_ns, std::string reason,
                        std::function<void(TraceRecord)> done) {
  impl_->Post([this, trace, paused, at_ns, reason = std::move(reason), done = std::move(done)] {
    impl_->Pause(trace, paused, at_ns, reason);
    impl_->Snapshot(trace, done);
  });
}

void TraceWriter::Snapshot(uint32_t trace, std::function<void(TraceRecord)> done) {
  impl_->Post([this, trace, done = std::move(done)] { impl_->Snapshot(trace, done); });
}

void TraceWriter::Flush(uint32_t trace, std::function<void(TraceRecord)> done) {
  impl_->Post([this, trace, done = std::move(done)] { impl_->Flush(trace, done); });
}

void TraceWriter::WriteRecent(uint32_t trace, uint64_t from_ns, std::function<void(TraceRecord)> done) {
  impl_->Post([this, trace, from_ns, done = std::move(done)] { impl_->WriteRecent(trace, from_ns, done); });
}

void TraceWriter::WriteRecentAtSeal(uint32_t trace) {
  impl_->Post([this, trace] { impl_->WriteRecentAtSeal(trace); });
}

void TraceWriter::Settle(uint32_t trace, std::function<void(TraceRecord)> done) {
  impl_->Post([this, trace, done = std::move(done)] { impl_->Settle(trace, done); });
}

void TraceWriter::Seal(uint32_t trace, size_t ends, uint64_t deadline_ns,
                       std::function<void(TraceRecord)> done) {
  impl_->Post([this, trace, ends, deadline_ns, done = std::move(done)] {
    impl_->Seal(trace, {.ends = ends, .deadline_ns = deadline_ns, .done = done});
  });
}

void TraceWriter::Close(uint32_t trace, std::function<void(Status)> done) {
  impl_->Post([this, trace, done = std::move(done)] { impl_->Close(trace, done); });
}

void TraceWriter::Discard(uint32_t trace, std::function<void()> done) {
  impl_->Post([this, trace, done = std::move(done)] { impl_->Discard(trace, done); });
}

uint64_t TraceWriter::dropped_chunks() const { return impl_->dropped_chunks(); }

}  // namespace profd::store
