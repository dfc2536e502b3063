#include "client/show/manual.h"

#include "base/version.h"

namespace profd::client {

cli::ManText Manual() {
  return {
      .section = 1,
      .version = base::kVersion,
      .description =
          "Controls profd: says what to collect, of which processes and devices, how fast and for how long. "
          "A "
          "session leaves a PROF directory in the layout of the vendor's tools. profctl says what makes the "
          "recorded job slow (record, analyze, report) and makes timelines and tables (export).\n"
          "Options may stand before or behind the command. Results go to the standard output; an error is "
          "one "
          "line on the standard error. Colours appear only on a terminal, and not if NO_COLOR is set.\n"
          "PROFD_ADDRESS names the socket if --socket does not.",
      .files =
          "/run/profd/profd.sock\twhere profd listens\n"
          "/var/lib/profd\tresults of sessions without --output, one folder per user",
      .see_also = "profd(8), profd.yaml(5)",
  };
}

}  // namespace profd::client
