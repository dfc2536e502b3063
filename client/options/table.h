// Every option of the vendor's msprof: what it takes, on which chips, with and against which others, and what
// becomes of it here. Data; everything that speaks of an option asks this table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/chip.h"

namespace profd::options {

// Sets of chips, one for each family: 910B includes A3, 950 the 910_96.
using Chips = format::ChipSet;
using format::Chip;
inline constexpr Chips k310 = format::Only({Chip::k310}), k910 = format::Only({Chip::k910}),
                       k310P = format::Only({Chip::k310P}), k910B = format::Only({Chip::k910B}),
                       k310B = format::Only({Chip::k310B}), k950 = format::Only({Chip::k950}), kNoChip = {};
inline constexpr Chips kEveryChip = format::ChipsWith(
    [](const format::ChipTraits& traits) { return traits.chip == traits.family && !traits.name.empty(); });

// "310 910B"
std::string ChipNames(Chips chips);
// By the driver's name: "910B3", "Ascend310P3". None for a chip that is none of these.
Chips ChipOf(std::string_view name);

// One after the other. `each`: (Chips of one) → void.
template <typename Each>
void ForEachChip(Chips chips, const Each& each) {
  for (const format::ChipTraits& traits : format::kChips) {
    if (chips.Has(traits.chip)) each(format::Only({traits.chip}));
  }
}

enum class Shape : uint8_t {
  kSwitch,     // on or off
  kWord,       // one of the words; one that ends in ':' has more behind it
  kWords,      // some of the words, with commas
  kNumber,     // a whole number within the range
  kMegabytes,  // such a number with MB behind it
  kPath,
  kText,
};

// What an option takes; it may differ by chip.
struct Values {
  Chips chips = kEveryChip;
  std::string_view words = {};  // "read write"
  uint64_t min = 0, max = 0;
  std::string_view preset = {};  // the vendor's value where none is given; "" = none
  std::string_view alone = {};   // the same without a program, where that is another one
  uint64_t once_max = 0;         // an earlier msprof's limit: taken, and brought down to `max`
};

// What an option becomes.
enum class Becomes : uint8_t {
  kNothing,
  kKinds,      // `what`: the kinds it turns on
  kWordKinds,  // `what`: "cpu:host-cpu mem:host-mem", the kinds of each word; without a word: of all words
  kRate,       // `what`: the option whose kinds get this rate
  kMode,       // `what`: the kind that gets this mode
  kKindMode,   // `what`: the kind it turns on, in the mode that it names
  kModePart,   // `what`: the kind it turns on, with a part of its mode by word, `before`: "all:blocks"
  kTwins,      // `what`: "aicore:aicore-task …", the kinds that stand for others where it says task-based;
               // `before`: what comes with them where a program is run
  kSession,    // `what`: the option of profctl start that says the same
  kProgram,    // of the program that profctl msprof runs or attaches to
  kResults,    // `what`: the verb, or the option of profctl export
};

enum class Standing : uint8_t {
  kDone,
  kDifferent,   // does it, and differs: `because`
  kMissing,     // profd has no such data (yet): `because`
  kImpossible,  // and cannot have it: `because`
};

// A part of what an option asks for with one of these words is not collected.
struct LeftOut {
  std::string_view words;
  bool by_mspti;  // only where MSPTI tells of kernels
  std::string_view because;
  bool of_msprof = false;         // only where the whole line is msprof's
  std::string_view told_by = {};  // "hccl=on": not where this is given, which says the same
};

struct Option {
  std::string_view name;
  std::string_view rows;  // of the list of what msprof can do: "F-054 F-055"
  std::string_view about;
  Shape shape = Shape::kText;
  std::span<const Values> values = {};  // of a chip the first that names it
  Chips chips = kEveryChip;
  std::string_view old_name = {};
  std::string_view needs = {};     // all of these: "sys-hardware-mem=on", "output"; kProcess
  std::string_view excludes = {};  // none of these
  Becomes becomes = Becomes::kNothing;
  std::string_view what = {};
  std::string_view before = {};  // kMode: stands in front of the value; kModePart
  Standing standing = Standing::kDone;
  std::string_view because = {};
  std::string_view served = {};  // of the words: with these it is as the vendor's, with others not at all
  std::span<const LeftOut> left_out = {};
};

// In `needs` and `excludes`: a process is named, by any of the options that do.
inline constexpr std::string_view kProcess = "process";
// Among what is given: the whole line is msprof's, so what is on there by itself is on.
inline constexpr std::string_view kWholeLine = "msprof";
// Among what is given: MSPTI receives what CANN reports in the process, so profd can't.
inline constexpr std::string_view kByMspti = "mspti";

std::span<const Option> Table();
const Option* Find(std::string_view name);  // also by its old name
// As getopt_long does: the name, or a beginning that only one option has. nullptr with `several` filled where
// more have it.
const Option* FindByPrefix(std::string_view beginning, std::string* several);
// What `option` takes on a chip. Every chip has an answer.
const Values& ValuesOn(const Option& option, Chips chip);
// "on" and whatever is not "off": the option asks for something.
bool IsOn(std::string_view value);
// Whether profctl start takes it beside its own words.
bool IsForStart(const Option& option);

// What msprof has and does besides its options, by rows of the same list.
struct Feature {
  std::string_view row;
  std::string_view about;
  Standing standing = Standing::kDone;
  std::string_view how;  // … it is had here, or why not
};
std::span<const Feature> Features();

// The words of a list in the table.
template <typename Each>
void ForEachWord(std::string_view list, const Each& each, char separator = ' ') {
  while (!list.empty()) {
    const size_t end = list.find(separator);
    if (end != 0) each(list.substr(0, end));
    if (end == std::string_view::npos) return;
    list.remove_prefix(end + 1);
  }
}

}  // namespace profd::options
