// profctl's command line: the options of all verbs, which verb it is, and what it has wrong.
#pragma once

#include "client/words/exit_code.h"

namespace profd::client {

ExitCode RunCommandLine(int argc, char** argv);

}  // namespace profd::client
