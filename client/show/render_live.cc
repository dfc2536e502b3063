// Values as `profctl watch` prints them.
#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

std::string LabelsText(const google::protobuf::RepeatedPtrField<v1::LiveLabel>& labels) {
  std::string text;
  for (const v1::LiveLabel& label : labels)
    text += (text.empty() ? "" : " ") + OneLine(label.name() + "=" + label.value());
  return text;
}

std::string RenderLive(const v1::LiveValues& values, const Look& look) {
  Table table({"KIND", "NAME", "~LABELS", ">VALUE", ""});
  for (const v1::LiveMetric& metric : values.metrics()) {
    for (const v1::LiveValue& value : metric.values()) {
      const bool is_ratio = metric.name().ends_with("_ratio");
      table.Add({metric.kind(), metric.name(), LabelsText(value.labels()),
                 FormatValue(value.value(), metric.unit(), is_ratio),
                 std::string(metric.counter() ? "total" : "")});
    }
  }
  return FormatWallTime(values.wall_ns()) + "\n" + table.Text(look) + "\n";
}

}  // namespace profd::client
