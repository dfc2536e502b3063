// A YAML map that knows its keys.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace profd::sim {

// Thrown while a configuration is read, and caught there: yaml-cpp reports its own errors the same way.
struct ConfigError : std::runtime_error {
  ConfigError(const YAML::Node& at, const std::string& message)
      : std::runtime_error(message), line(at.Mark().line + 1) {}
  int line;
};

// A map whose keys must all be known.
class Map {
 public:
  Map(const YAML::Node& node, std::string what) : node_(node), what_(std::move(what)) {
    if (!node.IsMap()) throw ConfigError(node, what_ + " must be a map");
  }

  // Undefined when absent.
  YAML::Node Get(const char* key) {
    known_.emplace_back(key);
    return node_[key];
  }
  template <typename T>
  void Read(const char* key, T& into) {
    if (const YAML::Node value = Get(key)) into = As<T>(value, key);
  }
  template <typename T>
  void Read(const char* key, std::optional<T>& into) {
    if (const YAML::Node value = Get(key)) into = As<T>(value, key);
  }
  template <typename T>
  void ReadBetween(const char* key, T& into, T least, T most) {
    Read(key, into);
    if (!(into >= least && into <= most)) {
      throw ConfigError(node_[key], std::string(key) + " must be between " + std::to_string(least) + " and " +
                                        std::to_string(most));
    }
  }
  void RefuseOthers() const {
    for (const auto& entry : node_) {
      const auto key = entry.first.as<std::string>();
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        throw ConfigError(entry.first, "unknown key '" + key + "' in " + what_);
      }
    }
  }
  template <typename T>
  static T As(const YAML::Node& value, const std::string& key) {
    try {
      return value.as<T>();
    } catch (const YAML::Exception&) {
      throw ConfigError(value, key + " has a wrong value");
    }
  }

 private:
  YAML::Node node_;
  std::string what_;
  std::vector<std::string> known_;
};

}  // namespace profd::sim
