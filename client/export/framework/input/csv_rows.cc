#include "client/export/framework/input/csv_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

constexpr size_t kBuffer = 256u << 10;
constexpr int kEnd = -1;

}  // namespace

CsvRows::CsvRows(const CannFiles& files, const std::string& name, Report& report)
    : report_(report), shown_(files.shown + "/" + name), buffer_(kBuffer) {
  uint64_t bytes = 0;
  std::string why;
  fd_ = OpenFile(files.tables.get(), name, &bytes, &why);
  if (!fd_) report_.Skip({shown_, 0, 0, 0, why});
  if (!fd_ || !ReadRow()) return;
  header_.assign(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(cells_));
}

size_t CsvRows::Column(std::string_view name) const {
  return static_cast<size_t>(std::ranges::find(header_, name) - header_.begin());
}

bool CsvRows::Next() {
  while (ReadRow()) {
    if (cells_ > 1 || !row_.front().empty()) return true;
  }
  return false;
}

int CsvRows::Get() {
  if (at_ == end_) {
    const ssize_t got =
        fd_ ? ReadSome(fd_.get(), reinterpret_cast<std::byte*>(buffer_.data()), buffer_.size()) : 0;
    at_ = 0;
    end_ = got > 0 ? static_cast<size_t>(got) : 0;
    if (end_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[at_++]);
}

bool CsvRows::ReadRow() {
  cells_ = 0;
  size_t bytes = 0;
  bool is_quoted = false, was_quoted = false, any = false;
  const auto cell = [&]() -> std::string& {
    if (cells_ == 0) {
      if (row_.empty()) row_.emplace_back();
      row_[0].clear();
      cells_ = 1;
    }
    return row_[cells_ - 1];
  };
  for (int c = Get(); c != kEnd; c = Get()) {
    any = true;
    std::string& text = cell();
    if (++bytes > kMostRowBytes) {
      report_.Skip({shown_, 0, 0, 1, "a row has more than 16 MiB; those behind it are left out, too"});
      fd_.Reset();
      return false;
    }
    if (is_quoted) {
      if (c == '"') {
        is_quoted = false;
        was_quoted = true;
      } else {
        text += static_cast<char>(c);
      }
      continue;
    }
    if (c == '"' && (text.empty() || was_quoted)) {
      if (was_quoted) text += '"';  // doubled
      is_quoted = true;
      was_quoted = false;
      continue;
    }
    was_quoted = false;
    if (c == ',') {
      if (row_.size() == cells_) row_.emplace_back();
      row_[cells_++].clear();
    } else if (c == '\n') {
      return true;
    } else if (c != '\r') {
      text += static_cast<char>(c);
    }
  }
  return any;
}

double Number(std::string_view cell) {
  double number = 0;
  const auto [at, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return error == std::errc() && std::isfinite(number) ? number : 0;
}

}  // namespace profd::client::framework
