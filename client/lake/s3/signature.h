// Signature Version 4 of Amazon's services, in the Authorization header. Source:
// docs.aws.amazon.com/AmazonS3/ latest/API/sig-v4-header-based-auth.html, whose examples are the test. Ours,
// as libcurl has it from 7.75 on only: Ubuntu 20.04 and Debian 11 have older ones.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace profd::lake::s3 {

struct Keys {
  std::string id, secret;
  std::string token;  // of keys that end; may be empty
};

struct Request {
  std::string method, path;                    // the path as it is sent: Encoded()
  std::map<std::string, std::string> query;    // as they are
  std::map<std::string, std::string> headers;  // small letters; `host` among them
  std::string body_sha256;                     // 64 digits
};

// "a b/c" → "a%20b/c"; without `slashes_stay` "a%20b%2Fc".
std::string Encoded(std::string_view text, bool slashes_stay);
// "max-keys=2&prefix=J", in the order of the names.
std::string QueryOf(const Request& request);
// 64 digits.
std::string Sha256(std::string_view bytes);

// Signs all headers of the request. `stamp`: "20130524T000000Z".
std::string Authorization(const Request& request, const Keys& keys, const std::string& region,
                          const std::string& stamp);

}  // namespace profd::lake::s3
