#include "daemon/device/streams/unpacker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fakes.h"
#include "format/records/tasks.h"

namespace profd::device {
namespace {

using format::DeviceFile;
using format::Loss;
using testing::ElementsAre;

std::string Packet(const std::string& file, const std::string& text) {
  format::AdprofPacket packet{};
  packet.magic = format::kAdprofMagic;
  packet.version = format::kAdprofVersion;
  packet.type = 1;
  packet.length = sizeof packet - 16;
  packet.chunk_size = text.size();
  packet.offset = -1;
  std::memcpy(packet.chunk, text.data(), std::min(text.size(), sizeof packet.chunk));
  std::strncpy(packet.file_name, file.c_str(), sizeof packet.file_name - 1);
  return Bytes(packet);
}

std::string Block(int number, size_t bytes = 10) {
  return "TimeStamp:" + std::to_string(number) + "\nIndex:1\nDataLen:" + std::to_string(bytes) + "\n" +
         std::string(bytes - 1, 'x') + "\n\n";
}

class UnpackerTest : public testing::Test {
 protected:
  Unpacker& Make(std::vector<DeviceFile> wanted, bool joins = false, FakeWriter* writer = nullptr) {
    auto sinks = std::make_shared<FileSinks>();
    for (const DeviceFile what : wanted)
      sinks->wanted.push_back({what, "", stats_[static_cast<size_t>(what)]});
    sinks->first_stream = 100;
    sinks->make_spec = [this](const std::string& file, const FileSinks::Sink&) {
      files_.push_back(file);
      return std::make_shared<chunk::StreamSpec>();
    };
    pipe_ = &(writer == nullptr ? writer_ : *writer).pipe();
    packets_ = std::make_unique<Outlet>(format::StreamKey{1, 0}, packet_stats_, *pipe_);
    unpacker_ = std::make_unique<Unpacker>(std::move(sinks), 1, *pipe_, joins);
    return *unpacker_;
  }
  void Take(const std::string& bytes) {
    unpacker_->Take(reinterpret_cast<const std::byte*>(bytes.data()), static_cast<uint32_t>(bytes.size()),
                    *packets_, 7);
    unpacker_->Push();
    packets_->Push();
  }
  const chunk::StreamStats& Stats(DeviceFile what) const { return *stats_[static_cast<size_t>(what)]; }

