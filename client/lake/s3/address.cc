#include <algorithm>
#include <filesystem>
#include <map>

#include "base/files/whole_file.h"
#include "base/host_port.h"
#include "client/lake/s3/bucket.h"
#include "client/words/text.h"

namespace profd::lake::s3 {
namespace {

using base::Code;
using base::Result;
using base::Status;

Status Wrong(const std::string& text) { return {Code::kInvalidArgument, text}; }

// Without blanks around it.
std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == text.npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

// What `[profile]` of a file of keys says.
std::map<std::string, std::string> ProfileIn(const std::string& text, const std::string& profile) {
  std::map<std::string, std::string> settings;
  bool is_ours = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = Trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (line.starts_with('[')) {
      is_ours = line == "[" + profile + "]";
    } else if (const size_t is = line.find('='); is_ours && is != line.npos && !line.starts_with('#')) {
      settings[Trimmed(std::string_view(line).substr(0, is))] =
          Trimmed(std::string_view(line).substr(is + 1));
    }
  }
  return settings;
}

// They go into a header and a path.
bool IsWord(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

using Variable = std::function<std::string(const char*)>;

Result<Keys> KeysOf(const Variable& variable) {
  Keys keys{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN")};
  std::string from = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  if (keys.id.empty() && keys.secret.empty()) {
    std::string path = variable("AWS_SHARED_CREDENTIALS_FILE");
    if (path.empty()) path = variable("HOME") + "/.aws/credentials";
    std::string profile = variable("AWS_PROFILE");
    if (profile.empty()) profile = "default";
    const auto text = base::ReadWhole(path);
    if (!text.ok())
      return Wrong(
          "no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into a file that "
          "AWS_SHARED_CREDENTIALS_FILE names (" +
          text.status().message() + ")");
    auto settings = ProfileIn(*text, profile);
    keys = {settings["aws_access_key_id"], settings["aws_secret_access_key"], settings["aws_session_token"]};
    from = "aws_access_key_id and aws_secret_access_key of [" + profile + "] in " + client::OneLine(path);
  }
  if (!IsWord(keys.id) || !IsWord(keys.secret) || !(keys.token.empty() || IsWord(keys.token)))
    return Wrong(from + ": expected two words, the key's name and the secret");
  return keys;
}

// A bucket's name is a part of paths: digits, small letters, - and .
bool IsBucket(const std::string& name) {
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

// Keys and rows go unprotected through http.
Status CheckEndpoint(const std::string& endpoint) {
  const bool is_plain = endpoint.starts_with("http://");
  const std::string wrong = "AWS_ENDPOINT_URL=" + client::Excerpt(endpoint) + ": expected ";
  if ((!is_plain && !endpoint.starts_with("https://")) || !IsWord(endpoint) ||
      endpoint.find_first_of("?#@") != endpoint.npos)
    return Wrong(wrong + "https://HOST[:PORT]");
  std::string host = endpoint.substr(endpoint.find("//") + 2);
  if (host.empty() || host.find('/') != host.npos) return Wrong(wrong + "https://HOST[:PORT] without a path");
  if (!is_plain) return {};
  if (const size_t port = host.rfind(':'); port != host.npos && host.back() != ']') host.resize(port);
  std::erase_if(host, [](char c) { return c == '[' || c == ']'; });
  return base::IsLoopback(host)
             ? Status()
             : Wrong(wrong + "https://, as keys and rows would go unprotected; http:// is for 127.0.0.1");
}

}  // namespace

Result<Address> AddressOf(const std::string& text, const std::function<const char*(const char*)>& variables) {
  const Variable variable = [&variables](const char* name) {
    const char* const value = variables(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string place = text.substr(std::min(kScheme.size(), text.size()));
  const size_t slash = std::min(place.find('/'), place.size());
  Address address;
  address.bucket = place.substr(0, slash);
  address.prefix = place.substr(std::min(slash + 1, place.size()));
  while (address.prefix.ends_with('/')) address.prefix.pop_back();
  const auto parts = std::filesystem::path(address.prefix);
  const bool leads_out =
      address.prefix.find("//") != std::string::npos || std::ranges::any_of(parts, [](const auto& part) {
        return part == ".." || part == "." || part.empty();
      });
  if (!text.starts_with(kScheme) || !IsBucket(address.bucket) || leads_out ||
      (!address.prefix.empty() && !IsWord(address.prefix)))
    return Wrong("'" + client::Excerpt(text) + "': expected s3://BUCKET or s3://BUCKET/FOLDER");
  if (!address.prefix.empty()) address.prefix += '/';

  address.region = variable("AWS_REGION");
  if (address.region.empty()) address.region = variable("AWS_DEFAULT_REGION");
  if (address.region.empty()) address.region = "us-east-1";
  if (!IsWord(address.region) || address.region.find('/') != address.region.npos)
    return Wrong("AWS_REGION: expected one word");
  address.endpoint = variable("AWS_ENDPOINT_URL_S3");
  if (address.endpoint.empty()) address.endpoint = variable("AWS_ENDPOINT_URL");
  if (address.endpoint.empty()) address.endpoint = "https://s3." + address.region + ".amazonaws.com";
  while (address.endpoint.ends_with('/')) address.endpoint.pop_back();
  PROFD_RETURN_IF_ERROR(CheckEndpoint(address.endpoint));
  address.authority = variable("AWS_CA_BUNDLE");
  PROFD_ASSIGN_OR_RETURN(address.keys, KeysOf(variable));
  return address;
}

}  // namespace profd::lake::s3
