// A bucket, or what is below a prefix of one, of any store that speaks S3 (AWS, Ceph, MinIO, OBS …). Which
// store, and with which keys, say the variables that other programs take, too: AWS_ENDPOINT_URL, AWS_REGION,
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE,
// AWS_CA_BUNDLE. Source: docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/lake/s3/curl.h"
#include "client/lake/s3/signature.h"

namespace profd::lake::s3 {

constexpr std::string_view kScheme = "s3://";

struct Address {
  std::string endpoint;  // "https://s3.example:443"
  std::string bucket;
  std::string prefix;  // "" or "lake/"
  std::string region, authority;
  Keys keys;
};
// "s3://BUCKET[/PREFIX]". `variable`: of the environment; nullptr: not set. An error says what is missing.
base::Result<Address> AddressOf(const std::string& text,
                                const std::function<const char*(const char*)>& variable);

// What an answer to a PUT means.
enum class Verdict : uint8_t {
  kWritten,
  kWasThere,
  kAgain,    // busy, ended without an answer: try again later
  kFull,     // a quota: again later, but not at once
  kRefused,  // keys, rights, an address: again only when somebody has mended it
  kDamaged   // the bytes that came are not those that were signed
};
Verdict VerdictOf(long code, std::string_view error);
// "NoSuchBucket" of the answer's <Code>; "" where there is none.
std::string ErrorIn(const std::string& body);
// How long to wait before the n-th further try: 1 s, 2 s, … 5 min, half of it to one and a half by `dice`
// (0 to 1), as thousands of nodes come back at the same moment.
int64_t PauseMs(unsigned tries, double dice);

struct Object {
  std::string name;  // below the prefix
  uint64_t bytes = 0;
};
struct Listing {
  std::vector<Object> objects;
  std::string next;  // where it goes on; "": it is over
};
// Of the answer to a list of `prefix`; a name that leads out of it, or that no file may have, is left out.
// kDataLoss: it is no such answer.
base::Result<Listing> ListingOf(const std::string& body, const std::string& prefix);

// **Thread:** one at a time.
class Bucket {
 public:
  explicit Bucket(Address address) : address_(std::move(address)) {}

  // "s3://lake/a at https://s3.example"
  std::string name() const;
  // Whole or not at all. True: it was not there before. Tries again while the store is busy, 5 times.
  base::Result<bool> Put(const std::string& object, const std::string& path);
  // All objects whose names begin with that, sorted.
  base::Result<std::vector<Object>> List(const std::string& beginning);
  // `path` is made anew.
  base::Status Get(const std::string& object, const std::string& path);

 private:
  Request RequestFor(const std::string& method, const std::string& object) const;
  base::Result<Answer> Ask(Request request, int body, uint64_t body_bytes, int into);
  base::Status Failed(const std::string& what, const Answer& answer) const;

  const Address address_;
  Connection connection_;
};

}  // namespace profd::lake::s3
