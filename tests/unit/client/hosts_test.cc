// Which nodes are meant, and one answer out of what they say.
#include "client/fleet/hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/fleet/fleet.h"
#include "client/words/output.h"

namespace profd::client {
namespace {

std::vector<std::string> Expanded(const std::string& text) {
  const Registry none = [](const std::string&) { return base::Status(base::Code::kUnavailable, "none"); };
  const auto hosts = ExpandHosts(text, none);
  EXPECT_TRUE(hosts.ok()) << hosts.status().message();
  return hosts.ok() ? *hosts : std::vector<std::string>();
}

TEST(HostsTest, FoldsToWhatItCameFrom) {
  for (const char* text : {"n1:9478", "n[001-003,007]:9478", "r1n[01-16]:9478", "a:9478,b:9478,gpu-[8-9]-x:1",
                           "10.0.0.1:9478,10.0.0.2:9478", "n[9-10]:9478", "n[098-102]:9478"}) {
    const std::vector<std::string> hosts = Expanded(text);
    EXPECT_EQ(Expanded(FoldHosts(hosts)), hosts) << text << " → " << FoldHosts(hosts);
  }
  EXPECT_EQ(FoldHosts(Expanded("n[001-512]:1")), "n[001-512]:1");
  EXPECT_EQ(FoldHosts(Expanded("n[1-3,5]:1")), "n[1-3,5]:1");
  EXPECT_EQ(FoldHosts({}), "");
  EXPECT_EQ(FoldHosts({"[::1]:9478", "[::2]:9478"}), "[::1]:9478,[::2]:9478");
  EXPECT_EQ(FoldHosts({"n12345678901234567890"}), "n12345678901234567890");
}

std::string Reported(const std::vector<Answer>& answers) {
  Transcript transcript;
  Context context;
  context.output = &transcript;
  EXPECT_EQ(ReportAnswers(context, answers), ExitCode::kOk);
  return transcript.out();
}

Answer Said(const std::string& host, const std::string& out) {
  Answer answer;
  answer.host = host;
  answer.code = ExitCode::kOk;
  answer.out = out;
  return answer;
}

TEST(AnswersTest, EqualOnesAreShownOnce) {
  EXPECT_EQ(Reported({Said("n1", "DEVICE  CHIP\n0  910B\n1  910B\n"),
                      Said("n2", "DEVICE  CHIP\n0  910B\n1  910B\n"),
                      Said("n3", "DEVICE  CHIP\n0  910B\n1  910B\n")}),
            "HOST    DEVICE  CHIP\n"
            "n[1-3]  0  910B\n"
            "n[1-3]  1  910B\n");
}

TEST(AnswersTest, OfTheOthersWhatDiffers) {
  const std::string usual = "DEVICE  CHIP\n0  910B\n1  910B\n2  910B\n3  910B\n";
  EXPECT_EQ(Reported({Said("n1", usual), Said("n2", "DEVICE  CHIP\n0  910B\n1  310P\n2  910B\n3  910B\n"),
                      Said("n3", usual), Said("n4", "DEVICE  CHIP\n0  310\n")}),
            "HOST    DEVICE  CHIP\n"
            "n[1,3]  0  910B\n"
            "n[1,3]  1  910B\n"
            "n[1,3]  2  910B\n"
            "n[1,3]  3  910B\n"
            "n2      1  310P\n"
            "n2      not, as n1: 1  910B\n"
            "n2      (3 lines as n1)\n"
            "n4      0  310\n");
}

}  // namespace
}  // namespace profd::client
