#include "base/host_port.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::base {
namespace {

TEST(HostPortTest, NamesAndAddresses) {
  for (const char* text : {"node7:9478", "node-7.rack_2.example:1", "10.0.0.7:65535", "0.0.0.0:0",
                           "[::1]:9478", "[fe80::1%eth0]:80", "[::ffff:10.0.0.1]:443"}) {
    const auto parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(ToText(*parsed), text);
  }
  const auto parsed = ParseHostPort("[::1]:9478");
  EXPECT_EQ(parsed->host, "::1");
  EXPECT_EQ(parsed->port, 9478);
}

TEST(HostPortTest, WhatIsNeitherIsNamed) {
  for (const char* text :
       {"",         ":",         "node",      "node:",         ":80",      "node:x",
        "node:80x", "node:-1",   "node:+1",   "node:65536",    "node: 80", "node:99999999999",
        "::1:80",   "[::1]",     "[::1]80",   "[node]:80",     "[]:80",    "[:80",
        "a b:80",   "node\n:80", "u@node:80", "http://node:80"}) {
    const auto parsed = ParseHostPort(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.status().message().find("HOST:PORT"), std::string::npos);
    EXPECT_EQ(parsed.status().message().find('\n'), std::string::npos);
  }
  EXPECT_LT(ParseHostPort(std::string(100'000, 'x')).status().message().size(), 400U);
  EXPECT_FALSE(ParseHostPort(std::string(254, 'x') + ":80").ok());
  EXPECT_FALSE(ParseHostPort(std::string("node\0:80", 8)).ok());
}

TEST(HostPortTest, Loopback) {
  for (const char* host : {"127.0.0.1", "127.8.9.10", "::1"}) EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"128.0.0.1", "0.0.0.0", "::", "::2", "localhost", "127.1", ""}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace profd::base
