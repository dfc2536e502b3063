#include "client/show/screen/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/wrap.h"
#include "client/words/alike.h"
#include "client/words/ascii.h"
#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr size_t kBetween = 2;       // columns between two
constexpr size_t kLeastBroken = 28;  // a narrower column of broken text reads badly
constexpr size_t kLeastCut = 8;      // of a text that is cut off
constexpr size_t kBelow = 4;         // blanks in front of what stands under its row

const char* Sequence(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return "";
    case Colour::kGood:
      return "\033[32m";
    case Colour::kWarn:
      return "\033[33m";
    case Colour::kBad:
      return "\033[31m";
    case Colour::kDim:
      return "\033[2m";
    case Colour::kBold:
      return "\033[1m";
  }
  return "";
}

bool SpeaksColours() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

bool IsEmpty(const std::string& text) { return text.empty() || text == "-"; }

// The first so many characters.
std::string Cut(const std::string& text, size_t columns) {
  if (Width(text) <= columns) return text;
  size_t end = 0;
  for (size_t width = 0; width < columns; ++width) {  // one for the "…"
    const size_t begin = end++;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    if (width + 1 == columns) end = begin;
  }
  return text.substr(0, end) + "…";
}

// "HELD BY" on a command line: held-by.
std::string Named(std::string_view heading) {
  std::string name = Lower(heading);
  for (char& c : name) c = c == ' ' || c == '_' ? '-' : c;
  return name;
}

}  // namespace

Look OwnLook(bool all) {
  return {.columns = all ? 0 : base::OwnColumns(), .coloured = SpeaksColours(), .all = all};
}

std::string Paint(const std::string& text, Colour colour, const Look& look) {
  const bool plain = !look.coloured || colour == Colour::kNone || text.empty();
  return plain ? text : Sequence(colour) + text + "\033[0m";
}

std::string Wrapped(std::string_view text, size_t columns, size_t indent) {
  if (columns <= indent) return std::string(text);
  // The first has no blanks in front of it, so it may be longer.
  std::string wrapped = base::Broken(text, columns).front();
  if (wrapped.size() >= text.size()) return wrapped;
  for (const std::string& line : base::Broken(text.substr(wrapped.size() + 1), columns - indent))
    wrapped += "\n" + std::string(indent, ' ') + line;
  return wrapped;
}

std::string Fitted(std::string_view text, size_t columns) {
  constexpr size_t kFurther = 4;
  std::string fitted;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool is_row = line.substr(begin).find("  ") != std::string_view::npos;
    fitted += (is_row ? std::string(line) : Wrapped(line, columns, begin + kFurther)) + "\n";
    at = end + 1;
  }
  return fitted;
}

std::vector<std::string> Counted(const std::vector<std::string>& lines) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const std::string& line : lines) {
    const auto known =
        std::ranges::find_if(counts, [&line](const auto& of) { return Merged(of.first, line).has_value(); });
    if (known == counts.end()) {
      counts.emplace_back(line, 1);
    } else {
      known->first = *Merged(known->first, line);
      ++known->second;
    }
  }
  std::vector<std::string> once;
  once.reserve(counts.size());
  for (const auto& [line, count] : counts)
    once.push_back(count == 1 ? line : line + " (" + std::to_string(count) + " times)");
  return once;
}

std::string RangesText(std::vector<uint32_t> numbers, size_t digits) {
  const auto padded = [digits](uint32_t number) {
    const std::string text = std::to_string(number);
    return std::string(digits - std::min(digits, text.size()), '0') + text;
  };
  std::ranges::sort(numbers);
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] <= numbers[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + padded(numbers[i]);
    if (numbers[end] > numbers[i])
      text += (numbers[end] == numbers[i] + 1 ? "," : "-") + padded(numbers[end]);
    i = end + 1;
  }
  return text;
}

Table::Table(const std::vector<std::string>& columns) {
  for (const std::string& given : columns) {
    Column& column = columns_.emplace_back();
    size_t at = 0;
    for (; at < given.size() && std::strchr(">?~", given[at]) != nullptr; ++at) {
      (given[at] == '>' ? column.right : given[at] == '?' ? column.optional : column.wraps) = true;
    }
    column.heading = given.substr(at);
  }
}

