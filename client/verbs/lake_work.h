// SQL's engine within a verb: Ctrl-C ends its work, so that what it keeps among the temporary files goes.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/lake/engine.h"
#include "client/lake/rows.h"
#include "client/show/interrupt.h"
#include "client/verbs/recordings.h"

namespace profd::client {

// **Thread:** construct it before any other thread exists (InterruptWatch). **Owns:** the engine.
class LakeWork {
 public:
  base::Result<lake::Engine*> Open() {
    PROFD_ASSIGN_OR_RETURN(engine_, lake::Engine::Open());
    return open_ = engine_.get();
  }
  // Recordings, read, and an engine with their tables.
  base::Result<std::unique_ptr<analyze::Analysis>> Fill(const Context& context,
                                                        const std::vector<std::string>& given,
                                                        analyze::Request request) {
    PROFD_RETURN_IF_ERROR(lake::LoadLibrary().status());  // before anything is read, which may take long
    PROFD_ASSIGN_OR_RETURN(auto analysis, AnalyseForTables(context, given, std::move(request)));
    PROFD_ASSIGN_OR_RETURN(lake::Engine* const engine, Open());
    PROFD_RETURN_IF_ERROR(lake::FillFrom(*engine, *analysis));
    return analysis;
  }
  lake::Engine& engine() { return *engine_; }

 private:
  // While nothing is open there is nothing to tidy up, and what runs cannot be told to end.
  void End() {
    lake::Engine* const engine = open_;
    engine == nullptr ? std::_Exit(128 + SIGINT) : engine->Interrupt();
  }

  std::unique_ptr<lake::Engine> engine_;
  std::atomic<lake::Engine*> open_ = nullptr;
  InterruptWatch interrupts_{[this](int) { End(); }};
};

}  // namespace profd::client
