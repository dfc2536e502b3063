// profctl: finds the verb (verbs/) and runs it.
#include <cstdio>
#include <cstdlib>

#include "client/verbs/command_line.h"

int main(int argc, char** argv) {
  const auto code = profd::client::RunCommandLine(argc, argv);
  // gRPC's threads go on for a while: exit handlers would take its state and OpenSSL's from under them.
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}
