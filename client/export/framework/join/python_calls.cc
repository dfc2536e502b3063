#include "client/export/framework/join/python_calls.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace profd::client::framework {
namespace {

using Kind = format::framework::PythonCall::Kind;

constexpr std::string_view kModuleMark = "######";  // between a module's class and its address

// **Thread:** one. Of one thread of the program.
class Replay {
 public:
  explicit Replay(const Calls& calls, std::vector<PythonSpan>& spans) : calls_(calls), spans_(spans) {}

  void Run(std::vector<const PythonStep*>& steps) {
    std::ranges::stable_sort(steps, {}, [](const PythonStep* step) { return step->ns; });
    uint64_t id = 0;
    for (const PythonStep* step : steps) {
      if (step->kind == Kind::kCall || step->kind == Kind::kNativeCall) {
        Call(*step, id);
      } else if (!open_.empty()) {
        Return(step->ns);
      }
      ++id;
    }
    while (!open_.empty()) Return(steps.back()->ns);
  }

 private:
  std::string NameOf(uint64_t key) const {
    const auto name = calls_.python_names.find(key);
    return name == calls_.python_names.end() ? std::to_string(key)
                                             : std::string(calls_.texts.Get(name->second));
  }

  void Call(const PythonStep& step, uint64_t id) {
    PythonSpan span;
    span.begin = step.ns;
    span.thread = step.thread;
    span.id = id;
    span.parent = open_.empty() ? 0 : open_.back().id;
    span.name = NameOf(step.key);
    const size_t mark = step.kind == Kind::kCall ? span.name.find(kModuleMark) : std::string::npos;
    if (mark != std::string::npos) {
      const std::string type = span.name.substr(0, mark),
                        address = span.name.substr(mark + kModuleMark.size());
      const auto [number, is_new] = numbers_.try_emplace(address, 0);
      if (is_new) number->second = counts_[type]++;
      span.module = number->second;
      span.name = "nn.Module: " + type + "_" + std::to_string(number->second);
    }
    open_.push_back(std::move(span));
  }

  void Return(int64_t ns) {
    open_.back().end = ns;
    spans_.push_back(std::move(open_.back()));
    open_.pop_back();
  }

  const Calls& calls_;
  std::vector<PythonSpan>& spans_;
  std::vector<PythonSpan> open_;
  std::unordered_map<std::string, uint64_t> counts_, numbers_;  // by class; by address
};

}  // namespace

std::vector<PythonSpan> ReplayPython(const Calls& calls) {
  std::vector<PythonSpan> spans;
  if (calls.python_names.empty()) return spans;
  std::vector<std::vector<const PythonStep*>> threads;
  std::map<uint64_t, size_t> of_tid;  // as they are first seen
  for (const PythonStep& step : calls.python) {
    const auto [at, is_new] = of_tid.try_emplace(calls.PlaceOf(step.thread).tid, threads.size());
    if (is_new) threads.emplace_back();
    threads[at->second].push_back(&step);
  }
  for (std::vector<const PythonStep*>& steps : threads) Replay(calls, spans).Run(steps);
  return spans;
}

}  // namespace profd::client::framework
