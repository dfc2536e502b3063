#include "client/words/output.h"

#include <cstdio>

#include "client/words/option_places.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

class Streams : public Output {
 public:
  void Print(const std::string& text) override { std::fwrite(text.data(), 1, text.size(), stdout); }
  void Note(const std::string& text) override {
    std::fprintf(stderr, "profctl: %s\n", OneLine(text).c_str());
  }
  void Fired(const Firing&) override {}
};

}  // namespace

ExitCode Output::Fail(const base::Status& status) {
  Note(Placed(status.message()));
  return ExitCodeOf(status);
}

Output* OwnStreams() {
  static Streams streams;
  return &streams;
}

void Transcript::Note(const std::string& text) { err_ += (err_.empty() ? "" : "; ") + OneLine(text); }

}  // namespace profd::client
