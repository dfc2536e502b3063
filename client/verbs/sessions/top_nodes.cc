#include "client/verbs/sessions/top_nodes.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "base/unique_fd.h"
#include "client/fleet/fleet.h"
#include "client/node/connection.h"
#include "client/show/screen/nodes_view.h"
#include "client/show/screen/terminal.h"

namespace profd::client {

namespace {

constexpr size_t kMostNodes = 1024;  // each has a thread and a connection
constexpr auto kRetry = std::chrono::seconds(3);
constexpr itimerspec kRedraw = {{0, 500'000'000}, {0, 200'000'000}};  // the interval, the first

// The view that all streams write to.
class Nodes {
 public:
  Nodes(const Context& context, const std::vector<std::string>& hosts, NodesView view)
      : context_(context), view_(std::move(view)) {
    for (const std::string& host : hosts) {
      threads_.push_back(base::StartThread("live", [this, host] { Follow(host); }));
    }
  }
  ~Nodes() { End(); }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  bool OnKey(char key) {
    const std::lock_guard lock(mutex_);
    return view_.OnKey(key);
  }
  std::string Text(size_t rows, const Look& look) {
    const std::lock_guard lock(mutex_);
    return view_.Text(rows, look, base::MonotonicNs());
  }

 private:
  void Follow(const std::string& host) {
    Context one = context_;
    one.host = host;
    one.deadline_ns = 0;  // it goes on for as long as somebody looks
    for (;;) {
      const base::Status status = Listen(host, one);
      std::unique_lock lock(mutex_);
      if (!ended_) view_.Fail(host, status.ok() ? "profd has ended the stream" : status.message());
      if (changed_.wait_for(lock, kRetry, [this] { return ended_; })) return;
    }
  }

  base::Status Listen(const std::string& host, const Context& one) {
    PROFD_ASSIGN_OR_RETURN(const Connection connection, Connect(one));
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return {};
      open_[host] = connection.control.get();
    }
    const base::Status status = connection.control->Live({}, [&](const v1::LiveValues& values) {
      const std::lock_guard lock(mutex_);
      view_.Take(host, values, base::MonotonicNs());
      return !ended_;
    });
    const std::lock_guard lock(mutex_);
    open_.erase(host);
    return status;
  }

  void End() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      for (const auto& [host, control] : open_) control->CancelAll();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const Context context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  NodesView view_;
  bool ended_ = false;
  std::map<std::string, ControlClient*> open_;
  std::vector<std::thread> threads_;
};

// Two sets of values of each, since rates need both.
ExitCode Once(const Context& context, const std::vector<std::string>& hosts, const TopOfNodes& options,
              NodesView view) {
  std::mutex mutex;
  const auto answers = AskEach(context, hosts, options.parallel, [&](const Context& one) {
    int sets = 0;
    const base::Result<Connection> connection = Connect(one);
    const base::Status status =
        connection.ok() ? connection->control->Live({},
                                                    [&](const v1::LiveValues& values) {
                                                      const std::lock_guard lock(mutex);
                                                      view.Take(one.host, values, base::MonotonicNs());
                                                      return ++sets < 2;
                                                    })
                        : connection.status();
    return status.ok() ? ExitCode::kOk : one.Fail(status);
  });
  for (const Answer& answer : answers) {
    if (answer.code != ExitCode::kOk) view.Fail(answer.host, answer.err);
  }
  context.Print(view.Text(0, options.look, base::MonotonicNs()));
  return CodeOf(answers);
}

ExitCode Screen(const Context& context, const std::vector<std::string>& hosts, const TopOfNodes& options,
                NodesView view) {
  Terminal terminal;  // before the threads
  Nodes nodes(context, hosts, std::move(view));
  const base::UniqueFd clock(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  PROFD_CHECK(clock && ::timerfd_settime(clock.get(), 0, &kRedraw, nullptr) == 0);
  terminal.Enter();
  for (;;) {
    char key = '\0';
    uint64_t ticks = 0;
    switch (terminal.Wait(clock.get(), &key)) {
      case Terminal::Event::kKey:
        if (key == 'q') return ExitCode::kOk;
        if (!nodes.OnKey(key)) continue;
        break;
      case Terminal::Event::kResize:
        break;
      case Terminal::Event::kQuit:
        return ExitCode::kOk;
      case Terminal::Event::kOther:
        if (::read(clock.get(), &ticks, sizeof ticks) != sizeof ticks) continue;
        break;
    }
    const Terminal::Size size = terminal.size();
    terminal.Show(nodes.Text(size.rows, {size.columns, options.look.coloured, options.look.all}));
  }
}

}  // namespace

ExitCode RunTopOfNodes(const Context& context, const std::vector<std::string>& hosts,
                       const TopOfNodes& options) {
  NodesView view(hosts);
  if (!options.sort.empty()) {
    if (const base::Status status = view.SortBy(options.sort); !status.ok()) return context.Fail(status);
  }
  if (options.once) return Once(context, hosts, options, std::move(view));
  if (hosts.size() > kMostNodes) {
    return context.Fail({base::Code::kInvalidArgument,
                         "top: " + std::to_string(hosts.size()) + " hosts: a screen follows at most " +
                             std::to_string(kMostNodes) + "; --once prints any number"});
  }
  return Screen(context, hosts, options, std::move(view));
}

}  // namespace profd::client
