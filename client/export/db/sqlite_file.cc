#include "client/export/db/sqlite_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace profd::client {

namespace {

constexpr size_t kBuffer = 64 * SqliteFile::kPage;
constexpr size_t kLeafHead = 8, kInnerHead = 12, kFileHead = 100;
constexpr size_t kMostNumber = 9;  // bytes of a varint; a value is shorter, and written eight bytes at a time
constexpr size_t kMostLocal = SqliteFile::kPage - 35;  // of a payload in a leaf
constexpr size_t kLeastLocal = (SqliteFile::kPage - 12) * 32 / 255 - 23;
constexpr uint32_t kLockPage = (uint32_t{1} << 30) / SqliteFile::kPage + 1;  // that locks are on: never used
constexpr char kLeaf = 0x0D, kInner = 0x05;

char* Put16(char* at, size_t value) {
  at[0] = static_cast<char>(value >> 8);
  at[1] = static_cast<char>(value);
  return at + 2;
}
char* Put32(char* at, uint32_t value) {
  const uint32_t big = __builtin_bswap32(value);
  return static_cast<char*>(std::memcpy(at, &big, sizeof(big))) + sizeof(big);
}

// Seven bits a byte, the highest first; of a ninth byte all eight.
char* PutLongVarint(char* at, uint64_t value) {
  const size_t size = std::min<size_t>((static_cast<size_t>(std::bit_width(value)) + 6) / 7, kMostNumber);
  size_t left = size;
  char more = 0;
  if (size == kMostNumber) {
    at[--left] = static_cast<char>(value);
    value >>= 8;
    more = static_cast<char>(0x80);
  }
  for (; left > 0; value >>= 7, more = static_cast<char>(0x80))
    at[--left] = static_cast<char>((value & 0x7F) | more);
  return at + size;
}
inline char* PutVarint(char* at, uint64_t value) {
  if (value >= 1 << 14) return PutLongVarint(at, value);
  if (value >= 0x80) *at++ = static_cast<char>(value >> 7 | 0x80);
  *at++ = static_cast<char>(value & 0x7F);
  return at;
}

// Where a record is being written: the types of its values, and their bytes.
struct RecordEnds {
  char *types, *bytes;

  void Null() { *types++ = 0; }
  void Integer(int64_t value) {
    if (value == 0 || value == 1) {
      *types++ = static_cast<char>(8 + value);
      return;
    }
    constexpr uint8_t kTypes[] = {0, 1, 2, 3, 4, 5, 5, 6, 6}, kSizes[] = {0, 1, 2, 3, 4, 6, 6, 8, 8};
    const auto plain = static_cast<uint64_t>(value < 0 ? ~value : value);
    const size_t least = static_cast<size_t>(std::bit_width(plain)) / 8 + 1;
    *types++ = static_cast<char>(kTypes[least]);
    const uint64_t big = __builtin_bswap64(static_cast<uint64_t>(value) << (64 - 8 * kSizes[least]));
    std::memcpy(bytes, &big, sizeof(big));
    bytes += kSizes[least];
  }
  void Real(double value) {
    if (std::isnan(value)) return Null();
    // What is whole lies there as a whole number, as columns of numbers have it.
    if (std::fabs(value) < 9e18 && std::trunc(value) == value) return Integer(static_cast<int64_t>(value));
    *types++ = 7;
    const uint64_t big = __builtin_bswap64(std::bit_cast<uint64_t>(value));
    std::memcpy(bytes, &big, sizeof(big));
    bytes += sizeof(big);
  }
  void Text(const char* text, size_t size) {
    types = PutVarint(types, 13 + 2 * uint64_t{size});
    bytes = std::copy(text, text + size, bytes);
  }
};

}  // namespace

SqliteFile::SqliteFile(std::string path)
    : path_(std::move(path)),
      fd_(open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW)),
      buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  if (!fd_) status_ = base::Status::FromErrno("writing " + path_);
}

SqliteFile::Table* SqliteFile::Add(std::string name, std::string sql, int key_column) {
  auto table = std::make_unique<Table>();
  table->name_ = std::move(name);
  table->sql_ = std::move(sql);
  table->key_column_ = key_column;
  if (key_column >= 0) table->last_key_ = std::numeric_limits<int64_t>::min();
  table->cells_ = std::make_unique_for_overwrite<char[]>(kPage);
  tables_.push_back(std::move(table));
  return tables_.back().get();
}

