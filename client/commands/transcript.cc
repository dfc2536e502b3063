#include "client/commands/transcript.h"

#include <cstdio>

#include "base/status.h"
#include "client/commands/commands.h"
#include "client/text.h"

namespace profd::client {

namespace {
thread_local Transcript* current = nullptr;
}

Transcript::Transcript() {
  PROFD_CHECK(current == nullptr);
  current = this;
}
Transcript::~Transcript() { current = nullptr; }

Transcript* CurrentTranscript() { return current; }

void Note(const std::string& text) {
  const std::string line = OneLine(text);
  if (current != nullptr) {
    current->Err(line);
  } else {
    std::fprintf(stderr, "profctl: %s\n", line.c_str());
  }
}

ExitCode Fail(const base::Status& status) {
  Note(status.message());
  return ExitCodeOf(status);
}

void Print(const std::string& text) {
  if (current != nullptr) return current->Out(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace profd::client
