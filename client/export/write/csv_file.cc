#include "client/export/write/csv_file.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/export/write/json_table.h"
#include "client/export/write/json_text.h"

namespace profd::client {

namespace {
constexpr char kRows[] = ".json.rows";  // until they are all there
}  // namespace

CsvFile::CsvFile(std::unique_ptr<OutputFile> file, std::string_view header, bool for_spreadsheets,
                 std::string_view line_end)
    : file_(std::move(file)), for_spreadsheets_(for_spreadsheets), line_end_(line_end) {
  if (header.empty()) return;
  file_->Append(header);
  file_->Append(line_end_);
}

char* CsvFile::Begin() {
  at_ = file_->Reserve(kRow);
  end_ = at_ + kRow;
  return at_;
}

void CsvFile::More(size_t bytes) {
  file_->Advance(at_);
  bytes = std::max(bytes, kRow);
  at_ = file_->Reserve(bytes);
  end_ = at_ + bytes;
}

void CsvFile::Text(std::string_view text) {
  at_ = Comma();
  std::string valid;
  if (!IsAscii(text)) text = valid = ValidUtf8(text);
  const bool is_formula = for_spreadsheets_ && IsFormula(text);
  const bool quote = is_formula || NeedsQuotes(text);
  if (quote) *at_++ = '"';
  if (is_formula) *at_++ = '\'';
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kRow / 4);
    text.remove_prefix(part.size());
    if (static_cast<size_t>(end_ - at_) < 2 * part.size() + kCell) More(2 * part.size() + kCell);
    if (!quote) {
      at_ = std::copy(part.begin(), part.end(), at_);
      continue;
    }
    for (const char c : part) {
      if (c == '"') *at_++ = '"';
      *at_++ = c;
    }
  }
  if (quote) *at_++ = '"';
}

void CsvFile::Rounded(double value, int digits) {
  char* at = Comma();
  at_ = std::isfinite(value) ? WriteRounded(at, value, digits) : at;
}

void CsvFile::Fixed(double value, int digits) {
  char* at = Comma();
  at_ = std::isfinite(value) ? WriteFixed(at, value, digits) : at;
}

void CsvFile::Shortest(double value) {
  char* at = Comma();
  at_ = std::isfinite(value) ? WriteShortest(at, value) : at;
}

void CsvFile::Trimmed(double value, int digits) {
  char* begin = Comma();
  at_ = begin;
  if (!std::isfinite(value)) return;
  at_ = WriteRounded(begin, value, digits);
  if (at_ - begin > 2 && at_[-1] == '0' && at_[-2] == '.') at_ -= 2;
}

void CsvFile::End() {
  if (at_ == nullptr) Begin();
  if (static_cast<size_t>(end_ - at_) < line_end_.size()) More(line_end_.size());
  at_ = std::copy(line_end_.begin(), line_end_.end(), at_);
  file_->Advance(at_);
  at_ = nullptr;
  ++rows_;
}

CsvFile* CsvFolder::Open(std::string_view kind, std::string_view header) {
  const auto found = files_.find(kind);
  if (found != files_.end()) return found->second.get();
  auto file = OutputFile::Create(PathOf(kind, as_json_ ? kRows : ".csv"));
  if (!file.ok()) {
    if (status_.ok()) status_ = file.status();
    return nullptr;
  }
  auto csv = std::make_unique<CsvFile>(std::move(file).value(), header, !as_json_);
  return files_.emplace(kind, std::move(csv)).first->second.get();
}

base::Status CsvFolder::status() const {
  if (!status_.ok()) return status_;
  for (const auto& [kind, file] : files_) {
    if (!file->file().status().ok()) return file->file().status();
  }
  return base::Status::Ok();
}

base::Status CsvFolder::Finish() {
  if (base::Status now = status(); !now.ok()) return now;
  for (const auto& [kind, file] : files_) {
    if (base::Status done = file->file().Finish(); !done.ok()) return done;
    if (!as_json_) continue;
    uint64_t bytes = 0;
    PROFD_RETURN_IF_ERROR(TurnIntoJson(PathOf(kind, kRows), PathOf(kind, ".json"), &bytes));
    json_bytes_ += bytes;
  }
  return base::Status::Ok();
}

CsvFolder::~CsvFolder() {
  if (!as_json_) return;
  for (const auto& [kind, file] : files_) ::unlink(PathOf(kind, kRows).c_str());  // of what failed
}

uint64_t CsvFolder::bytes() const {
  if (as_json_) return json_bytes_;
  uint64_t bytes = 0;
  for (const auto& [kind, file] : files_) bytes += file->file().bytes();
  return bytes;
}

}  // namespace profd::client
