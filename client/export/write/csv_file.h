// Files of comma-separated values, in the forms of numbers that the vendor's tools print.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/export/write/number_text.h"
#include "client/export/write/output_file.h"
#include "client/words/formula.h"

namespace profd::client {

// One table. Cells from left to right, then End(). **Thread:** one.
class CsvFile {
 public:
  // "" = the first row is the header. Whether a spreadsheet may open the file (formula.h); what ends a line.
  CsvFile(std::unique_ptr<OutputFile> file, std::string_view header, bool for_spreadsheets = true,
          std::string_view line_end = "\n");

  void Text(std::string_view text);  // quoted where it must be; UTF-8 whatever it was
  // Of which it is known that it goes as it is.
  void Plain(std::string_view text) {
    if (text.size() > kCell / 2) return Text(text);
    char* at = Comma();
    std::memcpy(at, text.data(), text.size());
    at_ = at + text.size();
  }
  static bool IsPlain(std::string_view text) {
    return IsAscii(text) && !NeedsQuotes(text) && !IsFormula(text);
  }

  void Int(auto value) { at_ = WriteInteger(Comma(), value); }
  void Device(int device) { device < 0 ? Word("host") : Int(device); }
  void Na() { Word("N/A"); }
  // 500.000, of ns; and what stands behind.
  void Us(uint64_t ns, std::string_view more = {}) {
    char* at = WriteMicroseconds(Comma(), ns);
    at_ = std::copy(more.begin(), more.end(), at);
  }
  // A moment: so many digits that spreadsheets would cut them, but for the tab.
  void Stamp(uint64_t ns) {
    at_ = stamp_.Write(Comma(), ns);
    *at_++ = '\t';
  }
  // 95.367, 4.0; nothing for a NaN.
  void Rounded(double value, int digits = 3);
  // 2450.000
  void Fixed(double value, int digits = 3);
  // As many digits as it has: 122070.31250288658
  void Shortest(double value);
  // 95.367, 4
  void Trimmed(double value, int digits = 3);
  void End();

  uint64_t rows() const { return rows_; }
  OutputFile& file() { return *file_; }

 private:
  static constexpr size_t kCell = 128, kRow = 16 << 10;

  static bool IsAscii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }
  static bool NeedsQuotes(std::string_view text) { return text.find_first_of(",\"\n\r") != text.npos; }

  // Room for a cell, behind the comma in front of it.
  char* Comma() {
    if (at_ == nullptr) return Begin();
    if (static_cast<size_t>(end_ - at_) < kCell) More(kCell);
    *at_++ = ',';
    return at_;
  }
  char* Begin();
  void More(size_t bytes);
  void Word(std::string_view word) {  // short, nothing to quote
    char* at = Comma();
    at_ = std::copy(word.begin(), word.end(), at);
  }

  std::unique_ptr<OutputFile> file_;
  const bool for_spreadsheets_;
  const std::string_view line_end_;
  char *at_ = nullptr, *end_ = nullptr;  // of the file's buffer, within a row
  StampText stamp_;
  uint64_t rows_ = 0;
};

// <folder>/<kind>_<stamp>.csv, made when first asked for; at the end .json instead, where that is wanted.
// **Thread:** one. **Owns:** the files.
class CsvFolder {
 public:
  CsvFolder(std::string folder, std::string stamp, bool as_json = false)
      : folder_(std::move(folder)), stamp_(std::move(stamp)), as_json_(as_json) {}
  ~CsvFolder();
  CsvFolder(const CsvFolder&) = delete;
  CsvFolder& operator=(const CsvFolder&) = delete;

  // nullptr: it cannot be made; status() says why.
  CsvFile* Open(std::string_view kind, std::string_view header);
  // Has rows.
  bool Has(std::string_view kind) const { return files_.find(kind) != files_.end(); }
  base::Status Finish();
  base::Status status() const;
  uint64_t bytes() const;

 private:
  std::string PathOf(std::string_view kind, const char* suffix) const {
    return folder_ + "/" + std::string(kind) + "_" + stamp_ + suffix;
  }

  const std::string folder_, stamp_;
  const bool as_json_;
  uint64_t json_bytes_ = 0;
  std::map<std::string, std::unique_ptr<CsvFile>, std::less<>> files_;
  base::Status status_;
};

}  // namespace profd::client
