#include "client/export/write/json_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "client/export/write/json_text.h"
#include "client/export/write/output_file.h"

namespace profd::client {

using base::Status;

namespace {

constexpr size_t kPiece = 256u << 10;

size_t Digits(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789");
  return end == text.npos ? text.size() : end;
}

// As JSON's grammar has it: no "007", no ".5", no "inf".
bool IsNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t whole = Digits(text);
  if (whole == 0 || (whole > 1 && text[0] == '0')) return false;
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const size_t part = Digits(text);
    if (part == 0) return false;
    text.remove_prefix(part);
  }
  if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && Digits(text) == text.size();
}

// Takes the text in pieces. **Thread:** one.
class Rows {
 public:
  explicit Rows(OutputFile& out) : out_(out) {}

  void Add(std::string_view piece) {
    for (const char c : piece) {
      if (c == '"') {
        // The second of two is one of the cell.
        if (!quoted_ && was_quoted_) cell_ += c;
        quoted_ = !quoted_;
        was_quoted_ = true;
      } else if (!quoted_ && (c == ',' || c == '\n')) {
        EndCell();
        if (c == '\n') EndRow();
      } else {
        cell_ += c;
      }
    }
  }
  void Finish() { out_.Append(rows_ == 0 ? "[]\n" : "\n]\n"); }

 private:
  void EndCell() {
    if (!has_names_) {
      std::string name;
      AppendJsonString(name, cell_);
      names_.push_back(name + ": ");
    } else if (column_ < names_.size()) {
      line_ += (column_ == 0 ? "{" : ", ") + names_[column_];
      AppendCell();
    }
    ++column_;
    cell_.clear();
    was_quoted_ = false;
  }
  void AppendCell() {
    const bool is_moment = cell_.ends_with('\t');
    if (is_moment) cell_.pop_back();
    if (cell_.empty() && !was_quoted_) {
      line_ += "null";
    } else if (!is_moment && !was_quoted_ && IsNumber(cell_)) {
      line_ += cell_;
    } else {
      AppendJsonString(line_, cell_);
    }
  }
  void EndRow() {
    column_ = 0;
    if (!std::exchange(has_names_, true)) return;
    out_.Append(rows_++ == 0 ? "[\n" : ",\n");
    out_.Append(line_ + "}");
    line_.clear();
  }

  OutputFile& out_;
  std::vector<std::string> names_;
  std::string cell_, line_;
  size_t column_ = 0;
  uint64_t rows_ = 0;
  bool quoted_ = false, was_quoted_ = false, has_names_ = false;
};

}  // namespace

Status TurnIntoJson(const std::string& csv, const std::string& json, uint64_t* bytes) {
  const base::UniqueFd fd(::open(csv.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return Status::FromErrno("open " + csv);
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid())
    return {base::Code::kPermissionDenied, csv + ": somebody else has put something in its place"};
  PROFD_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> out, OutputFile::Create(json));
  Rows rows(*out);
  const auto piece = std::make_unique_for_overwrite<char[]>(kPiece);
  for (;;) {
    const ssize_t size = ::read(fd.get(), piece.get(), kPiece);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Status::FromErrno("read " + csv);
    if (size == 0) break;
    rows.Add({piece.get(), static_cast<size_t>(size)});
  }
  rows.Finish();
  *bytes = out->bytes();
  PROFD_RETURN_IF_ERROR(out->Finish());
  ::unlink(csv.c_str());
  return {};
}

}  // namespace profd::client
