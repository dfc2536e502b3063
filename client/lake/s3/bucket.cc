#include "client/lake/s3/bucket.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "base/calendar.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "client/words/ascii.h"
#include "client/words/text.h"

namespace profd::lake::s3 {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr unsigned kTries = 5;
constexpr long kOk = 200;

// Of a file from its begin; it is at its begin then.
Result<std::string> Sha256Of(int file) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  std::string piece(size_t{1} << 20, '\0');
  for (ssize_t got; (got = ::read(file, piece.data(), piece.size())) != 0;) {
    if (got < 0) return Status::FromErrno("read");
    EVP_DigestUpdate(digest.get(), piece.data(), static_cast<size_t>(got));
  }
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(digest.get(), bytes, &size);
  if (::lseek(file, 0, SEEK_SET) != 0) return Status::FromErrno("seek");
  return client::Hex({reinterpret_cast<const char*>(bytes), size});
}

void Pause(unsigned tries) {
  static std::mt19937_64 dice{std::random_device()()};
  const double thrown = std::uniform_real_distribution<>(0, 1)(dice);
  std::this_thread::sleep_for(std::chrono::milliseconds(PauseMs(tries, thrown)));
}

// Again while the store is busy; once more where the bytes were damaged on their way.
template <typename Once>
Result<Answer> Patiently(Once once) {
  bool was_damaged = false;
  for (unsigned tries = 0;; ++tries) {
    PROFD_ASSIGN_OR_RETURN(Answer answer, once());
    const Verdict verdict = VerdictOf(answer.code, ErrorIn(answer.body));
    const bool is_damaged = verdict == Verdict::kDamaged;
    const bool again = verdict == Verdict::kAgain || (is_damaged && !was_damaged);
    was_damaged = was_damaged || is_damaged;
    if (!again || tries + 1 == kTries) return answer;
    Pause(tries);
  }
}

}  // namespace

std::string Bucket::name() const {
  std::string place = std::string(kScheme) + address_.bucket + "/" + address_.prefix;
  place.pop_back();
  return client::OneLine(place + " at " + address_.endpoint);
}

Request Bucket::RequestFor(const std::string& method, const std::string& object) const {
  Request request;
  request.method = method;
  request.path =
      "/" + address_.bucket + (object.empty() ? "" : "/" + Encoded(address_.prefix + object, true));
  request.headers["host"] = address_.endpoint.substr(address_.endpoint.find("//") + 2);
  request.body_sha256 = Sha256("");
  return request;
}

Result<Answer> Bucket::Ask(Request request, int body, uint64_t body_bytes, int into) {
  const std::string stamp = base::UtcText(base::WallNs(), "%Y%m%dT%H%M%SZ");
  request.headers["x-amz-date"] = stamp;
  request.headers["x-amz-content-sha256"] = request.body_sha256;
  if (!address_.keys.token.empty()) request.headers["x-amz-security-token"] = address_.keys.token;
  const std::string query = QueryOf(request);
  Sent sent;
  sent.method = request.method;
  sent.url = address_.endpoint + request.path + (query.empty() ? "" : "?" + query);
  sent.headers = request.headers;
  sent.headers["authorization"] = Authorization(request, address_.keys, address_.region, stamp);
  sent.body = body;
  sent.body_bytes = body_bytes;
  sent.into = into;
  sent.authority = address_.authority;
  return connection_.Send(sent);
}

Status Bucket::Failed(const std::string& what, const Answer& answer) const {
  const std::string whose = name() + ": " + what + ": ";
  if (answer.code == 0)
    return {Code::kUnavailable,
            whose + "no answer: " + client::OneLine(answer.why) + ": is AWS_ENDPOINT_URL right?"};
  const std::string error = ErrorIn(answer.body);
  const std::string said =
      whose + "the store answers " + std::to_string(answer.code) + (error.empty() ? "" : " " + error);
  const Verdict verdict = VerdictOf(answer.code, error);
  if (error == "NoSuchBucket") return {Code::kNotFound, said + ": check its name, or create it"};
  if (error == "RequestTimeTooSkewed")
    return {Code::kFailedPrecondition, said + ": this machine's clock is not the store's: set it"};
  if (error == "SignatureDoesNotMatch" || error == "InvalidAccessKeyId")
    return {Code::kUnauthenticated, said + ": the key " + client::OneLine(address_.keys.id) +
                                        " or its secret is wrong, or AWS_REGION is"};
  if (answer.code == 403 && verdict != Verdict::kFull)
    return {Code::kPermissionDenied, said + ": the key " + client::OneLine(address_.keys.id) +
                                         " may not do this: see docs/lake.md, In a bucket"};
  switch (verdict) {
    case Verdict::kFull:
      return {Code::kResourceExhausted, said + ": the store is full, or its quota for this key"};
    case Verdict::kAgain:
      return {Code::kUnavailable, said + ": it is busy: try again later"};
    case Verdict::kDamaged:
      return {Code::kDataLoss, said + ": the bytes were damaged on their way"};
    default:
      return {Code::kFailedPrecondition, said};
  }
}

Result<bool> Bucket::Put(const std::string& object, const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return Status::FromErrno("open " + path);
  PROFD_ASSIGN_OR_RETURN(const Answer answer, Patiently([&]() -> Result<Answer> {
                           Request request = RequestFor("PUT", object);
                           request.headers["if-none-match"] = "*";
                           PROFD_ASSIGN_OR_RETURN(request.body_sha256, Sha256Of(file.get()));
                           return Ask(request, file.get(), static_cast<uint64_t>(facts.st_size), -1);
                         }));
  const Verdict verdict = VerdictOf(answer.code, ErrorIn(answer.body));
  if (verdict == Verdict::kWritten || verdict == Verdict::kWasThere) return verdict == Verdict::kWritten;
  return Failed("write " + client::OneLine(object), answer);
}

Result<std::vector<Object>> Bucket::List(const std::string& beginning) {
  std::vector<Object> objects;
  std::string next;
  do {
    PROFD_ASSIGN_OR_RETURN(const Answer answer, Patiently([&] {
                             Request request = RequestFor("GET", "");
                             request.query = {{"list-type", "2"}, {"prefix", address_.prefix + beginning}};
                             if (!next.empty()) request.query["continuation-token"] = next;
                             return Ask(request, -1, 0, -1);
                           }));
    if (answer.code != kOk) return Failed("list", answer);
    const auto listing = ListingOf(answer.body, address_.prefix);
    if (!listing.ok()) return listing.status().In(name());
    objects.insert(objects.end(), listing->objects.begin(), listing->objects.end());
    if (!listing->next.empty() && listing->next == next)
      return Status(Code::kDataLoss, name() + ": its list of objects has no end");
    next = listing->next;
  } while (!next.empty());
  return objects;
}

Status Bucket::Get(const std::string& object, const std::string& path) {
  PROFD_ASSIGN_OR_RETURN(
      const Answer answer, Patiently([&]() -> Result<Answer> {
        const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!file) return Status::FromErrno("open " + path);
        return Ask(RequestFor("GET", object), -1, 0, file.get());
      }));
  return answer.code == kOk ? Status() : Failed("read " + client::OneLine(object), answer);
}

}  // namespace profd::lake::s3