void Table::Add(std::vector<Cell> row) {
  PROFD_CHECK(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::optional<size_t> Table::Find(const std::string& heading) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (Named(columns_[i].heading) == Named(heading)) return i;
  }
  return {};
}

Result<std::vector<size_t>> Table::Choose(const std::string& sort, const std::vector<std::string>& filters) {
  std::string names;
  for (const Column& column : columns_) names += (names.empty() ? "" : ", ") + Named(column.heading);
  const auto unknown = [&names](const std::string& option, const std::string& given) {
    return Status(Code::kInvalidArgument,
                  option + " '" + Excerpt(given) + "': there is no such column; there are " + names);
  };
  std::vector<size_t> left(rows_.size());
  std::iota(left.begin(), left.end(), size_t{0});
  for (const std::string& filter : filters) {
    const size_t equals = filter.find('=');
    const std::string wanted = Lower(filter.substr(equals == filter.npos ? 0 : equals + 1));
    std::optional<size_t> column;
    if (equals != filter.npos && !(column = Find(filter.substr(0, equals))))
      return unknown("--filter", filter);
    std::erase_if(left, [&](size_t row) {
      const auto has = [&](const Cell& cell) { return Lower(cell.text).find(wanted) != std::string::npos; };
      return column ? !has(rows_[row][*column]) : std::ranges::none_of(rows_[row], has);
    });
  }
  if (!sort.empty()) {
    const bool reversed = sort.starts_with('-');
    const auto column = Find(sort.substr(reversed ? 1 : 0));
    if (!column) return unknown("--sort", sort);
    const auto before = [&](size_t one, size_t other) {
      const Cell &a = rows_[one][*column], &b = rows_[other][*column];
      if (a.number && b.number) return *a.number > *b.number;
      return a.text < b.text;
    };
    std::ranges::stable_sort(
        left, [&](size_t one, size_t other) { return reversed ? before(other, one) : before(one, other); });
  }
  std::vector<std::vector<Cell>> rows;
  rows.reserve(left.size());
  for (const size_t row : left) rows.push_back(std::move(rows_[row]));
  rows_ = std::move(rows);
  return left;
}

void Table::Fold(const std::function<bool(const std::vector<Cell>&)>& may) {
  struct Folded {
    std::vector<Cell> row;
    std::vector<uint32_t> numbers;
    bool may;
  };
  std::vector<Folded> folded;
  for (std::vector<Cell>& row : rows_) {
    const auto number = static_cast<uint32_t>(std::strtoul(row.front().text.c_str(), nullptr, 10));
    const auto alike = [&row](const Folded& other) {
      return other.may && std::equal(row.begin() + 1, row.end(), other.row.begin() + 1, other.row.end(),
                                     [](const Cell& a, const Cell& b) { return a.text == b.text; });
    };
    const auto same = may(row) ? std::ranges::find_if(folded, alike) : folded.end();
    if (same != folded.end()) {
      same->numbers.push_back(number);
    } else {
      const bool is_one = may(row);
      folded.push_back({std::move(row), {number}, is_one});
    }
  }
  rows_.clear();
  for (Folded& one : folded) {
    one.row.front().text = RangesText(one.numbers);
    rows_.push_back(std::move(one.row));
  }
}