  FakeWriter writer_;
  chunk::Pipe* pipe_ = nullptr;
  chunk::StreamStatsPtr packet_stats_ = std::make_shared<chunk::StreamStats>();
  chunk::StreamStatsPtr stats_[5] = {
      std::make_shared<chunk::StreamStats>(), std::make_shared<chunk::StreamStats>(),
      std::make_shared<chunk::StreamStats>(), std::make_shared<chunk::StreamStats>(),
      std::make_shared<chunk::StreamStats>()};
  std::vector<std::string> files_;
  std::unique_ptr<Outlet> packets_;
  std::unique_ptr<Unpacker> unpacker_;
};

TEST_F(UnpackerTest, PiecesBecomeFilesOfWholeBlocks) {
  Make({DeviceFile::kSystemCpu, DeviceFile::kSystemMemory, DeviceFile::kProcessCpu});
  const std::string memory = Block(1, 1500);
  Take(Packet("SystemCpuUsage.data", Block(1)) + Packet("Memory.data", memory.substr(0, 1032)) +
       Packet("data/77-CpuUsage.data", Block(1)));
  EXPECT_EQ(writer_[101].bytes, "") << "a block that has no end yet";
  Take(Packet("Memory.data", memory.substr(1032) + Block(2)) + Packet("SystemCpuUsage.data", Block(2)));
  EXPECT_THAT(files_, ElementsAre("SystemCpuUsage.data", "Memory.data", "77-CpuUsage.data"));
  EXPECT_EQ(writer_[100].bytes, Block(1) + Block(2));
  EXPECT_EQ(writer_[100].records, 2U);
  EXPECT_EQ(writer_[101].bytes, memory + Block(2));
  EXPECT_EQ(writer_[102].bytes, Block(1));
  EXPECT_EQ(Stats(DeviceFile::kSystemMemory).read_records, 2U);
  EXPECT_EQ(packet_stats_->lost_records, 0U);
}

TEST_F(UnpackerTest, ABlocksEndMayBeInTwoPieces) {
  Make({DeviceFile::kSystemCpu});
  const std::string block = Block(1);
  Take(Packet("SystemCpuUsage.data", block.substr(0, block.size() - 1)));
  Take(Packet("SystemCpuUsage.data", "\n"));
  EXPECT_EQ(writer_[100].bytes, block);
}

TEST_F(UnpackerTest, OnlyTheVendorsFilesAreMade) {
  Make({DeviceFile::kSystemCpu, DeviceFile::kSystemMemory, DeviceFile::kProcessCpu,
        DeviceFile::kProcessMemory, DeviceFile::kCpuProfile});
  const std::vector<std::string> names = {"../Memory.data",
                                          "/etc/passwd",
                                          "",
                                          "data/",
                                          "0-Memory.data",
                                          "12345678901-Memory.data",
                                          "-Memory.data",
                                          "7-Memory.data.0",
                                          "7-Memory",
                                          "data/data/Memory.data",
                                          "SystemCpuUsage.data/x"};
  std::string packets;
  for (const std::string& name : names) packets += Packet(name, Block(1));
  std::string too_long = Packet("Memory.data", Block(1));
  const uint64_t bytes = 1033;
  std::memcpy(too_long.data() + offsetof(format::AdprofPacket, chunk_size), &bytes, sizeof bytes);
  Take(packets + too_long);
  EXPECT_THAT(files_, ElementsAre());
  EXPECT_EQ(packet_stats_->lost_records, names.size() + 1);
  EXPECT_EQ(LostRecords(writer_[0], Loss::Where::kDriver), names.size() + 1);
}

TEST_F(UnpackerTest, WhatAnotherSessionWantsIsNobodysLoss) {
  Make({DeviceFile::kSystemMemory});
  Take(Packet("SystemCpuUsage.data", Block(1)) + Packet("Memory.data", Block(1)));
  EXPECT_THAT(files_, ElementsAre("Memory.data"));
  EXPECT_EQ(packet_stats_->lost_records, 0U);
}

TEST_F(UnpackerTest, WhoJoinsBeginsWithABlock) {
  Make({DeviceFile::kSystemCpu, DeviceFile::kProcessCpu}, true);
  Take(Packet("SystemCpuUsage.data", "xx\n\n" + Block(2)) + Packet("8-CpuUsage.data", Block(3)));
  EXPECT_EQ(writer_[100].bytes, Block(2));
  EXPECT_EQ(writer_[101].bytes, Block(3));
  EXPECT_EQ(Stats(DeviceFile::kSystemCpu).lost_records, 0U);
}

TEST_F(UnpackerTest, ABlockWithoutAnEndIsLostAndTheNextIsNot) {
  Make({DeviceFile::kSystemCpu});
  for (int i = 0; i < 80; ++i) Take(Packet("SystemCpuUsage.data", std::string(1032, 'y')));
  Take(Packet("SystemCpuUsage.data", "y\n\n" + Block(2)));
  EXPECT_EQ(writer_[100].bytes, Block(2));
  EXPECT_EQ(Stats(DeviceFile::kSystemCpu).lost_records, 1U);
  EXPECT_EQ(Stats(DeviceFile::kSystemCpu).lost_bytes, 80 * 1032 + 3U);
}

TEST_F(UnpackerTest, TheEndOfTheChannelLosesWhatHasNoEnd) {
  for (const bool ended : {false, true}) {
    Make({DeviceFile::kSystemCpu});
    Take(Packet("SystemCpuUsage.data", Block(1) + "TimeStamp:2\n"));
    unpacker_->Finish(9, ended);
    unpacker_->Push();
    EXPECT_EQ(Stats(DeviceFile::kSystemCpu).lost_records, ended ? 1U : 0U);
  }
}

TEST_F(UnpackerTest, WithoutChunksBlocksWaitAndAreCountedWhenTheyCannot) {
  FakeWriter slow(64 << 10, 1);
  Make({DeviceFile::kProcessMemory}, false, &slow);
  chunk::Chunk* const taken = pipe_->TryTake();
  ASSERT_NE(taken, nullptr);
  Take(Packet("1-Memory.data", Block(1)) + Packet("2-Memory.data", Block(1)));
  EXPECT_EQ(slow[100].bytes + slow[101].bytes, "");
  pipe_->PutBack(taken);
  unpacker_->Push();
  EXPECT_EQ(slow[100].bytes, Block(1));
  unpacker_->Push();
  EXPECT_EQ(slow[101].bytes, Block(1));

  ASSERT_NE(pipe_->TryTake(), nullptr);
  const uint64_t blocks = 300;
  for (uint64_t i = 0; i < blocks; ++i) Take(Packet("1-Memory.data", Block(1, 980)));
  unpacker_->Finish(9, true);
  unpacker_->Push();
  EXPECT_EQ(Stats(DeviceFile::kProcessMemory).lost_records, blocks);
}

TEST_F(UnpackerTest, FilesBeyondTheMostAreCounted) {
  Make({DeviceFile::kProcessCpu});
  for (uint32_t pid = 1; pid <= FileSinks::kMaxFiles + 3; ++pid) {
    Take(Packet(std::to_string(pid) + "-CpuUsage.data", Block(1)));
    writer_.Take();
  }
  EXPECT_EQ(files_.size(), size_t{FileSinks::kMaxFiles});
  EXPECT_EQ(packet_stats_->lost_records, 3U);
}

}  // namespace
}  // namespace profd::device
