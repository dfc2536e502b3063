#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <thread>

#include "base/threads/thread.h"
#include "client/node/connection.h"
#include "client/show/render.h"
#include "client/show/screen/terminal.h"
#include "client/show/screen/top_view.h"
#include "client/verbs/sessions/top_nodes.h"
#include "client/verbs/sessions/watch.h"
#include "client/verbs/shown.h"
#include "client/verbs/verb.h"
#include "client/words/entities.h"

namespace profd::client {

namespace {

struct Options {
  bool once = false;
  std::string sort;
  std::vector<std::string> devices, pids;
  Shown shown;
};

ExitCode Once(const Context& context, ControlClient& control, const Entities& entities, TopView& view,
              const Look& look) {
  // Rates need two sets of values.
  int sets = 0;
  const base::Status status = control.Live({}, [&](const v1::LiveValues& values) {
    view.Take(entities.AndOthers(values));
    return ++sets < 2;
  });
  if (!status.ok()) return context.Fail(status);
  context.Print(view.Text(0, look));
  return ExitCode::kOk;
}

// What the thread of the stream leaves for the screen.
class Newest {
 public:
  Newest() : bell_(::eventfd(0, EFD_CLOEXEC)) { PROFD_CHECK(bell_); }

  int bell() const { return bell_.get(); }
  void Put(const v1::LiveValues& values) {
    const std::lock_guard lock(mutex_);
    values_ = values;
    Ring();
  }
  void End(base::Status status) {
    const std::lock_guard lock(mutex_);
    end_ = std::move(status);
    Ring();
  }
  // True when there are new ones, or the end.
  bool Take(TopView& view, std::optional<base::Status>* end) {
    uint64_t rung = 0;
    if (::read(bell_.get(), &rung, sizeof rung) != sizeof rung) return false;
    const std::lock_guard lock(mutex_);
    if (values_) view.Take(*values_);
    values_.reset();
    *end = end_;
    return true;
  }

 private:
  void Ring() {
    const uint64_t one = 1;
    PROFD_CHECK(::write(bell_.get(), &one, sizeof one) == sizeof one);
  }

  const base::UniqueFd bell_;
  std::mutex mutex_;
  std::optional<v1::LiveValues> values_;
  std::optional<base::Status> end_;
};

// Why there can be no screen.
base::Status CheckScreen(const Context& context, const Options& options) {
  if (context.json)
    return {base::Code::kInvalidArgument, "top is for people: profctl watch --json has the same values"};
  if (!options.once && !Terminal::IsThere())
    return {base::Code::kInvalidArgument, "top needs a terminal: profctl top --once prints one screen"};
  return {};
}

ExitCode RunOnMany(const Context& context, const std::vector<std::string>& hosts, size_t parallel,
                   const Options& options) {
  const base::Result<Look> look = LookFor(options.shown);
  if (!look.ok()) return context.Fail(look.status());
  if (const base::Status status = CheckScreen(context, options); !status.ok()) return context.Fail(status);
  return RunTopOfNodes(context, hosts,
                       {.once = options.once, .sort = options.sort, .parallel = parallel, .look = *look});
}

ExitCode Run(const Context& context, const Options& options) {
  TopView view;
  if (!options.sort.empty()) {
    if (const base::Status status = view.SortBy(options.sort); !status.ok()) return context.Fail(status);
  }
  const base::Result<Look> look = LookFor(options.shown);
  if (!look.ok()) return context.Fail(look.status());
  const base::Result<Entities> entities = Entities::Parse(options.devices, options.pids);
  if (!entities.ok()) return context.Fail(entities.status());
  if (const base::Status status = CheckScreen(context, options); !status.ok()) return context.Fail(status);
  std::optional<Terminal> terminal;  // before gRPC's threads
  if (!options.once) terminal.emplace();
  base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  ControlClient& control = *connection->control;
  if (const base::Status there = AreThere(options.devices, options.pids, control); !there.ok())
    return context.Fail(there);
  if (options.once) return Once(context, control, *entities, view, *look);

  Newest newest;
  std::thread stream = base::StartThread("live", [&] {
    newest.End(control.Live({}, [&](const v1::LiveValues& values) {
      newest.Put(entities->AndOthers(values));
      return true;
    }));
  });
  terminal->Enter();
  std::optional<base::Status> end;
  for (bool quit = false; !quit && !end;) {
    char key = '\0';
    bool changed = true;
    switch (terminal->Wait(newest.bell(), &key)) {
      case Terminal::Event::kKey:
        quit = key == 'q';
        changed = view.OnKey(key);
        break;
      case Terminal::Event::kResize:
        break;
      case Terminal::Event::kQuit:
        quit = true;
        break;
      case Terminal::Event::kOther:
        changed = newest.Take(view, &end);
        break;
    }
    if (quit || end || !changed) continue;
    const Terminal::Size size = terminal->size();
    terminal->Show(view.Text(size.rows, {size.columns, look->coloured, look->all}));
  }
  terminal.reset();
  control.CancelAll();
  stream.join();
  return end && !end->ok() ? context.Fail(*end) : ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Flag("--once", &options->once, "print one screen as plain text");
  arguments.Text("--sort", &options->sort,
                 "device, aicore, hbm or memory; cpu, rss or pid; with --hosts name, aicore, hbm, cpu, "
                 "memory, step or lost");
  arguments.List("--devices", &options->devices, "only these devices: 0,1");
  arguments.List("--pid", &options->pids, "only these processes: N,…");
  DefineShown(arguments, &options->shown);
  return {.run = [options](const Context& context) { return Run(context, *options); },
          .run_on_many = [options](const Context& context, const std::vector<std::string>& hosts,
                                   size_t parallel) { return RunOnMany(context, hosts, parallel, *options); },
          .against_many =
              [options] {
                return options->devices.empty() && options->pids.empty()
                           ? ""
                           : "top: --devices and --pid work with one node: use --host";
              }};
}

}  // namespace

namespace verbs {
Verb Top() {
  return {"top", "a screen of devices, processes and sessions, or of many nodes; q ends it", Reach::kStreams,
          Define};
}
}  // namespace verbs

}  // namespace profd::client
