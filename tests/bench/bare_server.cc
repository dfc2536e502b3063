// The yardstick of the idle bench: a gRPC server with profd's services and no other code. Usage: bare_server
// ADDRESS.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "profd/v1/control.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
    return 2;
  }
  profd::v1::Control::CallbackService control;
  grpc::health::v1::Health::CallbackService health;
  grpc::reflection::v1alpha::ServerReflection::CallbackService reflection;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&control);
  builder.RegisterService(&health);
  builder.RegisterService(&reflection);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  server->Wait();
  return 0;
}
