// gRPC's standard health and reflection services. gRPC's own are synchronous: their threads poll and multiply
// the cost of an idle daemon.
#pragma once

#include <string>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace profd::rpc {

// **Thread:** any. The daemon serves as long as it answers, so every known service is SERVING.
class HealthService : public grpc::health::v1::Health::CallbackService {
 public:
  explicit HealthService(std::vector<std::string> services) : services_(std::move(services)) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* reply) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context, const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  bool Knows(const std::string& service) const;

  const std::vector<std::string> services_;
};

// **Thread:** any. Answers from the generated descriptors.
class ReflectionService : public grpc::reflection::v1alpha::ServerReflection::CallbackService {
 public:
  explicit ReflectionService(std::vector<std::string> services) : services_(std::move(services)) {}

  grpc::ServerBidiReactor<grpc::reflection::v1alpha::ServerReflectionRequest,
                          grpc::reflection::v1alpha::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  const std::vector<std::string> services_;
};

}  // namespace profd::rpc
