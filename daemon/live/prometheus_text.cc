#include "daemon/live/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>
#include <vector>

namespace profd::live {

std::string PrometheusText(const Snapshot& snapshot, bool with_private) {
  std::vector<prometheus::MetricFamily> families;
  const Metric* metric = nullptr;
  for (const Sample& sample : snapshot.samples) {
    if (IsPrivate(sample) && !with_private) continue;
    const bool counts = sample.metric->type == Metric::Type::kCounter;
    if (std::exchange(metric, sample.metric) != sample.metric) {
      families.push_back({.name = std::string(metric->name),
                          .help = std::string(metric->help),
                          .type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
                          .metric = {}});
    }
    prometheus::ClientMetric& value = families.back().metric.emplace_back();
    for (const Label& label : sample.labels) value.label.push_back({std::string(label.name), label.value});
    (counts ? value.counter.value : value.gauge.value) = sample.value;
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace profd::live
