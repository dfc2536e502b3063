#include "client/node/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace profd::client {
namespace {

using base::Code;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ContainerTest : public ::testing::Test {
 protected:
  ContainerTest() {
    std::string path = std::filesystem::temp_directory_path() / "profd-proc-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    proc_ = path;
    Add(1, "0::/init.scope", "1");
    Add(100, "0::/system.slice/docker-" + kId + ".scope", "100\t1");
    Add(101, "0::/system.slice/docker-" + kId + ".scope", "101\t2");
    Add(200, "12:cpu:/kubepods/pod1/" + kOther + "\n0::/", "200\t2");
    std::filesystem::create_directory(proc_ / "self");
  }
  ~ContainerTest() override { std::filesystem::remove_all(proc_); }
  void Add(int pid, const std::string& cgroups, const std::string& ns_pids) {
    const auto folder = proc_ / std::to_string(pid);
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "cgroup") << cgroups << "\n";
    std::ofstream(folder / "status") << "Name:\tx\nNSpid:\t" << ns_pids << "\nThreads:\t1\n";
  }
  base::Result<std::vector<int32_t>> Find(const std::string& container, const std::vector<int32_t>& inside) {
    return PidsOfContainer(proc_, container, inside);
  }

  const std::string kId = "3f2a91c04ab7" + std::string(52, '0');
  const std::string kOther = "3f2a91c0ffff" + std::string(52, '0');
  std::filesystem::path proc_;
};

TEST_F(ContainerTest, PidsInsideAreThoseOfItsOwnProcesses) {
  EXPECT_THAT(Find(kId, {2, 1}).value(), ElementsAre(101, 100));
  EXPECT_THAT(Find("3f2a91c04ab7", {2}).value(), ElementsAre(101));
  EXPECT_THAT(Find("3f2a91c0ff", {2}).value(), ElementsAre(200));
}

TEST_F(ContainerTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(Find("ffffffff", {1}).status().code(), Code::kNotFound);
  EXPECT_THAT(Find(kId, {1, 7}).status().message(), HasSubstr("has no process 7"));
  EXPECT_THAT(Find("3f2a91c0", {2}).status().message(), HasSubstr("begin of 2 ids"));
  EXPECT_EQ(Find("3f2a", {1}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Find("../../../", {1}).status().code(), Code::kInvalidArgument);
  // An id begins where it begins.
  EXPECT_EQ(Find("f2a91c04ab7", {1}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace profd::client
