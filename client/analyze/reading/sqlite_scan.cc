#include "client/analyze/reading/sqlite_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "client/words/ascii.h"

namespace profd::analyze {
namespace {

using base::Code;
using base::Result;
using base::Status;
using Bytes = std::span<const unsigned char>;

constexpr uint64_t kWindow = 1 << 18;
constexpr uint64_t kMostPayload = 64 << 20;  // of a row; a larger one is left out
constexpr size_t kDeepest = 20;              // a tree of 2^32 pages is less deep
constexpr size_t kHeader = 100;              // of the file, in front of the first page's

uint64_t BigEndian(const unsigned char* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}

// Moves `at` behind it; false: the bytes end first.
inline bool Varint(Bytes bytes, size_t& at, uint64_t& value) {
  if (at < bytes.size() && bytes[at] < 0x80) {
    value = bytes[at++];
    return true;
  }
  value = 0;
  for (int i = 0; i < 9; ++i) {
    if (at >= bytes.size()) return false;
    const unsigned char byte = bytes[at++];
    if (i == 8) {
      value = value << 8 | byte;
      return true;
    }
    value = value << 7 | (byte & 0x7F);
    if (byte < 0x80) return true;
  }
  return true;
}

inline uint64_t SizeOf(uint64_t serial) {
  constexpr uint8_t kFixed[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return serial < 12 ? kFixed[serial] : (serial - 12) / 2;
}

// Of 1 to 8 bytes at `at`, with their sign; `begin`: what may be read in front of them.
inline int64_t SignedBigEndian(const unsigned char* begin, const unsigned char* at, size_t bytes) {
  uint64_t value = 0;
  if (const unsigned char* const eight = at + bytes - sizeof value; at + bytes - begin >= 8) {
    std::memcpy(&value, eight, sizeof value);
    if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  } else {
    value = BigEndian(at, bytes);
  }
  const auto shift = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(value << shift) >> shift;
}

inline void Take(uint64_t serial, Bytes payload, uint64_t offset, SqliteValue& value) {
  const unsigned char* const at = payload.data() + offset;
  if (serial == 0 || serial == 10 || serial == 11) {
    value.type = SqliteValue::Type::kNull;
  } else if (serial == 7) {
    value.type = SqliteValue::Type::kReal;
    value.real = std::bit_cast<double>(BigEndian(at, 8));
  } else if (serial >= 12) {
    value.type = SqliteValue::Type::kText;
    value.text = {reinterpret_cast<const char*>(at), (serial - 12) / 2};
  } else {
    value.type = SqliteValue::Type::kInteger;
    value.integer =
        serial >= 8 ? static_cast<int64_t>(serial - 8) : SignedBigEndian(payload.data(), at, SizeOf(serial));
  }
}

// The next word of SQL at `at`, without its quotes; a sign by itself.
std::string_view Word(std::string_view sql, size_t& at) {
  while (at < sql.size() && static_cast<unsigned char>(sql[at]) <= ' ') ++at;
  if (at >= sql.size()) return {};
  const size_t begin = at;
  const char first = sql[at];
  const char close = first == '[' ? ']' : first;
  if (first == '"' || first == '`' || first == '[' || first == '\'') {
    at = std::min(sql.find(close, at + 1), sql.size());
    const std::string_view word = sql.substr(begin + 1, at - begin - 1);
    at = std::min(at + 1, sql.size());
    return word;
  }
  const auto is_sign = [](char c) { return c == ',' || c == '(' || c == ')'; };
  if (is_sign(first)) return sql.substr(at++, 1);
  while (at < sql.size() && static_cast<unsigned char>(sql[at]) > ' ' && !is_sign(sql[at])) ++at;
  return sql.substr(begin, at - begin);
}

bool IsConstraint(const std::string& word) {
  return word == "constraint" || word == "primary" || word == "unique" || word == "check" ||
         word == "foreign";
}

}  // namespace

int64_t SqliteValue::Integer(int64_t otherwise) const {
  if (type == Type::kInteger) return integer;
  if (type == Type::kReal) return real >= -9.2e18 && real <= 9.2e18 ? static_cast<int64_t>(real) : otherwise;
  if (type == Type::kNull) return otherwise;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? number : otherwise;
}

double SqliteValue::Real(double otherwise) const {
  if (type == Type::kReal) return real;
  if (type == Type::kInteger) return static_cast<double>(integer);
  if (type == Type::kNull) return otherwise;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : otherwise;
}

Result<std::unique_ptr<SqliteScan>> SqliteScan::Open(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Status::FromErrno("open " + path);
  std::unique_ptr<SqliteScan> scan(new SqliteScan(std::move(fd)));
  PROFD_RETURN_IF_ERROR(scan->ReadHeader(path));
  scan->ReadSchema();
  return scan;
}

Status SqliteScan::ReadHeader(const std::string& path) {
  struct stat there {};
  if (::fstat(fd_.get(), &there) != 0) return Status::FromErrno("look at " + path);
  unsigned char header[kHeader];
  const bool is_file = S_ISREG(there.st_mode);
  if (!is_file || ::pread(fd_.get(), header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header, "SQLite format 3", 16) != 0)
    return {Code::kInvalidArgument, path + ": is not an SQLite database"};
  page_size_ = static_cast<uint32_t>(BigEndian(header + 16, 2));
  if (page_size_ == 1) page_size_ = 65536;
  if (page_size_ < 512 || !std::has_single_bit(page_size_) || page_size_ - header[20] < 480)
    return {Code::kInvalidArgument, path + ": its header is damaged"};
  if (const uint64_t encoding = BigEndian(header + 56, 4); encoding > 1)
    return {Code::kInvalidArgument, path + ": its texts are UTF-16; UTF-8 is read"};
  usable_ = page_size_ - header[20];
  pages_ = static_cast<uint32_t>(
      std::min<uint64_t>(static_cast<uint64_t>(there.st_size) / page_size_, UINT32_MAX - 1));
  // The header's own count of pages holds if the last who wrote knew of it (fileformat2, 1.3.7).
  const uint64_t counted = BigEndian(header + 28, 4);
  if (BigEndian(header + 24, 4) == BigEndian(header + 92, 4) && counted > pages_)
    missing_pages_ = counted - pages_;
  owner_.resize(size_t{pages_} + 1);
  leaf_.resize(page_size_);
  overflow_page_.resize(page_size_);
  for (const char* const journal : {"-wal", "-journal"}) {
    struct stat beside {};
    has_journal_ = has_journal_ || (::stat((path + journal).c_str(), &beside) == 0 && beside.st_size > 0);
  }
  return {};
}

void SqliteScan::ReadSchema() {
  Plan plan;
  plan.slot_of = {0, 1, -1, 2, 3};  // type, name, tbl_name, rootpage, sql
  plan.last = 4;
  Walk(1, plan, 4, [this](std::span<const SqliteValue> row) {
    const int64_t root = row[2].Integer();
    if (row[0].text == "table" && root > 0 && root <= pages_)
      AddTable(row[1].text, static_cast<uint32_t>(root), row[3].text);
  });
}

void SqliteScan::AddTable(std::string_view name, uint32_t root, std::string_view sql) {
  Table table;
  table.root = root;
  size_t at = std::min(sql.find('('), sql.size());
  if (at < sql.size()) ++at;
  while (at < sql.size()) {  // a column or a constraint
    const std::string_view first = Word(sql, at);
    if (first.empty() || first == ")") break;
    const bool is_column = !IsConstraint(client::Lower(first));
    std::vector<std::string> words{client::Lower(first)};
    int depth = 0;
    bool is_last = false;
    for (;;) {
      const std::string_view word = Word(sql, at);
      if (word.empty() && at >= sql.size()) {
        is_last = true;
        break;
      }
      if (depth == 0 && (word == "," || word == ")")) {
        is_last = word == ")";
        break;
      }
      depth += word == "(" ? 1 : word == ")" ? -1 : 0;
      words.push_back(client::Lower(word));
    }
    if (is_column) {
      const auto is_primary = std::ranges::find(words, "primary");
      if (words.size() > 2 && words[1] == "integer" && is_primary != words.end() &&
          is_primary - words.begin() > 1)
        table.key_column = static_cast<int>(table.columns.size());
      table.columns.push_back(client::Lower(first));
    } else if (const auto key = std::ranges::find(words, "primary");
               key != words.end() && words.end() - key == 5) {  // primary key ( column )
      const auto column = std::ranges::find(table.columns, key[3]);
      if (column != table.columns.end()) table.key_column = static_cast<int>(column - table.columns.begin());
    }
    if (is_last) break;
  }
  tables_.emplace(name, std::move(table));
}

bool SqliteScan::HasColumn(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && std::ranges::count(found->second.columns, client::Lower(column)) > 0;
}

bool SqliteScan::ReadPage(uint32_t number, unsigned char* page) {
  if (number == 0 || number > pages_) return false;
  const uint64_t at = uint64_t{number - 1} * page_size_;
  if (at < window_at_ || at + page_size_ > window_at_ + window_.size()) {
    window_.resize(kWindow);
    window_at_ = at;
    const ssize_t got = ::pread(fd_.get(), window_.data(), window_.size(), static_cast<off_t>(at));
    window_.resize(got < 0 ? 0 : static_cast<size_t>(got));
    if (window_.size() < page_size_) return false;
  }
  std::memcpy(page, window_.data() + (at - window_at_), page_size_);
  return true;
}

SqliteScan::Outcome SqliteScan::Scan(std::string_view name, std::span<const std::string_view> columns,
                                     const Visitor& visit) {
  const auto found = tables_.find(name);
  if (found == tables_.end()) return {};
  const Table& table = found->second;
  Plan plan;
  plan.slot_of.assign(table.columns.size(), -1);
  for (size_t slot = 0; slot < columns.size(); ++slot) {
    std::string_view names = columns[slot];
    while (!names.empty()) {
      const size_t end = std::min(names.find('|'), names.size());
      const auto column = std::ranges::find(table.columns, client::Lower(names.substr(0, end)));
      names.remove_prefix(std::min(end + 1, names.size()));
      if (column == table.columns.end()) continue;
      const auto index = static_cast<int>(column - table.columns.begin());
      if (index == table.key_column) plan.key_slot = static_cast<int>(slot);
      plan.slot_of[static_cast<size_t>(index)] = static_cast<int>(slot);
      plan.last = std::max(plan.last, index);
      break;
    }
  }
  Outcome outcome = Walk(table.root, plan, columns.size(), visit);
  if (table.key_column >= 0 || !outcome.whole()) outcome.removed = 0;
  return outcome;
}

SqliteScan::Outcome SqliteScan::Walk(uint32_t root, const Plan& plan, size_t slots, const Visitor& visit) {
  struct Place {
    uint32_t page;
    size_t depth;
    Keys keys;
  };
  constexpr unsigned char kInterior = 0x05, kLeaf = 0x0D;
  Outcome outcome;
  std::vector<SqliteValue> row(slots);
  std::vector<bool> seen(size_t{pages_} + 1);
  std::vector<Place> open{{root, 0, {}}};
  while (!open.empty()) {
    const auto [number, depth, keys] = open.back();
    open.pop_back();
    if (number > pages_ || seen[number] || depth > kDeepest ||
        (owner_[number] != 0 && owner_[number] != root) || !ReadPage(number, leaf_.data())) {
      ++outcome.bad_pages;
      continue;
    }
    seen[number] = true;
    owner_[number] = root;
    const size_t header = number == 1 ? kHeader : 0;
    const Bytes page(leaf_.data(), usable_);
    const unsigned char type = page[header];
    if (type == kLeaf) {
      ReadLeaf(page, header, keys, plan, row, visit, outcome);
      continue;
    }
    const size_t cells = BigEndian(&page[header + 3], 2), pointers = header + 12;
    if (type != kInterior || pointers + 2 * cells > page.size()) {
      ++outcome.bad_pages;
      continue;
    }
    const auto last = static_cast<uint32_t>(BigEndian(&page[header + 8], 4));
    std::vector<Place> below;
    Keys rest = keys;
    for (size_t i = 0; i < cells; ++i) {
      size_t at = BigEndian(&page[pointers + 2 * i], 2) + 4;
      uint64_t key = 0;
      if (!Varint(page, at, key)) {
        ++outcome.bad_pages;
        continue;
      }
      const uint32_t child =
          static_cast<uint32_t>(BigEndian(&page[BigEndian(&page[pointers + 2 * i], 2)], 4));
      const auto upto = static_cast<int64_t>(key);
      // A bound that does not fit between its neighbours is torn itself, and bounds nothing.
      const bool is_good = upto > rest.above && upto <= keys.upto;
      below.push_back({child, depth + 1, {rest.above, is_good ? upto : keys.upto}});
      if (is_good) rest.above = upto;
    }
    below.push_back({last, depth + 1, rest});
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  return outcome;
}

void SqliteScan::ReadLeaf(Bytes page, size_t header, const Keys& keys, const Plan& plan,
                          std::vector<SqliteValue>& row, const Visitor& visit, Outcome& outcome) {
  const size_t cells = BigEndian(&page[header + 3], 2), pointers = header + 8;
  if (pointers + 2 * cells > page.size()) {
    ++outcome.bad_pages;
    return;
  }
  const uint64_t most_local = usable_ - 35, least_local = (usable_ - 12) * 32 / 255 - 23;
  for (size_t i = 0; i < cells; ++i) {
    size_t at = BigEndian(&page[pointers + 2 * i], 2);
    uint64_t size = 0, key = 0;
    bool good = Varint(page, at, size) && Varint(page, at, key) && size <= kMostPayload;
    good = good && static_cast<int64_t>(key) > keys.above && static_cast<int64_t>(key) <= keys.upto;
    Bytes payload;
    if (good && size <= most_local) {
      good = at + size <= page.size();
      if (good) payload = page.subspan(at, size);
    } else if (good) {
      const uint64_t some = least_local + (size - least_local) % (usable_ - 4);
      const uint64_t local = some <= most_local ? some : least_local;
      good = at + local + 4 <= page.size() &&
             Assemble(page.subspan(at, local), size, static_cast<uint32_t>(BigEndian(&page[at + local], 4)));
      payload = payload_;
    }
    good = good && ReadRow(payload, plan, static_cast<int64_t>(key), row);
    if (!good) {
      ++outcome.bad_rows;
      continue;
    }
    if (outcome.rows++ > 0 && static_cast<int64_t>(key) > last_key_)
      outcome.removed += key - static_cast<uint64_t>(last_key_) - 1;
    last_key_ = static_cast<int64_t>(key);
    visit(row);
  }
}

bool SqliteScan::Assemble(Bytes local, uint64_t size, uint32_t page) {
  payload_.assign(local.begin(), local.end());
  while (payload_.size() < size) {
    if (!ReadPage(page, overflow_page_.data())) return false;
    page = static_cast<uint32_t>(BigEndian(overflow_page_.data(), 4));
    const size_t part = std::min<uint64_t>(usable_ - 4, size - payload_.size());
    payload_.insert(payload_.end(), overflow_page_.begin() + 4,
                    overflow_page_.begin() + 4 + static_cast<ptrdiff_t>(part));
  }
  return true;
}

bool SqliteScan::ReadRow(Bytes payload, const Plan& plan, int64_t key, std::vector<SqliteValue>& row) const {
  size_t at = 0;
  uint64_t head = 0;
  if (!Varint(payload, at, head) || head < at || head > payload.size()) return false;
  const Bytes types = payload.first(head);
  uint64_t value_at = head;
  for (SqliteValue& value : row) value.type = SqliteValue::Type::kNull;
  // A row may be shorter than its table: columns that were added later are null.
  for (int column = 0; at < head; ++column) {
    uint64_t serial = types[at];
    if (serial < 0x80) {
      ++at;
    } else if (!Varint(types, at, serial)) {
      return false;
    }
    const uint64_t size = SizeOf(serial);
    if (size > payload.size() - value_at) return false;
    if (column <= plan.last) {
      if (const int slot = plan.slot_of[static_cast<size_t>(column)]; slot >= 0)
        Take(serial, payload, value_at, row[static_cast<size_t>(slot)]);
    }
    value_at += size;
  }
  if (value_at != payload.size()) return false;  // sizes that do not add up are torn
  if (plan.key_slot >= 0) {
    SqliteValue& value = row[static_cast<size_t>(plan.key_slot)];
    value.type = SqliteValue::Type::kInteger;
    value.integer = key;
  }
  return true;
}

}  // namespace profd::analyze
