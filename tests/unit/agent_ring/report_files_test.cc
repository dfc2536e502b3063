// Reports of CANN's modules on their way into the vendor's files.
#include "daemon/agent/report_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/threads/wake_up.h"
#include "format/op_names.h"
#include "format/records/cann.h"
#include "format/records/packed.h"
#include "libagent/abi/lane.h"
#include "libagent/abi/record.h"

namespace profd::agent {
namespace {

using Slots = std::vector<std::byte>;

constexpr size_t kChunkBytes = 4096;

class ReportFilesTest : public ::testing::Test {
 protected:
  // One of a thread 7, with so much data.
  static Slots Report(uint32_t flags, uint16_t level, uint32_t type, uint64_t stamp, const std::string& data,
                      uint32_t says) {
    const size_t values = std::max<size_t>(1, (data.size() + abi::kTextBytes - 1) / abi::kTextBytes);
    Slots slots((1 + values) * abi::kRecordBytes);
    abi::Record head{};
    head.kind = abi::kReport;
    head.more = static_cast<uint8_t>(values);
    head.domain = level;
    head.name = type;
    head.value = stamp;
    head.category = 7;
    head.detail = says;
    std::memcpy(slots.data(), &head, sizeof head);
    for (size_t i = 0; i < values; ++i) {
      abi::ValueSlot value{};
      value.kind = abi::kValue;
      value.more = static_cast<uint8_t>(values - 1 - i);
      value.type = abi::kBytes;
      value.key = flags;
      const std::string part = data.substr(std::min(data.size(), i * abi::kTextBytes), abi::kTextBytes);
      value.bytes = static_cast<uint8_t>(part.size());
      std::memcpy(value.text, part.data(), part.size());
      std::memcpy(slots.data() + (1 + i) * abi::kRecordBytes, &value, sizeof value);
    }
    return slots;
  }
  void Name(abi::NameType type, uint16_t domain, uint32_t number, const std::string& text) {
    abi::NameEntry entry{};
    entry.bytes = static_cast<uint32_t>(text.size());
    entry.type = static_cast<uint8_t>(type);
    entry.domain = domain;
    entry.number = number;
    std::vector<std::byte> bytes((sizeof entry + text.size() + abi::kNameUnit) / abi::kNameUnit *
                                 abi::kNameUnit);
    std::memcpy(bytes.data(), &entry, sizeof entry);
    std::memcpy(bytes.data() + sizeof entry, text.data(), text.size());
    reader_.TakeNames(bytes);
  }
  // By name, as far as the writer gets them.
  std::map<std::string, std::string> Written() {
    chunk::Item item;
    std::map<std::string, std::string> files;
    while (pipe_.Pop(item)) {
      if (item.what == chunk::Item::What::kStream)
        names_[item.key.stream] = item.spec->folder + "/" + item.spec->file;
      if (item.what != chunk::Item::What::kChunk) continue;
      files[names_.at(item.key.stream)].append(reinterpret_cast<const char*>(item.chunk->data),
                                               item.chunk->header.used);
      records_ += item.chunk->header.records;
      EXPECT_EQ(item.chunk->header.seq, next_[item.key.stream]++);
      pipe_.Return(item.chunk);
    }
    return files;
  }