void SqliteFile::WriteAll(const char* bytes, size_t size, uint64_t at) {
  while (status_.ok() && size > 0) {
    const ssize_t done = pwrite(fd_.get(), bytes, size, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      status_ = base::Status::FromErrno("writing " + path_);
      return;
    }
    bytes += done;
    size -= static_cast<size_t>(done);
    at += static_cast<uint64_t>(done);
  }
}

void SqliteFile::Flush() {
  WriteAll(buffer_.get(), used_, kPage + flushed_);
  flushed_ += used_;
  used_ = 0;
}

char* SqliteFile::NewPage(uint32_t& number) {
  if (pages_ + 1 == kLockPage) {
    if (used_ == kBuffer) Flush();
    std::memset(buffer_.get() + used_, 0, kPage);
    used_ += kPage;
    ++pages_;
  }
  if (used_ == kBuffer) Flush();
  number = ++pages_;
  char* const page = buffer_.get() + used_;
  used_ += kPage;
  return page;
}

uint32_t SqliteFile::Overflow(std::string_view rest) {
  uint32_t first = 0;
  // Each page begins with the number of the next one, which is the next that is made.
  while (!rest.empty()) {
    uint32_t number = 0;
    char* const page = NewPage(number);
    if (first == 0) first = number;
    const std::string_view part = rest.substr(0, kPage - 4);
    rest.remove_prefix(part.size());
    const uint32_t next = number + 1 == kLockPage ? number + 2 : number + 1;
    char* const end = std::copy(part.begin(), part.end(), Put32(page, rest.empty() ? 0 : next));
    std::fill(end, page + kPage, '\0');
  }
  return first;
}

void SqliteFile::Append(Table& table, int64_t key, std::span<const DbValue> values) {
  if (!status_.ok()) return;
  size_t room = kMostNumber * values.size();
  for (const DbValue& value : values) room += value.size;
  if (head_.size() < kMostNumber * values.size()) head_.resize(kMostNumber * values.size());
  if (body_.size() < room) body_.resize(room);
  RecordEnds ends{head_.data(), body_.data()};
  for (size_t i = 0; i < values.size(); ++i) {
    const DbValue& value = values[i];
    if (value.type == DbValue::Type::kInteger && static_cast<int>(i) != table.key_column_) {
      ends.Integer(value.integer);
    } else if (value.type == DbValue::Type::kReal) {
      ends.Real(value.real);
    } else if (value.type == DbValue::Type::kText) {
      ends.Text(value.text, value.size);
    } else {
      ends.Null();  // also of the key, which is beside the record
    }
  }
  const auto types = static_cast<size_t>(ends.types - head_.data());
  const auto bytes = static_cast<size_t>(ends.bytes - body_.data());
  const size_t head = types + (types < 0x7F ? 1 : 2);  // itself counted
  const size_t payload = head + bytes;
  size_t local = payload;
  if (payload > kMostLocal) {
    local = kLeastLocal + (payload - kLeastLocal) % (kPage - 4);
    if (local > kMostLocal) local = kLeastLocal;
  }
  const size_t most = 2 * kMostNumber + local + 4;
  if (kLeafHead + 2 * (table.offsets_.size() + 1) + table.used_ + most > kPage) EndLeaf(table);
  table.offsets_.push_back(static_cast<uint16_t>(table.used_));
  char* at = table.cells_.get() + table.used_;
  at = PutVarint(PutVarint(at, payload), static_cast<uint64_t>(key));
  if (local == payload) {
    at = PutVarint(at, head);
    at = std::copy(head_.data(), ends.types, at);
    at = std::copy(body_.data(), ends.bytes, at);
  } else {
    std::string record(kMostNumber, '\0');
    record.resize(static_cast<size_t>(PutVarint(record.data(), head) - record.data()));
    record.append(head_, 0, types).append(body_, 0, bytes);
    at = std::copy_n(record.data(), local, at);
    at = Put32(at, Overflow(std::string_view(record).substr(local)));
  }
  table.used_ = static_cast<size_t>(at - table.cells_.get());
  table.last_key_ = key;
}

void SqliteFile::EndLeaf(Table& table) {
  uint32_t number = 0;
  char* const page = NewPage(number);
  const size_t content = kPage - table.used_;
  page[0] = kLeaf;
  char* at = Put16(page + 1, 0);
  at = Put16(at, table.offsets_.size());
  at = Put16(at, content);
  *at++ = 0;
  for (const uint16_t offset : table.offsets_) at = Put16(at, content + offset);
  std::fill(at, page + content, '\0');
  std::memcpy(page + content, table.cells_.get(), table.used_);
  table.offsets_.clear();
  table.used_ = 0;
  AddChild(table, 0, {number, table.last_key_});
}

