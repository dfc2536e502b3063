#include "client/verbs/shown.h"

#include "client/words/text.h"

namespace profd::client {

void DefineShown(cli::Arguments arguments, Shown* shown) {
  arguments.Flag("--all", &shown->all, "show everything, however wide it gets");
  arguments.Text("-o", &shown->output, "wide: the same as --all");
}

void DefineChoice(cli::Arguments arguments, Shown* shown) {
  arguments.Text("--sort", &shown->sort,
                 "by this column, largest number first; -COLUMN: the other way round");
  arguments.List("--filter", &shown->filters, "only rows with this text: COLUMN=TEXT, or TEXT in any column");
}

base::Result<Look> LookFor(const Shown& shown) {
  if (!shown.output.empty() && shown.output != "wide") {
    return base::Status(base::Code::kInvalidArgument,
                        "-o '" + Excerpt(shown.output) + "': expected wide; JSON comes with --json");
  }
  return OwnLook(shown.all || !shown.output.empty());
}

}  // namespace profd::client
