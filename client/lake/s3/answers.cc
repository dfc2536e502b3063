// What a store's answers mean. They are of a stranger.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "client/lake/s3/bucket.h"
#include "client/words/text.h"

namespace profd::lake::s3 {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kMostOfName = 1024;  // S3's own bound

// What stands between <name> and </name> from `at` on; `at`: behind it. npos: no more.
std::string_view Next(std::string_view xml, std::string_view name, size_t* at) {
  const std::string open = "<" + std::string(name) + ">", close = "</" + std::string(name) + ">";
  const size_t begin = *at >= xml.size() ? xml.npos : xml.find(open, *at);
  const size_t end = begin == xml.npos ? xml.npos : xml.find(close, begin);
  if (end == xml.npos) {
    *at = xml.npos;
    return {};
  }
  *at = end + close.size();
  return xml.substr(begin + open.size(), end - begin - open.size());
}

std::string Plain(std::string_view xml) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string text;
  for (size_t at = 0; at < xml.size();) {
    const auto entity = std::ranges::find_if(
        kEntities, [&](const auto& one) { return xml.substr(at).starts_with(one.first); });
    if (entity != std::end(kEntities)) {
      text += entity->second;
      at += entity->first.size();
    } else {
      text += xml[at++];
    }
  }
  return text;
}

// It becomes the path of a file.
bool IsPath(const std::string& name) {
  if (name.empty() || name.size() > kMostOfName || name.starts_with('/') || name.ends_with('/')) return false;
  if (std::ranges::any_of(
          name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\\' || c == 0x7f; }))
    return false;
  return std::ranges::none_of(std::filesystem::path(name), [](const std::filesystem::path& part) {
    return part.empty() || part.native().starts_with('.') || part.native().size() > 255;
  });
}

}  // namespace

std::string ErrorIn(const std::string& body) {
  size_t at = 0;
  const std::string_view code = Next(body, "Code", &at);
  return code.size() > 100 ? "" : client::OneLine(code);
}

Verdict VerdictOf(long code, std::string_view error) {
  if (code >= 200 && code < 300) return Verdict::kWritten;
  if (code == 412) return Verdict::kWasThere;
  // Of two that write the same at a time, one is told so (409), and finds it there then.
  if (code == 0 || code == 408 || code == 409 || code == 429) return Verdict::kAgain;
  if (code == 400 && error == "RequestTimeout") return Verdict::kAgain;
  if (code == 507 || error == "QuotaExceeded") return Verdict::kFull;
  if (code >= 500) return Verdict::kAgain;
  if (error == "XAmzContentSHA256Mismatch" || error == "BadDigest" || error == "IncompleteBody")
    return Verdict::kDamaged;
  return Verdict::kRefused;
}

int64_t PauseMs(unsigned tries, double dice) {
  constexpr double kMost = 300'000;
  const double pause = std::min(kMost, 1000.0 * static_cast<double>(uint64_t{1} << std::min(tries, 20U)));
  return static_cast<int64_t>(pause * (0.5 + dice));
}

Result<Listing> ListingOf(const std::string& body, const std::string& prefix) {
  if (body.find("<ListBucketResult") == body.npos)
    return Status(Code::kDataLoss,
                  "the store's answer is no list of objects: is AWS_ENDPOINT_URL that of an S3 store?");
  Listing listing;
  for (size_t at = 0; at != std::string::npos;) {
    const std::string_view contents = Next(body, "Contents", &at);
    if (at == std::string::npos) break;
    size_t in = 0;
    Object object{Plain(Next(contents, "Key", &in)), 0};
    in = 0;
    const std::string_view size = Next(contents, "Size", &in);
    const auto read = std::from_chars(size.data(), size.data() + size.size(), object.bytes);
    if (read.ec != std::errc() || !object.name.starts_with(prefix)) continue;
    object.name.erase(0, prefix.size());
    if (IsPath(object.name)) listing.objects.push_back(std::move(object));
  }
  size_t at = 0;
  listing.next = Plain(Next(body, "NextContinuationToken", &at));
  return listing;
}

}  // namespace profd::lake::s3
