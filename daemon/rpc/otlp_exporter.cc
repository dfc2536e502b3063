#include "daemon/rpc/otlp_exporter.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <utility>

#include "base/host_port.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/base/log.h"
#include "daemon/live/values/metrics.h"
#include "opentelemetry/metrics.grpc.pb.h"

namespace profd::rpc {

namespace otlp = opentelemetry::proto::collector::metrics::v1;

namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr int kMostBackoffMs = 10'000;

void AddAttribute(google::protobuf::RepeatedPtrField<otlp::KeyValue>* attributes, std::string_view key,
                  std::string_view value) {
  otlp::KeyValue* attribute = attributes->Add();
  attribute->set_key(std::string(key));
  attribute->mutable_value()->set_string_value(std::string(value));
}

std::string HostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

class OtlpExporter::Impl {
 public:
  Impl(const config::Config::Metrics& metrics, live::Live& live, base::Executor& ctl)
      : metrics_(metrics), live_(live), ctl_(ctl), host_(HostName()) {
    way_->exporter = this;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMostBackoffMs);
    stub_ = otlp::MetricsService::NewStub(
        grpc::CreateCustomChannel(metrics.otlp, grpc::InsecureChannelCredentials(), arguments));
    live_.AddSource([this](std::vector<live::Sample>& samples) {
      samples.push_back({&live::kOtlpExports, {}, static_cast<double>(exports_)});
      samples.push_back({&live::kOtlpFailed, {}, static_cast<double>(failed_)});
    });
    ctl_.Post([this, way = way_] {
      if (way->exporter == nullptr) return;
      live_.Watch([](const live::SnapshotPtr&) {});  // so that there are values
      Send();
    });
  }
  ~Impl() {
    ctl_.Cancel(timer_);
    {
      const std::lock_guard lock(way_->mutex);
      way_->exporter = nullptr;
    }
    if (call_ != nullptr) call_->context.TryCancel();
  }

 private:
  // Outlives the exporter while the library has it.
  struct Call {
    grpc::ClientContext context;
    otlp::ExportMetricsServiceRequest request;
    otlp::ExportMetricsServiceResponse reply;
  };

  // From the library's threads back to ctl, closed when the exporter ends.
  struct Way {
    std::mutex mutex;
    Impl* exporter = nullptr;  // changes on ctl only
  };

  void Send() {
    timer_ = ctl_.After(metrics_.otlp_every_s * kSecondNs, [this] { Send(); });
    const live::SnapshotPtr newest = live_.newest();
    if (call_ != nullptr || newest == nullptr) return;
    call_ = std::make_shared<Call>();
    call_->context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Encode(*newest, call_->request.add_resource_metrics());
    stub_->async()->Export(&call_->context, &call_->request, &call_->reply,
                           [way = way_, call = call_](const grpc::Status& status) {
                             const std::lock_guard lock(way->mutex);
                             if (way->exporter == nullptr) return;
                             way->exporter->ctl_.Post([way, call, status] {
                               if (way->exporter != nullptr) way->exporter->OnAnswer(*call, status);
                             });
                           });
  }

  void OnAnswer(const Call& call, const grpc::Status& status) {
    const auto& partial = call.reply.partial_success();
    std::string problem;
    if (!status.ok()) {
      problem = status.error_message();
    } else if (partial.rejected_data_points() > 0) {
      problem =
          std::to_string(partial.rejected_data_points()) + " values rejected: " + partial.error_message();
    }
    ++(problem.empty() ? exports_ : failed_);
    if (problem.empty() != was_well_) {
      was_well_ = problem.empty();
      const std::string to = "metrics.otlp " + metrics_.otlp;
      if (was_well_) base::LogInfo(to + ": values are taken again");
      if (!was_well_) base::LogWarn(to + ": values are not taken: " + base::OneLine(problem));
    }
    call_.reset();
  }

  void Encode(const live::Snapshot& snapshot, otlp::ResourceMetrics* resource) const {
    auto* attributes = resource->mutable_resource()->mutable_attributes();
    AddAttribute(attributes, "service.name", "profd");
    AddAttribute(attributes, "service.version", base::kVersion);
    AddAttribute(attributes, "host.name", host_);
    otlp::ScopeMetrics* scope = resource->add_scope_metrics();
    scope->mutable_scope()->set_name("profd");
    scope->mutable_scope()->set_version(base::kVersion);
    const live::Metric* metric = nullptr;
    otlp::Metric* family = nullptr;
    for (const live::Sample& sample : snapshot.samples) {
      if (live::IsPrivate(sample) && !metrics_.processes) continue;
      const bool counts = sample.metric->type == live::Metric::Type::kCounter;
      if (std::exchange(metric, sample.metric) != sample.metric) {
        family = scope->add_metrics();
        family->set_name(std::string(metric->name));
        family->set_description(std::string(metric->help));
        family->set_unit(std::string(metric->unit));
        if (counts) {
          family->mutable_sum()->set_is_monotonic(true);
          family->mutable_sum()->set_aggregation_temporality(otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
        }
      }
      otlp::NumberDataPoint* point =
          counts ? family->mutable_sum()->add_data_points() : family->mutable_gauge()->add_data_points();
      point->set_time_unix_nano(snapshot.wall_ns);
      point->set_as_double(sample.value);
      for (const live::Label& label : sample.labels) {
        AddAttribute(point->mutable_attributes(), label.name, label.value);
      }
    }
  }

  const config::Config::Metrics metrics_;
  live::Live& live_;
  base::Executor& ctl_;
  const std::string host_;
  std::unique_ptr<otlp::MetricsService::Stub> stub_;
  std::shared_ptr<Call> call_;  // under way
  base::Executor::TimerId timer_ = 0;
  uint64_t exports_ = 0, failed_ = 0;
  bool was_well_ = true;
  const std::shared_ptr<Way> way_ = std::make_shared<Way>();
};

OtlpExporter::OtlpExporter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OtlpExporter::~OtlpExporter() = default;

base::Status OtlpExporter::Check(const config::Config::Metrics& metrics) {
  return base::ParseHostPort(metrics.otlp).status().In("metrics.otlp");
}

std::unique_ptr<OtlpExporter> OtlpExporter::Start(const config::Config::Metrics& metrics, live::Live& live,
                                                  base::Executor& ctl) {
  return std::unique_ptr<OtlpExporter>(new OtlpExporter(std::make_unique<Impl>(metrics, live, ctl)));
}

}  // namespace profd::rpc
