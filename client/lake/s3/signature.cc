#include "client/lake/s3/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "client/words/ascii.h"

namespace profd::lake::s3 {
namespace {

std::string Hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

std::string Encoded(std::string_view text, bool slashes_stay) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsPlain(c) || (slashes_stay && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::string QueryOf(const Request& request) {
  std::string query;
  for (const auto& [name, value] : request.query)
    query += (query.empty() ? "" : "&") + Encoded(name, false) + "=" + Encoded(value, false);
  return query;
}

std::string Sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  return client::Hex({reinterpret_cast<const char*>(digest), size});
}

std::string Authorization(const Request& request, const Keys& keys, const std::string& region,
                          const std::string& stamp) {
  std::string headers, names;
  for (const auto& [name, value] : request.headers) {
    headers += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string day = stamp.substr(0, stamp.find('T'));
  const std::string scope = day + "/" + region + "/s3/aws4_request";
  const std::string canonical = request.method + "\n" + request.path + "\n" + QueryOf(request) + "\n" +
                                headers + "\n" + names + "\n" + request.body_sha256;
  const std::string text = "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + Sha256(canonical);
  const std::string key = Hmac(Hmac(Hmac(Hmac("AWS4" + keys.secret, day), region), "s3"), "aws4_request");
  return "AWS4-HMAC-SHA256 Credential=" + keys.id + "/" + scope + ",SignedHeaders=" + names +
         ",Signature=" + client::Hex(Hmac(key, text));
}

}  // namespace profd::lake::s3
