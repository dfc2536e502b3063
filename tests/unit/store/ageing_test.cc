// A trace with a storage limit: what is cut, what goes, what is counted.
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "daemon/store/files/open_files.h"
#include "daemon/store/trace_files.h"
#include "format/directory/prof_dir.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Status;
using ::testing::HasSubstr;

constexpr uint32_t kTrace = 7;
constexpr uint64_t kLimit = 4u << 20;
constexpr uint64_t kMs = 1'000'000;

// What du would say of the tree below.
uint64_t DiskBytes(const fs::path& root) {
  uint64_t bytes = 0;
  const auto add = [&](const fs::path& path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) == 0) bytes += static_cast<uint64_t>(found.st_blocks) * 512;
  };
  add(root);
  for (const auto& entry : fs::recursive_directory_iterator(root)) add(entry.path());
  return bytes;
}

std::vector<uint64_t> SlicesOf(const fs::path& data, const std::string& file) {
  std::vector<uint64_t> numbers;
  for (const auto& entry : fs::directory_iterator(data)) {
    const std::string name = entry.path().filename();
    const std::string prefix = file + ".slice_";
    if (name.starts_with(prefix) && !name.ends_with(".done"))
      numbers.push_back(std::stoull(name.substr(prefix.size())));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

class AgeingTest : public ::testing::Test {
 protected:
  void SetUp() override { Make(); }

  std::unique_ptr<TraceFiles> Create(uint32_t trace, const std::string& name) {
    TraceSpec spec = SpecIn(dir_, name);
    spec.slice_bytes = 2u << 20;
    spec.budget = budget_;
    auto created = TraceFiles::Create(faulty_, open_, trace, std::move(spec), {});
    EXPECT_TRUE(created.ok());
    return std::move(created).value();
  }
  void Make() { files_ = Create(kTrace, "PROF_1"); }
  void Add(uint32_t stream, const std::string& file, bool one_slice = false) {
    chunk::StreamSpec spec = StreamOf("device_0", file);
    spec.one_slice = one_slice;
    files_->AddStream(stream, std::move(spec));
  }
  // Records of eight bytes that say when they were made.
  void Store(uint32_t stream, uint64_t ns, size_t records) { StoreIn(*files_, stream, ns, records); }
  static void StoreIn(TraceFiles& files, uint32_t stream, uint64_t ns, size_t records) {
    std::vector<uint64_t> data(records, ns);
    chunk::Chunk chunk;
    chunk.data = reinterpret_cast<std::byte*>(data.data());
    chunk.header.key.stream = stream;
    chunk.header.used = static_cast<uint32_t>(records * sizeof(uint64_t));
    chunk.header.records = static_cast<uint32_t>(records);
    chunk.header.first_time_ns = ns;
    chunk.header.last_time_ns = ns;
    files.Store(chunk);
  }
  fs::path Data() const { return dir_.path() / "PROF_1" / "device_0" / "data"; }
  std::vector<uint64_t> Stamps(const std::string& file) const {
    std::vector<uint64_t> stamps;
    for (const uint64_t number : SlicesOf(Data(), file)) {
      const std::string bytes = ReadFile(Data() / (file + ".slice_" + std::to_string(number)));
      EXPECT_EQ(bytes.size() % 8, 0U);
      const size_t at = stamps.size();
      stamps.resize(at + bytes.size() / 8);
      std::memcpy(&stamps[at], bytes.data(), bytes.size());
    }
    return stamps;
  }

  uint64_t Lost() const {
    uint64_t records = 0;
    for (const StreamRecord& stream : files_->Record().streams) {
      for (const format::Loss& loss : stream.losses) records += loss.records;
    }
    return records;
  }

  TempDir dir_;
  FaultyFileSystem faulty_;
  OpenFiles open_{64};
  std::shared_ptr<Budget> budget_ = std::make_shared<Budget>(kLimit);
  std::unique_ptr<TraceFiles> files_;
};

// Fast and slow streams: never over the limit, one window of all of them, every record accounted for.
TEST_F(AgeingTest, WhatIsLeftIsOneWindowOfEveryStream) {
  Add(0, "fast");
  Add(1, "slow");
  Add(2, "once", true);
  Add(3, "silent");
  std::map<uint32_t, uint64_t> made;
  const auto store = [&](uint32_t stream, uint64_t ns, size_t records) {
    Store(stream, ns, records);
    made[stream] += records;
  };
  store(3, 1 * kMs, 5);
  constexpr uint64_t kTicks = 3000;
  for (uint64_t tick = 1; tick <= kTicks; ++tick) {
    const uint64_t now = tick * 10 * kMs;
    store(0, now, 2000);
    if (tick % 3 == 0) store(1, now, 10);
    if (tick % 50 == 0) store(2, now, 1);
    if (tick % 10 == 0) {
      ASSERT_LE(DiskBytes(dir_.path() / "PROF_1"), kLimit);
    }
  }
  files_->Finish();
  EXPECT_LE(DiskBytes(dir_.path() / "PROF_1"), kLimit);
  EXPECT_GT(DiskBytes(dir_.path() / "PROF_1"), kLimit * 3 / 5);
  // The newest slice of a silent stream stays, and files of one slice do.
  EXPECT_EQ(Stamps("silent").size(), 5U);
  EXPECT_EQ(Stamps("once").size(), made[2]);

  const TraceRecord record = files_->Record();
  EXPECT_EQ(record.error, "");
  for (const auto& [stream, file] : std::map<uint32_t, std::string>{{0, "fast"}, {1, "slow"}, {2, "once"}}) {
    const StreamRecord& found = RecordOf(record, stream);
    const auto stamps = Stamps(file);
    EXPECT_EQ(found.records, made[stream]) << file;
    EXPECT_EQ(found.records, stamps.size() + found.aged.records) << file;
    EXPECT_EQ(found.bytes, 8 * stamps.size() + found.aged.bytes) << file;
    EXPECT_EQ(stamps.back() / (10 * kMs) / 50, kTicks / 50) << file;
    EXPECT_TRUE(std::is_sorted(stamps.begin(), stamps.end())) << file;
    const auto numbers = SlicesOf(Data(), file);
    EXPECT_EQ(numbers.front(), found.aged.slices) << file;
    EXPECT_EQ(numbers.back() + 1, found.slices) << file;
    EXPECT_EQ(numbers.size(), found.slices - found.aged.slices) << file;
    if (found.aged.slices > 0) {
      EXPECT_LT(found.aged.to_ns, stamps.front()) << file;
    }
  }
  EXPECT_EQ(RecordOf(record, 0).aged.from_ns, 10 * kMs);
  // An eighth of the window, and what the estimate may be off.
  const uint64_t window = kTicks * 10 * kMs - Stamps("fast").front();
  const auto begins = std::minmax({Stamps("fast").front(), Stamps("slow").front()});
  EXPECT_LE(begins.second - begins.first, window / 4);
  EXPECT_LE(budget_->window_ns(), window + 10 * kMs);
  EXPECT_GE(budget_->window_ns(), window / 2);
}

TEST_F(AgeingTest, EverySliceThatIsLeftHasItsMarker) {
  Add(0, "f");
  for (uint64_t tick = 1; tick <= 500; ++tick) Store(0, tick * 10 * kMs, 4000);
  files_->Finish();
  const auto numbers = SlicesOf(Data(), "f");
  ASSERT_FALSE(numbers.empty());
  EXPECT_GT(numbers.front(), 0U);
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(Data())) ++entries;
  EXPECT_EQ(entries, 2 * numbers.size());
  for (const uint64_t number : numbers) {
    const fs::path slice = Data() / ("f.slice_" + std::to_string(number));
    EXPECT_EQ(ReadFile(slice.string() + ".done"), format::SliceDone(fs::file_size(slice)));
  }
}

// Two AI CPU channels write one file; what goes is counted for each.
TEST_F(AgeingTest, StreamsOfOneFileAreCountedApart) {
  Add(0, "f");
  Add(1, "f");
  for (uint64_t tick = 1; tick <= 500; ++tick) {
    Store(0, tick * 10 * kMs, 3000);
    if (tick > 100) Store(1, tick * 10 * kMs, 1000);
  }
  files_->Finish();
  const TraceRecord record = files_->Record();
  const StreamRecord& a = RecordOf(record, 0);
  const StreamRecord& b = RecordOf(record, 1);
  EXPECT_EQ(a.records, 1'500'000U);
  EXPECT_EQ(b.records, 400'000U);
  EXPECT_GT(b.aged.records, 0U);
  EXPECT_EQ(a.aged.from_ns, 10 * kMs);
  EXPECT_EQ(b.aged.slices, a.aged.slices);
  EXPECT_EQ(SlicesOf(Data(), "f").front(), b.aged.slices);
  EXPECT_EQ(a.records + b.records, Stamps("f").size() + a.aged.records + b.aged.records);
}

// A kill between marker and slice: at every removal the directory is one that a reader takes.
TEST_F(AgeingTest, AKillWhileAgeingLeavesWholeSlices) {
  Add(0, "f");
  int removals = 0;
  faulty_.before = [&](const std::string& call) {
    if (call != "remove") return Status::Ok();
    ++removals;
    for (const auto& entry : fs::directory_iterator(Data())) {
      const std::string name = entry.path();
      if (name.ends_with(".done")) {
        EXPECT_TRUE(fs::exists(name.substr(0, name.size() - 5))) << name;
      }
    }
    const auto numbers = SlicesOf(Data(), "f");
    EXPECT_EQ(numbers.back() - numbers.front() + 1, numbers.size());
    return Status::Ok();
  };
  for (uint64_t tick = 1; tick <= 500; ++tick) Store(0, tick * 10 * kMs, 4000);
  EXPECT_GT(removals, 10);
}

TEST_F(AgeingTest, ADiskThatGivesNothingBackCostsTheNewRecordsCounted) {
  Add(0, "f");
  bool stuck = true;
  faulty_.before = [&](const std::string& call) {
    return call == "remove" && stuck ? Status::FromErrno("remove", EROFS) : Status::Ok();
  };
  for (uint64_t tick = 1; tick <= 500; ++tick) Store(0, tick * 10 * kMs, 4000);
  EXPECT_LE(DiskBytes(dir_.path() / "PROF_1"), kLimit);
  TraceRecord record = files_->Record();
  EXPECT_THAT(record.error, HasSubstr("is reached: device_0/f.slice_0"));
  ASSERT_EQ(RecordOf(record, 0).losses.size(), 1U);
  EXPECT_EQ(RecordOf(record, 0).records + RecordOf(record, 0).losses[0].records, 2'000'000U);
  EXPECT_EQ(RecordOf(record, 0).aged.records, 0U);
  stuck = false;
  // A try that took its time is not followed by the next one at once.
  while (RecordOf(files_->Record(), 0).aged.records == 0) Store(0, 6000 * kMs, 4000);
  EXPECT_EQ(Stamps("f").back(), 6000 * kMs);
}

// What the user has removed himself is no obstacle.
TEST_F(AgeingTest, SlicesThatAreGoneAreAged) {
  Add(0, "f");
  for (uint64_t tick = 1; tick <= 100; ++tick) Store(0, tick * 10 * kMs, 4000);
  for (const uint64_t number : SlicesOf(Data(), "f")) {
    if (number < 3) fs::remove(Data() / ("f.slice_" + std::to_string(number)));
  }
  for (uint64_t tick = 101; tick <= 500; ++tick) Store(0, tick * 10 * kMs, 4000);
  EXPECT_EQ(files_->Record().error, "");
  EXPECT_EQ(Stamps("f").back(), 5000 * kMs);
}

TEST_F(AgeingTest, SoManyStreamsThatOnlyNewestSlicesAreLeftStayWithinTheLimitToo) {
  for (uint32_t stream = 0; stream < 300; ++stream) Add(stream, "s" + std::to_string(stream));
  for (uint64_t tick = 1; tick <= 20; ++tick) {
    for (uint32_t stream = 0; stream < 300; ++stream) Store(stream, tick * kMs, 700);
    ASSERT_LE(DiskBytes(dir_.path() / "PROF_1"), kLimit);
  }
  files_->Finish();
  const TraceRecord record = files_->Record();
  uint64_t made = 0, left = 0, aged = 0, lost = 0;
  for (uint32_t stream = 0; stream < 300; ++stream) {
    made += 20 * 700;
    left += Stamps("s" + std::to_string(stream)).size();
    aged += RecordOf(record, stream).aged.records;
    for (const format::Loss& loss : RecordOf(record, stream).losses) lost += loss.records;
  }
  EXPECT_EQ(made, left + aged + lost);
  EXPECT_EQ(lost, 0U) << record.error;
}

// The limit is for all directories of the session: what the earlier one holds goes first.
TEST_F(AgeingTest, AnEarlierDirectoryAgesFirst) {
  Add(0, "f");
  for (uint64_t tick = 1; tick <= 50; ++tick) Store(0, tick * 10 * kMs, 4000);
  files_->Finish();
  const auto before = SlicesOf(Data(), "f");
  auto next = Create(kTrace + 1, "PROF_2");
  next->AddStream(0, StreamOf("device_0", "f"));
  const auto all = [&] { return DiskBytes(dir_.path() / "PROF_1") + DiskBytes(dir_.path() / "PROF_2"); };
  uint64_t tick = 51;
  for (; tick <= 125; ++tick) {
    StoreIn(*next, 0, tick * 10 * kMs, 4000);
    ASSERT_LE(all(), kLimit);
  }
  EXPECT_LT(SlicesOf(Data(), "f").size(), before.size());
  EXPECT_EQ(RecordOf(next->Record(), 0).aged.records, 0U);
  for (; tick <= 500; ++tick) StoreIn(*next, 0, tick * 10 * kMs, 4000);
  EXPECT_LE(all(), kLimit);
  EXPECT_TRUE(SlicesOf(Data(), "f").empty());
  EXPECT_EQ(RecordOf(files_->Record(), 0).aged.records, 200'000U);
  EXPECT_GT(RecordOf(next->Record(), 0).aged.records, 0U);
  files_.reset();  // closed before the session ends
  StoreIn(*next, 0, tick * 10 * kMs, 4000);
}

// What was reported last stays true, whatever room the others need.
TEST_F(AgeingTest, ASettledDirectoryAgesNoMore) {
  Add(0, "f");
  for (uint64_t tick = 1; tick <= 50; ++tick) Store(0, tick * 10 * kMs, 4000);
  files_->Finish();
  files_->Settle();
  const auto before = SlicesOf(Data(), "f");
  auto next = Create(kTrace + 1, "PROF_2");
  next->AddStream(0, StreamOf("device_0", "f"));
  for (uint64_t tick = 51; tick <= 500; ++tick) StoreIn(*next, 0, tick * 10 * kMs, 4000);
  EXPECT_EQ(SlicesOf(Data(), "f"), before);
  EXPECT_EQ(RecordOf(files_->Record(), 0).aged.records, 0U);
  EXPECT_GT(RecordOf(next->Record(), 0).aged.records, 0U);
}

TEST_F(AgeingTest, WhatIsDiscardedIsGivenBack) {
  EXPECT_GT(budget_->used_bytes() + 1, 0U);
  ASSERT_TRUE(files_->Replace({{.path = "device_0/info.json.0", .content = std::string(5000, ' ')}}).ok());
  EXPECT_GE(budget_->used_bytes(), 8192U + 4096U);
  Add(0, "f");
  for (uint64_t tick = 1; tick <= 50; ++tick) Store(0, tick * 10 * kMs, 4000);
  files_->Finish();
  ASSERT_GT(SlicesOf(Data(), "f").size(), 1U);
  files_->Remove();
  EXPECT_EQ(budget_->used_bytes(), 0U);
}

TEST_F(AgeingTest, ABoundAloneCutsSlicesByTheirSizeOnly) {
  budget_ = std::make_shared<Budget>(
      0, std::vector<std::shared_ptr<Bound>>{std::make_shared<Quota>(1ull << 40, "the quota", nullptr)});
  files_ = Create(kTrace + 1, "PROF_2");
  Add(0, "f");
  for (uint64_t i = 1; i < 100; ++i) StoreIn(*files_, 0, i * 1'000'000 * kMs, 100);
  EXPECT_EQ(SlicesOf(dir_.path() / "PROF_2/device_0/data", "f"), std::vector<uint64_t>{0});
}

TEST_F(AgeingTest, AFullDiskMakesTheOldestGo) {
  Add(0, "f");
  for (uint64_t i = 0; i < 40; ++i) Store(0, i * kMs, 8192);
  const std::vector<uint64_t> before = SlicesOf(Data(), "f");
  ASSERT_GE(before.size(), 3U);
  // Full until something has been removed.
  bool full = true;
  faulty_.before = [&full](const std::string& call) {
    if (call == "remove") full = false;
    return full && (call == "append" || call == "create") ? Status::FromErrno(call, ENOSPC) : Status::Ok();
  };
  const uint64_t lost = Lost();
  Store(0, 100 * kMs, 8192);
  EXPECT_EQ(Lost(), lost);
  EXPECT_EQ(SlicesOf(Data(), "f").front(), before.front() + 1);
  EXPECT_EQ(budget_->paused(), "");
  // For what goes to a slice that is open, too.
  full = true;
  Store(0, 101 * kMs, 100);
  EXPECT_EQ(Lost(), lost);
  EXPECT_EQ(SlicesOf(Data(), "f").front(), before.front() + 2);
}

// A slice that is closed to age is closed with a marker, which needs room.
TEST_F(AgeingTest, ADiskWithoutRoomForAMarkerEndsNothing) {
  for (uint32_t stream = 0; stream < 3; ++stream) Add(stream, "f" + std::to_string(stream));
  faulty_.before = [](const std::string& call) {
    return call == "append" || call == "create" ? Status::FromErrno(call, ENOSPC) : Status::Ok();
  };
  for (const bool removes : {true, false}) {
    const auto fails = std::exchange(faulty_.before, [](const std::string&) { return Status::Ok(); });
    for (uint32_t stream = 0; stream < 3; ++stream) Store(stream, (stream + 1) * kMs, 100);
    faulty_.before = [fails, removes](const std::string& call) {
      return call == "remove" && !removes ? Status::FromErrno(call, EROFS) : fails(call);
    };
    for (uint32_t stream = 0; stream < 3; ++stream) Store(stream, 50 * kMs, 100);
    faulty_.before = fails;
  }
  EXPECT_GT(Lost(), 0U);
  EXPECT_NE(budget_->paused(), "");
  faulty_.before = [](const std::string&) { return Status::Ok(); };
  Store(0, 100 * kMs, 100);
  EXPECT_EQ(budget_->paused(), "");
  files_->Finish();
  // What is left is whole, and all is accounted for.
  uint64_t stored = 0;
  for (const StreamRecord& stream : files_->Record().streams) stored += stream.records - stream.aged.records;
  uint64_t found = 0;
  for (const char* file : {"f0", "f1", "f2"}) found += Stamps(file).size();
  EXPECT_EQ(found, stored);
}

TEST_F(AgeingTest, AsksForTheEndWhenToldSo) {
  int asked = 0;
  budget_->WhenFull(OnFull::kStop, [&asked] { ++asked; });
  Add(0, "f");
  Store(0, 1, 100);
  EXPECT_EQ(asked, 0);
  faulty_.before = [](const std::string& call) {
    return call == "append" ? Status::FromErrno(call, ENOSPC) : Status::Ok();
  };
  Store(0, 2, 100);
  Store(0, 3, 100);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(Lost(), 200U);
}

TEST_F(AgeingTest, NothingAgesForDescriptorsOrWhenToldToPause) {
  Add(0, "f");
  for (uint64_t i = 0; i < 40; ++i) Store(0, i * kMs, 8192);
  const std::vector<uint64_t> before = SlicesOf(Data(), "f");
  int error = EMFILE;
  faulty_.before = [&error](const std::string& call) {
    return error != 0 && call == "append" ? Status::FromErrno(call, error) : Status::Ok();
  };
  Store(0, 40 * kMs, 8192);
  EXPECT_THAT(budget_->paused(), HasSubstr("Too many open files"));
  budget_->WhenFull(OnFull::kPause, [] {});
  error = ENOSPC;
  Store(0, 41 * kMs, 8192);
  EXPECT_EQ(SlicesOf(Data(), "f").front(), before.front());
  EXPECT_EQ(Lost(), 2 * 8192U);
  error = 0;
  Store(0, 42 * kMs, 8192);
  EXPECT_EQ(budget_->paused(), "");
  const TraceRecord record = files_->Record();
  ASSERT_EQ(record.pauses.size(), 1U);
  EXPECT_GT(record.pauses[0].to_ns, record.pauses[0].from_ns);
  EXPECT_THAT(record.pauses[0].reason, HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace profd::store
