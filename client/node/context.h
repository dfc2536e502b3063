// What every verb is given: which profd is asked, and where its words go.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "client/node/exchange.h"
#include "client/words/exit_code.h"
#include "client/words/output.h"

namespace profd::client {

struct Context {
  std::string socket;         // --socket as given
  std::string host;           // --host, "" = this node
  std::string ca, cert, key;  // --tls-…: PEM files for --host
  bool plain = false;         // --plain
  uint64_t deadline_ns = 0;   // --timeout, as base::MonotonicNs(); 0 = each call's own patience
  bool json = false;
  bool is_one_of_many = false;   // of --hosts
  uint64_t at_wall_ns = 0;       // --at: everybody must have been asked well before; 0 = now
  Exchange* exchange = nullptr;  // others ask `host`
  Output* output = OwnStreams();

  void Print(const std::string& text) const { output->Print(text); }
  void Note(const std::string& text) const { output->Note(text); }
  ExitCode Fail(const base::Status& status) const { return output->Fail(status); }
};

}  // namespace profd::client
