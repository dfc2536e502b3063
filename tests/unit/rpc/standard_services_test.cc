// Seen with the stubs that grpcurl, kubelet and friends use.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/create_channel.h>

#include <set>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "profd/v1/control.grpc.pb.h"
#include "tests/unit/rpc/served_test.h"

namespace profd::rpc {
namespace {

namespace health = grpc::health::v1;
namespace reflection = grpc::reflection::v1alpha;
using testing::UnorderedElementsAre;

class StandardServicesTest : public ServedTest {
 protected:
  std::shared_ptr<grpc::Channel> Channel() {
    return grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials());
  }
};

TEST_F(StandardServicesTest, HealthOfWhatIsServedAndWhatIsNot) {
  const auto stub = health::Health::NewStub(Channel());
  for (const char* service : {"", "profd.v1.Control", "profd.v1.Agent"}) {
    grpc::ClientContext context;
    health::HealthCheckRequest request;
    request.set_service(service);
    health::HealthCheckResponse reply;
    EXPECT_TRUE(stub->Check(&context, request, &reply).ok());
    EXPECT_EQ(reply.status(), health::HealthCheckResponse::SERVING);
  }
  grpc::ClientContext context;
  health::HealthCheckRequest request;
  request.set_service("nonsense");
  health::HealthCheckResponse reply;
  EXPECT_EQ(stub->Check(&context, request, &reply).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(StandardServicesTest, HealthWatchSaysItsValueAndStays) {
  const auto stub = health::Health::NewStub(Channel());
  for (const auto& [service, expected] :
       {std::pair("profd.v1.Control", health::HealthCheckResponse::SERVING),
        std::pair("nonsense", health::HealthCheckResponse::SERVICE_UNKNOWN)}) {
    grpc::ClientContext context;
    health::HealthCheckRequest request;
    request.set_service(service);
    const auto stream = stub->Watch(&context, request);
    health::HealthCheckResponse reply;
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_EQ(reply.status(), expected);
    context.TryCancel();
    EXPECT_FALSE(stream->Read(&reply));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST_F(StandardServicesTest, ShutdownEndsOpenStreams) {
  const auto channel = Channel();
  grpc::ClientContext watch_context;
  const auto watch = health::Health::NewStub(channel)->Watch(&watch_context, {});
  health::HealthCheckResponse reply;
  ASSERT_TRUE(watch->Read(&reply));
  grpc::ClientContext stream_context;
  const auto stream = reflection::ServerReflection::NewStub(channel)->ServerReflectionInfo(&stream_context);
  reflection::ServerReflectionRequest list;
  list.set_list_services("");
  reflection::ServerReflectionResponse listed;
  ASSERT_TRUE(stream->Write(list) && stream->Read(&listed));
  StopCtl();
  server_->Shutdown();
  EXPECT_FALSE(watch->Read(&reply));
  EXPECT_FALSE(watch->Finish().ok());
  EXPECT_FALSE(stream->Read(&listed));
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(StandardServicesTest, ReflectionDescribesTheWholeApi) {
  const auto stub = reflection::ServerReflection::NewStub(Channel());
  grpc::ClientContext context;
  const auto stream = stub->ServerReflectionInfo(&context);
  const auto ask = [&stream](const reflection::ServerReflectionRequest& request) {
    reflection::ServerReflectionResponse reply;
    EXPECT_TRUE(stream->Write(request));
    EXPECT_TRUE(stream->Read(&reply));
    return reply;
  };

  reflection::ServerReflectionRequest request;
  request.set_list_services("");
  std::set<std::string> services;
  const reflection::ServerReflectionResponse listed = ask(request);
  for (const auto& service : listed.list_services_response().service()) services.insert(service.name());
  EXPECT_THAT(services, UnorderedElementsAre("profd.v1.Control", "profd.v1.Agent", "grpc.health.v1.Health",
                                             "grpc.reflection.v1alpha.ServerReflection"));

  for (const std::string& service : services) {
    request.set_file_containing_symbol(service);
    const auto files = ask(request).file_descriptor_response().file_descriptor_proto();
    ASSERT_GT(files.size(), 0) << service;
    std::set<std::string> names;
    for (const std::string& bytes : files) {
      google::protobuf::FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(bytes));
      EXPECT_TRUE(names.insert(file.name()).second);
    }
    if (service == "profd.v1.Control") {
      EXPECT_THAT(names, UnorderedElementsAre("profd/v1/control.proto", "profd/v1/agent.proto",
                                              "profd/v1/metrics.proto", "profd/v1/session.proto"));
    }
  }

  request.set_file_by_filename("profd/v1/session.proto");
  EXPECT_EQ(ask(request).file_descriptor_response().file_descriptor_proto_size(), 2);
  for (const char* missing : {"", "no/such.proto"}) {
    request.set_file_by_filename(missing);
    EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  }
  request.set_file_containing_symbol("no.Such");
  EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("profd.v1.SessionSpec");
  EXPECT_EQ(ask(request).all_extension_numbers_response().base_type_name(), "profd.v1.SessionSpec");
  request.clear_message_request();
  EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(stream->WritesDone());
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StandardServicesTest, UnknownRequiredFeatureIsRefused) {
  const auto stub = v1::Control::NewStub(Channel());
  grpc::ClientContext context;
  v1::HelloRequest request;
  request.add_required_features("time-travel");
  v1::HelloReply reply;
  const grpc::Status status = stub->Hello(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("time-travel"));
}

}  // namespace
}  // namespace profd::rpc
