// A root folder with files of /proc and /sys that a test plants.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/host/files/sys_tree.h"

namespace profd {

class PlantedTree {
 public:
  PlantedTree() : root_(testing::TempDir() + "treeXXXXXX") { EXPECT_NE(::mkdtemp(root_.data()), nullptr); }
  ~PlantedTree() { std::filesystem::remove_all(root_); }
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;

  void Plant(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void Remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }
  host::SysTree tree() const { return host::SysTree(root_); }

 private:
  std::string root_;
};

// What no reader of a tree may stumble over.
inline const std::string kOddTexts[] = {
    "",
    "\n",
    " ",
    std::string(3, '\0'),
    std::string(200'000, '\n'),
    std::string(200'000, '7'),
    "99999999999999999999999999",
    "-1",
    "nr_throttled",
    "nr_throttled \nthrottled_usec x",
    "nr_throttled 18446744073709551615\nthrottled_usec 18446744073709551615",
    "max max max",
    "0::",
    "0::/",
    ":::",
    "4:cpu,memory:/..",
    "4:cpu:" + std::string(100'000, '/'),
    "0::/a\n1:cpu:relative\n2:cpu,memory,blkio,pids:/b",
    "\xff\xfe\x80 \x01 3",
    "lo: 1 2 3\n: 4\nx:\n" + std::string(5000, ':')};

}  // namespace profd
