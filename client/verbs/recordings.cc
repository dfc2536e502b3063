#include "client/verbs/recordings.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <utility>

#include "client/verbs/directories.h"

namespace profd::client {

using base::Result;

Result<std::unique_ptr<analyze::Analysis>> Analyse(analyze::Request request) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  if (is_terminal) {
    request.progress = [mutex = std::make_shared<std::mutex>()](size_t done, size_t all) {
      const std::lock_guard lock(*mutex);
      const std::string line =
          all == 0 ? "looking for recordings"
                   : "reading recordings: " + std::to_string(done) + " of " + std::to_string(all);
      std::fprintf(stderr, "\r\033[K%s", line.c_str());
    };
  }
  auto analysis = analyze::Analysis::Run(std::move(request));
  if (is_terminal) std::fputs("\r\033[K", stderr);
  return analysis;
}

Result<std::unique_ptr<analyze::Analysis>> AnalyseForTables(const Context& context,
                                                            const std::vector<std::string>& given,
                                                            analyze::Request request) {
  PROFD_ASSIGN_OR_RETURN(request.paths, WithSessions(context, given));
  request.judges = false;
  PROFD_ASSIGN_OR_RETURN(auto analysis, Analyse(std::move(request)));
  for (const analyze::Note& note : analysis->job().notes) context.Note(note.Line());
  return analysis;
}

}  // namespace profd::client
