#include "daemon/fabric/config_text.h"

namespace profd::fabric {

using base::Code;
using base::Status;

namespace {

// msMonitor's server receives as much; its clients, and kineto's, more.
constexpr size_t kMostPathBytes = 1024;
constexpr uint64_t kMostSteps = 1u << 30;  // both read an int

class Lines {
 public:
  Lines& Add(const char* key, const std::string& value) {
    text_ += std::string(key) + "=" + value + "\n";
    return *this;
  }
  Lines& Add(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) Add(setting.key, setting.value);
    return *this;
  }
  Lines& Add(const char* key, uint64_t value) { return Add(key, std::to_string(value)); }
  // As dynolog hands it on. The last line has its end from here.
  std::string Framed(const std::string& id) const {
    return "\n    " + text_ + "    REQUEST_TRACE_ID=" + id + "\n";
  }

 private:
  std::string text_;
};

std::string ForKineto(const Window& window, const std::string& id) {
  Lines lines;
  lines.Add("ACTIVITIES_LOG_FILE", window.path);
  if (window.steps > 0) {
    lines.Add("PROFILE_START_ITERATION", window.first_step.value_or(0))
        .Add("PROFILE_START_ITERATION_ROUNDUP", window.round_up)
        .Add("ACTIVITIES_ITERATIONS", window.steps);
    if (window.warmup_steps > 0) lines.Add("ACTIVITIES_WARMUP_ITERATIONS", window.warmup_steps);
  } else {
    lines.Add("PROFILE_START_TIME", 0).Add("ACTIVITIES_DURATION_MSECS", window.duration_ms);
    if (window.warmup_s) lines.Add("ACTIVITIES_WARMUP_PERIOD_SECS", *window.warmup_s);
  }
  return lines.Add(SettingsOf(Family::kKineto, window.options)).Framed(id);
}

std::string ForMonitor(const Window& window, const std::string& id) {
  Lines lines;
  lines.Add("ACTIVITIES_LOG_FILE", window.path)
      .Add("PROFILE_START_ITERATION", 0)
      .Add("PROFILE_START_STEP", window.first_step ? std::to_string(*window.first_step) : "-1")
      .Add("ACTIVITIES_ITERATIONS", window.steps);
  if (window.warmup_steps > 0) lines.Add("WARMUP_ITERATIONS", window.warmup_steps);
  return lines.Add(SettingsOf(Family::kMonitor, window.options)).Framed(id);
}

}  // namespace

// A line with a second '=' ends the text for kineto, '#' begins a comment, and '_<pid>' goes before the first
// ".json" anywhere in its path.
Status CheckWindow(Family family, const Window& window) {
  if (window.path.size() > kMostPathBytes || window.path.empty() || window.path.front() != '/' ||
      window.path.find_first_of("=#\r\n") != std::string::npos) {
    return {Code::kInvalidArgument, "the path " + window.path +
                                        " cannot be said on the dynolog fabric: an absolute one of at most " +
                                        std::to_string(kMostPathBytes) + " bytes, without = and #"};
  }
  PROFD_RETURN_IF_ERROR(CheckOptions(family, window.options));
  if (window.steps > kMostSteps || window.warmup_steps > kMostSteps || window.round_up > kMostSteps ||
      window.first_step.value_or(0) > kMostSteps) {
    return {Code::kInvalidArgument, "--steps, --step: at most 2^30 through the dynolog fabric"};
  }
  if (family == Family::kMonitor && window.steps == 0) {
    return {Code::kInvalidArgument,
            "--duration: torch_npu and MindSpore record steps, not a time: give --steps active=N"};
  }
  if (window.steps == 0 && window.duration_ms == 0) {
    return {Code::kInvalidArgument, "a window without an end: give --duration or --steps active=N"};
  }
  return Status::Ok();
}

std::string ConfigText(Family family, const Window& window, const std::string& id) {
  return family == Family::kKineto ? ForKineto(window, id) : ForMonitor(window, id);
}

}  // namespace profd::fabric
