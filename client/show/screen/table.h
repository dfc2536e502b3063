// The one writer of tables for people: as wide as the terminal is, coloured on one that understands colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace profd::client {

// How something is shown.
struct Look {
  size_t columns = 0;     // of a line; 0 = as many as it takes
  bool coloured = false;  // by terminal sequences
  bool all = false;       // nothing is folded or left out
};

// Of stdout: COLUMNS, else the terminal's width, else no limit. `all`: no limit either.
Look OwnLook(bool all = false);

enum class Colour : uint8_t { kNone, kGood, kWarn, kBad, kDim, kBold };
std::string Paint(const std::string& text, Colour colour, const Look& look);

// Words on lines of at most `columns` (0 = one line), all but the first behind `indent` blanks; a word that
// is longer stays whole.
std::string Wrapped(std::string_view text, size_t columns, size_t indent = 2);

// Lines of words wrapped, further ones four blanks behind the first; lines of a table (two blanks between
// words) stay as they are.
std::string Fitted(std::string_view text, size_t columns);

// Each line once, in the order of their first; those that come again with how often.
std::vector<std::string> Counted(const std::vector<std::string>& lines);

// "0-3,7"; of at least so many digits each.
std::string RangesText(std::vector<uint32_t> numbers, size_t digits = 1);

// **Thread:** one. A first row of headings, columns as wide as they must be.
class Table {
 public:
  struct Cell {
    Cell(std::string words, Colour c = Colour::kNone)  // NOLINT(google-explicit-constructor)
        : text(std::move(words)), colour(c) {}
    // Sorted by `value`.
    Cell(std::string words, double value, Colour c = Colour::kNone)
        : text(std::move(words)), colour(c), number(value) {}
    std::string text;
    Colour colour;
    std::optional<double> number;
  };
  // `columns`: a heading each. In front of it: ">" aligns the column right, "?" leaves it out where there is
  // no room, "~" breaks its text into lines there.
  explicit Table(const std::vector<std::string>& columns);
  void Add(std::vector<Cell> row);

  // What is asked for by headings (in any case, "-" for "_" and blanks): `filters` "state=running" (the
  // column has this text in it) or "running" (any column); `sort` "size" (numbers: the largest first;
  // "-size" the other way round). Returns where each row that is left was added.
  base::Result<std::vector<size_t>> Choose(const std::string& sort, const std::vector<std::string>& filters);
  // Rows that differ in the first column only, which has numbers, become one, "0-7"; those that `may`.
  void Fold(const std::function<bool(const std::vector<Cell>&)>& may);

  // Columns whose cells are all empty or "-" are left out.
  std::string Text(const Look& look) const;

 private:
  struct Column {
    std::string heading;
    bool right = false, optional = false, wraps = false;
  };
  struct Layout {
    std::vector<size_t> widths;  // 0: it isn't shown
    std::vector<std::string> left_out;
    std::optional<size_t> below;  // column whose text stands under its row
  };
  std::optional<size_t> Find(const std::string& heading) const;
  Layout Fit(const Look& look) const;
  std::vector<std::string> LinesOf(const std::vector<Cell>& row, const Layout& layout,
                                   const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace profd::client
