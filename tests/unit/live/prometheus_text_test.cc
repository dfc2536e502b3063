#include "daemon/live/prometheus_text.h"

#include <gtest/gtest.h>

#include "daemon/live/values/metrics.h"

namespace profd::live {
namespace {

Snapshot Some() {
  return {
      .samples = {{&kDeviceAiCore, {{"device", "0"}}, 0.5},
                  {&kDeviceAiCore, {{"device", "1"}}, 0.25},
                  {&kProcessCpu, {{"name", "a \"b\"\\\n"}}, 3, auth::Action::kSeeProcess, {.owner = 1000}}}};
}

TEST(PrometheusText, FamiliesHaveHelpTypeAndTheirValues) {
  EXPECT_EQ(PrometheusText(Some(), false),
            "# HELP profd_device_aicore_utilization_ratio How busy the AI cores are, as the driver says\n"
            "# TYPE profd_device_aicore_utilization_ratio gauge\n"
            "profd_device_aicore_utilization_ratio{device=\"0\"} 0.5\n"
            "profd_device_aicore_utilization_ratio{device=\"1\"} 0.25\n");
}

TEST(PrometheusText, ProcessesAreThereWhenAskedForAndTheirNamesDoNoHarm) {
  const std::string text = PrometheusText(Some(), true);
  EXPECT_NE(text.find("# TYPE profd_process_cpu_seconds_total counter\n"
                      "profd_process_cpu_seconds_total{name=\"a \\\"b\\\"\\\\\\n\"} 3\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace profd::live
