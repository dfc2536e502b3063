// Collectives and the tasks that they are made of, as the spans of an export tell of them; and what `msprof
// --analyze` reckons of these.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "client/export/exporter.h"
#include "client/export/framework/output/matrix.h"
#include "format/events/spans.h"
#include "format/texts.h"

namespace profd::client::framework {

inline constexpr char kAnalyzeFolder[] = "analyze", kAnalyzerDatabase[] = "communication_analyzer.db",
                      kCommunicationJson[] = "communication.json",
                      kMatrixJson[] = "communication_matrix.json";

// Where collectives come from: CANN's collector tells the tasks that they are made of, profd's agents tell
// collectives as a whole.
enum class Told : bool { kInParts, kAsWholes };

// **Thread:** one. Memory grows with the number of tasks, 72 bytes each; what is too much is left out and
// counted.
class CollectiveParts final : public Companion {
 public:
  static constexpr size_t kMost = size_t{1} << 23;

  // kAsWholes: a collective without parts counts, too. Nobody knows how long it waited, so that all of its
  // time is transit.
  explicit CollectiveParts(Told told) : told_(told) {}

  void Spans(const format::SpanBatch& batch) override;
  void Give(format::SpanSink&) override {}

  bool empty() const { return operations_.empty() && wholes_.empty(); }
  uint64_t left_out() const { return left_out_; }

  struct Analysis {
    Json times = Json::object(), matrix = Json::object();  // by operation
    uint64_t without_main = 0;                             // operations of which no task is the main plane's
  };
  // Of an operation that several devices of the directory ran the first one's.
  Analysis Analyze() const;

 private:
  struct Part {
    uint64_t begin = 0, ns = 0, bytes = 0;
    uint32_t plane = 0, from = 0, to = 0;
    format::TextId name = 0, transport = 0, link = 0, rdma = 0;
    int32_t device = 0;
    bool is_master = false;
  };
  using Parts = std::vector<Part>;
  std::string_view Text(format::TextId id) const { return texts_.Get(id); }
  bool IsSdma(const Part& part) const;
  bool IsPayload(const Part& part) const { return Text(part.rdma) == "RDMA_SEND_PAYLOAD"; }
  // Payloads in a row from `at` on and the tasks that close them: how long, how much, and where to go on; a
  // count of ns below 0: they are not closed.
  struct Payloads {
    int64_t ns = -1;
    uint64_t bytes = 0;
    size_t next = 0;
  };
  Payloads PayloadsAt(const Parts& parts, size_t at, size_t closing) const;
  static std::map<uint32_t, Parts> ByPlane(const Parts& parts);
  Json TimesOf(const Parts& all, uint32_t main_plane, size_t closing) const;
  Json BandwidthsOf(const Parts& all, size_t closing) const;
  struct Link {
    double mb = 0, ms = 0;
    std::string_view transport;
  };
  using Links = std::map<std::string, Link>;  // by "from-to"
  Links LinksOf(const Parts& all, size_t closing) const;
  void AddPart(const format::SpanBatch& batch, const format::Span& span);
  void AddWhole(const format::SpanBatch& batch, const format::Span& span);
  struct Whole {
    std::string operation;
    uint64_t begin = 0, ns = 0, bytes = 0;
  };

  const Told told_;
  format::Texts texts_;
  std::unordered_map<std::string, size_t> known_;          // operation@group
  std::vector<std::pair<std::string, Parts>> operations_;  // as they come
  std::vector<Whole> wholes_;                              // the same
  size_t parts_ = 0;                                       // and wholes
  uint64_t left_out_ = 0;
};

// Reads a PROF directory and writes into its folder analyze; no files: there are no tasks of collectives.
base::Result<std::vector<std::string>> AnalyzeCollectives(const std::string& directory, Told told,
                                                          Progress& progress);
// Writes its files into `folder`, which is called `shown`.
base::Result<std::vector<std::string>> WriteAnalysis(const CollectiveParts& parts,
                                                     const base::UniqueFd& folder, const std::string& shown,
                                                     Report& report);

}  // namespace profd::client::framework
