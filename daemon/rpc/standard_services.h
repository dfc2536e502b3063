// gRPC's standard health and reflection services. gRPC's own are synchronous: their threads poll and multiply
// the cost of an idle daemon.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/calls/identity.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace profd::rpc {

// **Thread:** any. The daemon serves as long as it answers, so every known service is SERVING.
class HealthService : public grpc::health::v1::Health::CallbackService {
 public:
  HealthService(std::vector<std::string> services, Identity identity)
      : services_(std::move(services)), identity_(std::move(identity)) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* reply) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context, const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  bool Knows(const std::string& service) const;

  const std::vector<std::string> services_;
  const Identity identity_;
};

// **Thread:** any. Answers from the generated descriptors.
class ReflectionService : public grpc::reflection::v1alpha::ServerReflection::CallbackService {
 public:
  ReflectionService(std::vector<std::string> services, Identity identity)
      : services_(std::move(services)), identity_(std::move(identity)) {}

  grpc::ServerBidiReactor<grpc::reflection::v1alpha::ServerReflectionRequest,
                          grpc::reflection::v1alpha::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  const std::vector<std::string> services_;
  const Identity identity_;
};

}  // namespace profd::rpc