void SqliteFile::AddChild(Table& table, size_t level, Table::Child child) {
  if (table.levels_.size() == level) table.levels_.emplace_back();
  Table::Level& to = table.levels_[level];
  Table::Child full;
  if (to.latest.page != 0) {
    char cell[4 + 9];
    const size_t size = static_cast<size_t>(
        PutVarint(Put32(cell, to.latest.page), static_cast<uint64_t>(to.latest.last_key)) - cell);
    if (kFileHead + kInnerHead + 2 * (to.offsets.size() + 1) + to.cells.size() + size > kPage) {
      // Its last cell becomes its end without a cell, so that the next page, which must have one, has it.
      const Table::Child latest = std::exchange(to.latest, to.before);
      to.cells.resize(to.offsets.back());
      to.offsets.pop_back();
      full = {EndLevel(to), to.latest.last_key};
      to = {};
      to.latest = latest;
    }
    to.offsets.push_back(static_cast<uint16_t>(to.cells.size()));
    to.cells.append(cell, size);
    to.before = to.latest;
  }
  to.latest = child;
  if (full.page != 0) AddChild(table, level + 1, full);
}

namespace {

// `head`: where the page's own begins.
void FillInner(char* page, size_t head, std::string_view cells, std::span<const uint16_t> offsets,
               uint32_t latest) {
  const size_t content = SqliteFile::kPage - cells.size();
  char* at = page + head;
  *at++ = kInner;
  at = Put16(at, 0);
  at = Put16(at, offsets.size());
  at = Put16(at, content);
  *at++ = 0;
  at = Put32(at, latest);
  for (const uint16_t offset : offsets) at = Put16(at, content + offset);
  std::fill(at, page + content, '\0');
  std::copy(cells.begin(), cells.end(), page + content);
}

}  // namespace

uint32_t SqliteFile::EndLevel(const Table::Level& level) {
  uint32_t number = 0;
  char* const page = NewPage(number);
  FillInner(page, 0, level.cells, level.offsets, level.latest.page);
  return number;
}

uint32_t SqliteFile::EndTable(Table& table) {
  if (!table.offsets_.empty() || table.levels_.empty()) EndLeaf(table);
  for (size_t i = 0;; ++i) {
    const Table::Level& level = table.levels_[i];
    if (level.offsets.empty()) return level.latest.page;  // the only one
    const Table::Child done{EndLevel(level), level.latest.last_key};
    if (i + 1 == table.levels_.size()) return done.page;
    AddChild(table, i + 1, done);
  }
}

void SqliteFile::WriteFirstPage(const Table::Level& schema) {
  constexpr uint32_t kChanges = 1;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, kPage> page{};
  std::copy(kMagic.begin(), kMagic.end(), page.data());
  Put16(page.data() + 16, kPage);
  constexpr char kFixed[] = {1, 1, 0, 64, 32, 32};  // versions, nothing reserved, how full pages may get
  std::copy(std::begin(kFixed), std::end(kFixed), page.data() + 18);
  Put32(page.data() + 24, kChanges);
  Put32(page.data() + 28, pages_);
  Put32(page.data() + 40, 1);  // version of the schema
  Put32(page.data() + 44, 4);  // its format
  Put32(page.data() + 56, 1);  // UTF-8
  Put32(page.data() + 92, kChanges);
  Put32(page.data() + 96, 3'040'000);  // the version of SQLite whose format it is
  FillInner(page.data(), kFileHead, schema.cells, schema.offsets, schema.latest.page);
  WriteAll(page.data(), kPage, 0);
}

base::Status SqliteFile::Finish() {
  Table* const schema = Add("sqlite_schema", "", -1);
  for (const auto& table : tables_) {
    if (table.get() == schema) break;
    const uint32_t root = EndTable(*table);
    const DbValue row[] = {std::string_view("table"), std::string_view(table->name_),
                           std::string_view(table->name_), root, std::string_view(table->sql_)};
    Append(*schema, schema->last_key() + 1, row);
  }
  for (const auto& [name, sql] : views_) {
    const DbValue row[] = {std::string_view("view"), std::string_view(name), std::string_view(name), 0,
                           std::string_view(sql)};
    Append(*schema, schema->last_key() + 1, row);
  }
  EndLeaf(*schema);
  if (status_.ok() && schema->levels_.size() > 1)
    status_ = base::Status(base::Code::kInternal, path_ + ": too many tables");
  WriteFirstPage(schema->levels_[0]);  // whose root must be the first page
  Flush();
  fd_.Reset();
  return status_;
}

}  // namespace profd::client
