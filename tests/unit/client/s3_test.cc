#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "client/lake/s3/bucket.h"

namespace profd::lake::s3 {
namespace {

using base::Code;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr char kStamp[] = "20130524T000000Z", kRegion[] = "us-east-1";
const Keys kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};

// A request of the examples in docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
Request Example(const std::string& method, const std::string& path, const std::string& body = "") {
  Request request;
  request.method = method;
  request.path = Encoded(path, true);
  request.body_sha256 = Sha256(body);
  request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                     {"x-amz-content-sha256", request.body_sha256},
                     {"x-amz-date", kStamp}};
  return request;
}

std::string SignatureOf(const Request& request) {
  const std::string header = Authorization(request, kExample, kRegion, kStamp);
  return header.substr(header.rfind('=') + 1);
}

TEST(S3Signature, IsAmazonsInItsExamples) {
  Request get = Example("GET", "/test.txt");
  get.headers["range"] = "bytes=0-9";
  EXPECT_EQ(Authorization(get, kExample, kRegion, kStamp),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

  Request put = Example("PUT", "/test$file.text", "Welcome to Amazon S3.");
  put.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  put.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  EXPECT_EQ(SignatureOf(put), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");

  Request lifecycle = Example("GET", "/");
  lifecycle.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(lifecycle), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");

  Request list = Example("GET", "/");
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(SignatureOf(list), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3Signature, TextsAreEncodedOnce) {
  EXPECT_EQ(Encoded("day=2026/a b+~", true), "day%3D2026/a%20b%2B~");
  EXPECT_EQ(Encoded("a/b", false), "a%2Fb");
  EXPECT_EQ(Encoded("\xc3\xa4%", true), "%C3%A4%25");
}

class S3Address : public ::testing::Test {
 protected:
  base::Result<Address> Read(const std::string& text) {
    return AddressOf(text, [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
  }
  std::string Why(const std::string& text) {
    const auto read = Read(text);
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << text;
    return read.status().message();
  }
  std::map<std::string, std::string> variables_{{"AWS_ACCESS_KEY_ID", "key"},
                                                {"AWS_SECRET_ACCESS_KEY", "secret"}};
};

TEST_F(S3Address, NamesBucketAndFolder) {
  const auto whole = Read("s3://lake");
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->bucket + "|" + whole->prefix + "|" + whole->endpoint + "|" + whole->region,
            "lake||https://s3.us-east-1.amazonaws.com|us-east-1");
  variables_["AWS_REGION"] = "cn-north-1";
  variables_["AWS_ENDPOINT_URL"] = "https://s3.example:443/";
  const auto part = Read("s3://lake.of-n1/a/b/");
  ASSERT_TRUE(part.ok()) << part.status().message();
  EXPECT_EQ(part->bucket + "|" + part->prefix + "|" + part->endpoint + "|" + part->region,
            "lake.of-n1|a/b/|https://s3.example:443|cn-north-1");
}

TEST_F(S3Address, RefusesWhatIsNone) {
  for (const char* wrong : {"s3://", "s3://a", "s3://Lake", "s3://la ke", "s3://lake/../b", "s3://lake/a//b",
                            "s3://lake/a\nb", "s3:/lake"})
    EXPECT_THAT(Why(wrong), HasSubstr("expected s3://BUCKET"));
  for (const char* wrong :
       {"s3.example", "http://s3.example", "http://127.0.0.1.example", "https://s3.example/path",
        "https://user@s3.example", "ftp://s3.example", "https://"}) {
    variables_["AWS_ENDPOINT_URL"] = wrong;
    EXPECT_THAT(Why("s3://lake"), HasSubstr("AWS_ENDPOINT_URL")) << wrong;
  }
  for (const char* right : {"http://127.0.0.1:7480", "http://[::1]:7480", "https://10.0.0.7"}) {
    variables_["AWS_ENDPOINT_URL"] = right;
    EXPECT_TRUE(Read("s3://lake").ok()) << right;
  }
}

TEST_F(S3Address, TakesKeysFromAFile) {
  const std::string path = ::testing::TempDir() + "s3_keys_" + std::to_string(::getpid());
  variables_ = {{"AWS_SHARED_CREDENTIALS_FILE", path}};
  EXPECT_THAT(Why("s3://lake"), AllOf(HasSubstr("no keys"), HasSubstr(path)));
  std::ofstream(path) << "[other]\naws_access_key_id = o\naws_secret_access_key = p\n# not this\n[default]\n"
                         "aws_access_key_id=k\r\n aws_secret_access_key = s/+=\naws_session_token = t\n";
  auto read = Read("s3://lake");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->keys.id + "|" + read->keys.secret + "|" + read->keys.token, "k|s/+=|t");
  variables_["AWS_PROFILE"] = "other";
  read = Read("s3://lake");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->keys.id + "|" + read->keys.secret + "|" + read->keys.token, "o|p|");
  variables_["AWS_PROFILE"] = "none";
  EXPECT_THAT(Why("s3://lake"), HasSubstr("[none]"));
  variables_ = {{"AWS_ACCESS_KEY_ID", "key\r\nx-amz-acl: public-read"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
  EXPECT_THAT(Why("s3://lake"), HasSubstr("expected two words"));
  ::unlink(path.c_str());
}

TEST(S3Answers, SayWhatToDo) {
  EXPECT_EQ(VerdictOf(200, ""), Verdict::kWritten);
  EXPECT_EQ(VerdictOf(412, "PreconditionFailed"), Verdict::kWasThere);
  for (const long code : {0L, 408L, 409L, 429L, 500L, 502L, 503L, 504L})
    EXPECT_EQ(VerdictOf(code, "SlowDown"), Verdict::kAgain);
  EXPECT_EQ(VerdictOf(400, "RequestTimeout"), Verdict::kAgain);
  EXPECT_EQ(VerdictOf(400, "XAmzContentSHA256Mismatch"), Verdict::kDamaged);
  EXPECT_EQ(VerdictOf(403, "QuotaExceeded"), Verdict::kFull);
  EXPECT_EQ(VerdictOf(507, ""), Verdict::kFull);
  for (const char* error : {"AccessDenied", "SignatureDoesNotMatch", ""})
    EXPECT_EQ(VerdictOf(403, error), Verdict::kRefused);
  EXPECT_EQ(VerdictOf(301, "PermanentRedirect"), Verdict::kRefused);
}

TEST(S3Answers, NameTheirError) {
  EXPECT_EQ(ErrorIn("<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>m</Message></Error>"),
            "NoSuchBucket");
  EXPECT_EQ(ErrorIn("<html>502</html>"), "");
  EXPECT_EQ(ErrorIn("<Code>open"), "");
}

TEST(S3Answers, PausesGrowAndNeverMeet) {
  std::vector<int64_t> pauses;
  for (unsigned tries = 0; tries < 40; ++tries) {
    EXPECT_EQ(PauseMs(tries, 1.0), 3 * PauseMs(tries, 0.0));
    pauses.push_back(PauseMs(tries, 0.5));
  }
  EXPECT_EQ(pauses.front(), 1000);
  EXPECT_EQ(pauses.at(3), 8000);
  EXPECT_THAT(pauses, Each(AllOf(Ge(1000), Le(300'000))));
  EXPECT_EQ(pauses.back(), 300'000);
}

TEST(S3Answers, ListsHoldPathsOfFilesAlone) {
  const auto list = [](const std::string& key) {
    return "<Contents><Key>" + key + "</Key><Size>7</Size></Contents>";
  };
  const auto listing = ListingOf(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
          list("lake/hot/v1/steps/a&amp;b.parquet") + list("lake/../../etc/passwd") +
          list("other/hot/v1/x.parquet") + list("lake//etc/x") + list("lake/") + list("lake/hot/.x") +
          list("lake/a\nb") + "<Contents><Key>lake/c</Key><Size>x</Size></Contents>" +
          "<NextContinuationToken>a&lt;b</NextContinuationToken></ListBucketResult>",
      "lake/");
  ASSERT_TRUE(listing.ok());
  ASSERT_EQ(listing->objects.size(), 1U);
  EXPECT_EQ(listing->objects[0].name, "hot/v1/steps/a&b.parquet");
  EXPECT_EQ(listing->objects[0].bytes, 7U);
  EXPECT_EQ(listing->next, "a<b");
  EXPECT_EQ(ListingOf("<html>welcome</html>", "").status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace profd::lake::s3
