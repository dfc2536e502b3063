// rows_dump DIR [--vendor-compatible]: every row that decoding a PROF directory gives, one a line, for tests:
// series, device, wall ns, keys, values. What was left out goes to stderr.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "client/export/read/capture.h"
#include "client/export/read/sources/pipeline.h"

namespace {

using namespace profd;

class Dump : public format::RowSink, public format::SpanSink {
 public:
  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override {
    std::printf("label\t%s\t%d\t%zu\t%" PRId64 "\t%.*s\n", std::string(series.name).c_str(), device, key,
                value, static_cast<int>(text.size()), text.data());
  }
  void Rows(const format::RowBatch& batch) override {
    const size_t keys = batch.series->keys.size();
    const size_t columns = batch.series->columns.size();
    for (size_t row = 0; row < batch.rows(); ++row) {
      std::printf("row\t%s\t%d\t%" PRIu64, std::string(batch.series->name).c_str(), batch.device,
                  batch.wall_ns[row]);
      for (size_t i = 0; i < keys; ++i) std::printf("\t%" PRId64, batch.keys[row * keys + i]);
      for (size_t i = 0; i < columns; ++i) std::printf("\t%.17g", batch.values[row * columns + i]);
      std::printf("\n");
    }
  }
  void Spans(const format::SpanBatch&) override {}
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool vendor_compatible = argc > 2 && std::string(argv[2]) == "--vendor-compatible";
  client::Report report;
  const auto capture = client::OpenCapture(argv[1], vendor_compatible, report);
  if (!capture.ok()) {
    std::fprintf(stderr, "%s\n", capture.status().message().c_str());
    return 1;
  }
  Dump dump;
  format::Texts texts;
  client::Sinks sinks;
  sinks.rows = &dump;
  sinks.spans = &dump;
  sinks.texts = &texts;
  sinks.report = &report;
  client::Decode(*capture, {}, vendor_compatible, sinks);
  for (const client::Skipped& skipped : report.skipped()) {
    std::fprintf(stderr, "skipped\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", skipped.stream.c_str(),
                 skipped.offset, skipped.bytes, skipped.records, skipped.why.c_str());
  }
  for (const std::string& note : report.notes()) std::fprintf(stderr, "note\t%s\n", note.c_str());
  return 0;
}