Table::Layout Table::Fit(const Look& look) const {
  Layout layout;
  std::vector<size_t>& widths = layout.widths;
  widths.resize(columns_.size());
  for (size_t i = 0; i < widths.size(); ++i) {
    const auto filled = [i](const std::vector<Cell>& row) { return !IsEmpty(row[i].text); };
    if (std::ranges::none_of(rows_, filled)) continue;
    widths[i] = Width(columns_[i].heading);
    for (const std::vector<Cell>& row : rows_) widths[i] = std::max(widths[i], Width(row[i].text));
    widths[i] = std::max<size_t>(widths[i], 1);
  }
  const auto excess = [&]() -> size_t {
    size_t total = 0;
    for (const size_t width : widths) total += width == 0 ? 0 : width + kBetween;
    return total <= look.columns + kBetween ? 0 : total - look.columns - kBetween;
  };
  if (look.columns == 0) return layout;
  size_t broken = columns_.size();  // the last column that can be
  for (size_t i = columns_.size(); i-- > 0;) {
    if (!columns_[i].wraps || widths[i] <= kLeastBroken) continue;
    if (broken == columns_.size()) broken = i;
    widths[i] = std::max(kLeastBroken, widths[i] - std::min(excess(), widths[i]));
  }
  for (size_t i = columns_.size(); i-- > 0 && excess() > 0;) {
    if (!columns_[i].optional || widths[i] == 0) continue;
    layout.left_out.insert(layout.left_out.begin(), columns_[i].heading);
    widths[i] = 0;
  }
  if (excess() > 0 && broken < columns_.size()) {
    layout.below = broken;
    widths[broken] = 0;
  }
  while (excess() > 0) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (!columns_[i].right && widths[i] > kLeastCut &&
          (widest == columns_.size() || widths[i] > widths[widest]))
        widest = i;
    }
    if (widest == columns_.size()) break;
    widths[widest] = std::max(kLeastCut, widths[widest] - std::min(excess(), widths[widest]));
  }
  return layout;
}

std::vector<std::string> Table::LinesOf(const std::vector<Cell>& row, const Layout& layout,
                                        const Look& look) const {
  std::vector<std::vector<std::string>> pieces(row.size());
  size_t lines = 1;
  for (size_t i = 0; i < row.size(); ++i) {
    const size_t width = layout.widths[i];
    if (width == 0) continue;
    pieces[i] = columns_[i].wraps ? base::Broken(row[i].text, width) : std::vector{row[i].text};
    for (std::string& piece : pieces[i]) piece = Cut(piece, width);
    lines = std::max(lines, pieces[i].size());
  }
  std::vector<std::string> text;
  for (size_t n = 0; n < lines; ++n) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (layout.widths[i] == 0) continue;
      const std::string piece = n < pieces[i].size() ? pieces[i][n] : "";
      const std::string padding(layout.widths[i] - Width(piece), ' ');
      const bool is_first =
          std::all_of(layout.widths.begin(), layout.widths.begin() + static_cast<ptrdiff_t>(i),
                      [](size_t width) { return width == 0; });
      if (!is_first) line += std::string(kBetween, ' ');
      line += (columns_[i].right ? padding : "") + Paint(piece, row[i].colour, look) +
              (columns_[i].right ? "" : padding);
    }
    text.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  // What is short stands behind its row: "shared" needs no line of its own.
  if (layout.below && lines == 1 && !IsEmpty(row[*layout.below].text)) {
    size_t used = 0;
    for (const size_t width : layout.widths) used += width == 0 ? 0 : width + kBetween;
    const Cell& cell = row[*layout.below];
    if (used + Width(cell.text) <= look.columns) {
      text.front() += std::string(kBetween, ' ') + Paint(cell.text, cell.colour, look);
      return text;
    }
  }
  if (layout.below && !IsEmpty(row[*layout.below].text)) {
    for (const std::string& line : base::Broken(row[*layout.below].text, look.columns - kBelow))
      text.push_back(std::string(kBelow, ' ') + Paint(line, row[*layout.below].colour, look));
  }
  return text;
}

std::string Table::Text(const Look& look) const {
  const Layout layout = Fit(look);
  std::vector<Cell> headings;
  for (const Column& column : columns_) headings.emplace_back(column.heading, Colour::kBold);
  if (layout.below) headings[*layout.below].text.clear();
  std::string text;
  for (const std::string& line : LinesOf(headings, layout, look)) text += line + "\n";
  for (const std::vector<Cell>& row : rows_) {
    for (const std::string& line : LinesOf(row, layout, look)) text += line + "\n";
  }
  if (layout.left_out.empty()) return text;
  std::string names;
  for (const std::string& name : layout.left_out) names += (names.empty() ? "" : ", ") + name;
  return text +
         Paint(Wrapped("no room for " + names + ": -o wide shows all", look.columns), Colour::kDim, look) +
         "\n";
}

}  // namespace profd::client
