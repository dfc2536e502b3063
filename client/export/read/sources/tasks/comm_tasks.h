// The parts of collectives that a device ran, and the collectives that these make.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/flat_map.h"
#include "format/decode/cann/launches.h"
#include "format/decode/span_writer.h"
#include "format/decode/tasks/task_log.h"

namespace profd::client {

// **Thread:** one.
class CommTasks {
 public:
  CommTasks(format::SpanWriter& spans, int device) : spans_(spans), device_(device) {}

  // `task` ran from `begin_ns` to `end_ns`: it follows as a part of its collective, if it is one.
  void Add(const format::DeviceTask& task, const format::Launch& launch, uint64_t begin_ns, uint64_t end_ns);
  // What an AI CPU carries out of a collective: `task` is `part` of the one that is called `name`.
  struct Of {
    uint64_t connection;
    uint32_t model;
    format::TextId name;
  };
  void AddPart(const format::DeviceTask& task, const format::CommPart& part, bool is_master, const Of& of,
               uint64_t begin_ns, uint64_t end_ns);
  // As a whole.
  void Add(const format::Collective& collective, const Of& of, format::TextId model_name, uint64_t begin_ns,
           uint64_t end_ns);
  // How the vendor's analyser calls run `number` (from 1) of a collective.
  std::string NameOf(const format::Collective& collective, uint32_t number);
  // Those of which nothing more will come.
  void Finish();

 private:
  struct Run {
    std::shared_ptr<format::Collective> of;
    std::string name;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    uint64_t main_begin_ns = UINT64_MAX, main_end_ns = 0;  // of the main stream
    uint32_t parts = 0, model = format::kNoId;
    format::TextId model_name = 0;
  };
  using RunKey = std::pair<uint64_t, uint32_t>;  // connection, how often it has run

  Run& RunOf(const RunKey& key, const std::shared_ptr<format::Collective>& of);
  void Give(const Run& run);
  format::TextId Key(std::string_view text);

  format::SpanWriter& spans_;
  const int device_;
  std::map<RunKey, Run> runs_;                                  // that are not complete
  base::FlatMap<uint32_t> ran_{size_t{1} << 20};                // how often each task has
  std::map<std::pair<bool, format::TextId>, uint32_t> counts_;  // collectives of each group
  std::map<uint64_t, uint32_t> numbers_;                        // by connection, of those in it
  std::map<std::string_view, format::TextId> keys_;
};

}  // namespace profd::client
