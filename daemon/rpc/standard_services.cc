#include "daemon/rpc/standard_services.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "daemon/rpc/calls/call_status.h"

namespace profd::rpc {

namespace health = grpc::health::v1;
namespace reflection = grpc::reflection::v1alpha;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

namespace {

// Says its one value and stays until the watcher or the server goes: the value never changes.
class HealthWatch : public grpc::ServerWriteReactor<health::HealthCheckResponse> {
 public:
  explicit HealthWatch(health::HealthCheckResponse::ServingStatus status) {
    value_.set_status(status);
    StartWrite(&value_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) FinishOnce();
  }
  void OnCancel() override { FinishOnce(); }
  void OnDone() override { delete this; }

 private:
  void FinishOnce() {
    if (!finished_.exchange(true)) Finish(grpc::Status::CANCELLED);
  }

  health::HealthCheckResponse value_;
  std::atomic<bool> finished_{false};
};

// What everybody may ask is answered also where the caller has enough connections: this one ends soon.
void AdmitAnyway(const Identity& identity, const grpc::CallbackServerContext& context) {
  static_cast<void>(identity.Admit(context));
}

// `file` and everything it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>* seen,
             reflection::FileDescriptorResponse* out) {
  if (!seen->insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  *out->add_file_descriptor_proto() = proto.SerializeAsString();
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), seen, out);
}

void AnswerFile(const FileDescriptor* file, reflection::ServerReflectionResponse* reply) {
  if (file == nullptr) {
    reply->mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
    reply->mutable_error_response()->set_error_message("not found");
    return;
  }
  std::set<const FileDescriptor*> seen;
  AddFile(*file, &seen, reply->mutable_file_descriptor_response());
}

const FileDescriptor* FileOfExtension(const DescriptorPool& pool,
                                      const reflection::ExtensionRequest& request) {
  const auto* type = pool.FindMessageTypeByName(request.containing_type());
  if (type == nullptr) return nullptr;
  const FieldDescriptor* extension = pool.FindExtensionByNumber(type, request.extension_number());
  return extension == nullptr ? nullptr : extension->file();
}

void AnswerExtensionNumbers(const DescriptorPool& pool, const std::string& type_name,
                            reflection::ServerReflectionResponse* reply) {
  const auto* type = pool.FindMessageTypeByName(type_name);
  if (type == nullptr) return AnswerFile(nullptr, reply);
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(type, &extensions);
  reflection::ExtensionNumberResponse* numbers = reply->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(type_name);
  for (const FieldDescriptor* extension : extensions) numbers->add_extension_number(extension->number());
}

// One question at a time: read, answer, read.
class ReflectionStream : public grpc::ServerBidiReactor<reflection::ServerReflectionRequest,
                                                        reflection::ServerReflectionResponse> {
 public:
  explicit ReflectionStream(const std::vector<std::string>& services) : services_(services) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    reply_.Clear();
    // The answer repeats it, and whoever does not read would have both kept.
    if (request_.ByteSizeLong() > kMostAsked) {
      request_.Clear();
      return Finish({grpc::StatusCode::INVALID_ARGUMENT, "the question is too long"});
    }
    Answer();
    StartWrite(&reply_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  void Answer() {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    reply_.set_valid_host(request_.host());
    *reply_.mutable_original_request() = request_;
    switch (request_.message_request_case()) {
      case reflection::ServerReflectionRequest::kFileByFilename:
        return AnswerFile(pool.FindFileByName(request_.file_by_filename()), &reply_);
      case reflection::ServerReflectionRequest::kFileContainingSymbol:
        return AnswerFile(pool.FindFileContainingSymbol(request_.file_containing_symbol()), &reply_);
      case reflection::ServerReflectionRequest::kFileContainingExtension:
        return AnswerFile(FileOfExtension(pool, request_.file_containing_extension()), &reply_);
      case reflection::ServerReflectionRequest::kAllExtensionNumbersOfType:
        return AnswerExtensionNumbers(pool, request_.all_extension_numbers_of_type(), &reply_);
      case reflection::ServerReflectionRequest::kListServices:
        for (const std::string& service : services_) {
          reply_.mutable_list_services_response()->add_service()->set_name(service);
        }
        return;
      case reflection::ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
        reply_.mutable_error_response()->set_error_code(grpc::StatusCode::INVALID_ARGUMENT);
        reply_.mutable_error_response()->set_error_message("empty request");
        return;
    }
  }

  static constexpr size_t kMostAsked = 1024;

  const std::vector<std::string>& services_;
  reflection::ServerReflectionRequest request_;
  reflection::ServerReflectionResponse reply_;
};

}  // namespace

bool HealthService::Knows(const std::string& service) const {
  return service.empty() || std::find(services_.begin(), services_.end(), service) != services_.end();
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const health::HealthCheckRequest* request,
                                               health::HealthCheckResponse* reply) {
  AdmitAnyway(identity_, *context);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (Knows(request->service())) {
    reply->set_status(health::HealthCheckResponse::SERVING);
    reactor->Finish(grpc::Status::OK);
  } else {
    reactor->Finish(ToGrpc({base::Code::kNotFound, "profd has no service " + request->service()}));
  }
  return reactor;
}

grpc::ServerWriteReactor<health::HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* context, const health::HealthCheckRequest* request) {
  AdmitAnyway(identity_, *context);
  return new HealthWatch(Knows(request->service()) ? health::HealthCheckResponse::SERVING
                                                   : health::HealthCheckResponse::SERVICE_UNKNOWN);
}

grpc::ServerBidiReactor<reflection::ServerReflectionRequest, reflection::ServerReflectionResponse>*
ReflectionService::ServerReflectionInfo(grpc::CallbackServerContext* context) {
  AdmitAnyway(identity_, *context);
  return new ReflectionStream(services_);
}

}  // namespace profd::rpc
