// Collectives and what they carried, as `msprof --analyze` names it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace profd::client::framework {

using Json = nlohmann::ordered_json;

inline constexpr char kTransitTime[] = "Transit Time(ms)", kTransitSize[] = "Transit Size(MB)",
                      kBandwidthRate[] = "Bandwidth(GB/s)", kTransportType[] = "Transport Type",
                      kOpName[] = "Op Name";

// null: there is none.
const Json& MemberOf(const Json& object, const char* key);
// 0: it is none.
double NumberOf(const Json& value);
// Sums of whole numbers stay whole.
void AddTo(Json& sum, const Json& value);
// Rounded to four digits; of nothing 0.
Json Ratio(double part, double whole);

// Stamps of collectives are floating-point µs since 1970, a quarter of a µs apart.
inline constexpr int64_t kStampSlackNs = 500;

enum class Class : uint8_t { kPair, kCollective, kNone };
Class ClassOf(const std::string& operation);

// By type, group and link: the fastest operations, those in the middle, the slowest, and all of them.
Json MatrixOf(const std::vector<std::pair<std::string, const Json*>>& operations);

}  // namespace profd::client::framework
