// What people read: aligned tables with units, coloured only on a terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profd/v1/control.pb.h"
#include "profd/v1/metrics.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

enum class Colour : uint8_t { kNone, kGood, kWarn, kBad, kDim, kBold };

// **Thread:** one. A first row of headings, columns as wide as they must be.
class Table {
 public:
  struct Cell {
    Cell(std::string words, Colour c = Colour::kNone)  // NOLINT(google-explicit-constructor)
        : text(std::move(words)), colour(c) {}
    std::string text;
    Colour colour;
  };
  // `columns`: a heading each; ">" in front aligns the column right.
  explicit Table(const std::vector<std::string>& columns);
  void Add(std::vector<Cell> row);
  // Columns whose cells are all empty are left out.
  std::string Text(bool coloured) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<Cell>> rows_;
};

// stdout is a terminal that understands colours, and NO_COLOR isn't set.
bool ColouredOutput();

// Names as JSON and people have them.
const char* StateName(v1::SessionState state);
const char* EndReasonName(v1::EndReason reason);  // "" when not ended
const char* VerdictName(v1::Verdict verdict);
const char* OutcomeName(v1::Outcome outcome);
std::string HealthName(const v1::Device& device);

// A session with its kinds; the directory comes last. `with_data`: bytes, rate and losses too.
std::string RenderSession(const v1::SessionInfo& info, bool with_data, bool coloured);
// "s-17  running  3.2 s  1.2 MB  120.0 kB/s  lost 0"
std::string RenderProgress(const v1::SessionInfo& info);
std::string RenderList(const std::vector<v1::SessionInfo>& sessions, bool coloured);
std::string RenderDevices(const v1::DevicesReply& reply, bool coloured);
std::map<std::string, std::string> SortedLabels(const v1::Target& target);
std::string RenderTargets(const v1::TargetsReply& reply, bool coloured);
std::string RenderLeases(const std::vector<v1::Lease>& leases, bool coloured);
std::string RenderLive(const v1::LiveValues& values, bool coloured);
std::string RenderChecks(const std::vector<v1::Check>& checks, bool coloured);

}  // namespace profd::client
