// SQL's engine within a verb: Ctrl-C ends its work, so that what it keeps among the temporary files goes.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/status.h"
#include "client/lake/engine.h"
#include "client/show/interrupt.h"

namespace profd::client {

// **Thread:** construct it before any other thread exists (InterruptWatch). **Owns:** the engine.
class LakeWork {
 public:
  base::Result<lake::Engine*> Open() {
    PROFD_ASSIGN_OR_RETURN(engine_, lake::Engine::Open());
    return open_ = engine_.get();
  }

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