  base::WakeUp bell_;
  chunk::Pipe pipe_{"test", kChunkBytes, 4, bell_};
  std::shared_ptr<ReportFiles> files_ = std::make_shared<ReportFiles>(1, 100, 0);
  std::shared_ptr<RecordingStats> stats_ = std::make_shared<RecordingStats>(1);
  ReportReader reader_{files_, stats_};
  std::map<uint32_t, std::string> names_;
  std::map<uint32_t, uint64_t> next_;
  uint64_t records_ = 0;
};

TEST_F(ReportFilesTest, EachTypeHasItsFile) {
  const uint64_t times[] = {1000, 2000};
  const std::string both(reinterpret_cast<const char*>(times), sizeof times);
  Slots call = Report(abi::kReportedCall | abi::kReportAges, 20000, 0x50001, 7, both, 0);
  const uint64_t item = 0x123456789ABCDEF0;
  std::memcpy(call.data() + 24, &item, sizeof item);
  reader_.Take(call);
  // The number of a type is the process's: its name counts, and else what the vendor's header calls it.
  Name(abi::kNameOfReportType, 5000, 9, "task_track");
  reader_.Take(Report(abi::kReportedCompact, 5000, 9, 3000, std::string("\1\0\2\0", 4), 40));
  reader_.Take(Report(abi::kReportedAdditional, 10000, 1, 4000, std::string(100, 'x'), 232));
  ASSERT_TRUE(files_->Flush(pipe_, 1));
  auto files = Written();
  ASSERT_EQ(files.size(), 4U);

  const auto api = format::Load<format::CannApiRecord>(
      reinterpret_cast<const std::byte*>(files.at("host/aging.api_event.data").data()));
  EXPECT_EQ(files.at("host/aging.api_event.data").size(), 40U);
  EXPECT_EQ(api.magic, format::kCannMagic);
  EXPECT_EQ(api.level, 20000);
  EXPECT_EQ(api.type, 0x50001U);
  EXPECT_EQ(api.thread, 7U);
  EXPECT_EQ(api.begin, 1000U);
  EXPECT_EQ(api.end, 2000U);
  EXPECT_EQ(api.item, item);
  const auto track = format::Load<format::CannTaskTrack>(
      reinterpret_cast<const std::byte*>(files.at("host/unaging.compact.task_track").data()));
  EXPECT_EQ(track.head.stamp, 3000U);
  EXPECT_EQ(track.head.thread, 7U);
  EXPECT_EQ(track.head.bytes, 40U);
  EXPECT_EQ(track.device, 1U);
  EXPECT_EQ(track.stream, 2U);
  EXPECT_EQ(track.kernel, 0U);
  EXPECT_EQ(files.at("host/unaging.additional.tensor_info").size(), 256U);
  EXPECT_EQ(files.at("host/unaging.additional.tensor_info").substr(124), std::string(132, '\0'));
  EXPECT_EQ(records_, 4U);
  EXPECT_EQ(stats_->kinds[static_cast<size_t>(format::AgentKind::kApi)].reported_records, 1U);
  EXPECT_EQ(stats_->kinds[static_cast<size_t>(format::AgentKind::kKernel)].reported_bytes, 64U);
}

TEST_F(ReportFilesTest, NumbersOfStreamsAndMemoryOfGraphs) {
  reader_.Take(Report(abi::kReportedCompact, 5000, 804, 3000, std::string("\1", 1), 4));
  reader_.Take(Report(abi::kReportedAdditional, 10000, 11, 4000, std::string(52, 'x'), 52));
  reader_.Take(Report(abi::kReportedAdditional, 15000, 7, 5000, std::string(232, 'x'), 232));
  ASSERT_TRUE(files_->Flush(pipe_, 1));
  auto files = Written();
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("host/unaging.compact.expand_stream_spec").size(), 64U);
  EXPECT_EQ(files.at("host/unaging.compact.expand_stream_spec")[24], 1);
  EXPECT_EQ(files.at("host/unaging.additional.static_op_mem").size(), 256U);
  EXPECT_EQ(files.at("host/unaging.additional.logic_stream_info").size(), 256U);
}

TEST_F(ReportFilesTest, AHostileProcessNamesNoFile) {
  Name(abi::kNameOfReportType, 10000, 77, "../../../etc/passwd");
  Name(abi::kNameOfReportType, 10000, 78, "hash_dic");
  Name(abi::kNameOfReportType, 10000, 79, "data");
  Name(abi::kNameReported, 0, 0, "two\nlines");
  for (const uint32_t type : {77U, 78U, 79U, 80U})
    reader_.Take(Report(abi::kReportedAdditional, 10000, type, 1, "data", 232));
  reader_.Take(Report(abi::kReportedCompact, 10000, 1, 1, "of another class", 40));
  reader_.Take(Report(abi::kReportedCall, 10000, 1, 1, "too short", 0));
  reader_.Take(Report(abi::kReportClass, 10000, 1, 1, "no class", 0));
  ASSERT_TRUE(files_->Flush(pipe_, 1));
  const auto files = Written();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files.at("host/unaging.additional.hash_dic"),
            std::to_string(format::CannHash("two\nlines")) + ":two?lines\n");
  EXPECT_EQ(files.at("host/unaging.additional.type_info_dic"),
            "10000_77:../../../etc/passwd\n10000_78:hash_dic\n10000_79:data\n");
}

TEST_F(ReportFilesTest, WaitsForChunksAndKeepsRecordsWhole) {
  constexpr size_t kRecords = 1000;
  for (uint64_t i = 0; i < kRecords; ++i) reader_.Take(Report(abi::kReportedCompact, 5000, 802, i, "", 40));
  EXPECT_FALSE(files_->Flush(pipe_, 1));  // four chunks are 256 records
  std::string all;
  for (int round = 0; round < 10 && all.size() < kRecords * 64; ++round) {
    all += Written()["host/unaging.compact.task_track"];
    files_->Flush(pipe_, 1);
  }
  ASSERT_EQ(all.size(), kRecords * 64);
  for (size_t i = 0; i < kRecords; ++i) {
    const auto track =
        format::Load<format::CannTaskTrack>(reinterpret_cast<const std::byte*>(all.data()) + i * 64);
    EXPECT_EQ(track.head.stamp, i);
  }
  EXPECT_EQ(records_, kRecords);
}

TEST_F(ReportFilesTest, AnotherClockIsTurned) {
  const ReportFiles by_counter(1, 100, 1e-9);  // a tick is longer than this test
  EXPECT_EQ(by_counter.StampOf(5, false), 5U);
  EXPECT_EQ(files_->StampOf(5, true), 5U);
  const uint64_t before = base::HostCounter();
  const uint64_t turned = by_counter.StampOf(base::RawNs(), true);
  EXPECT_GE(turned, before);
  EXPECT_LE(turned, base::HostCounter());
}

}  // namespace
}  // namespace profd::agent
