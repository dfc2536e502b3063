#include "tests/unit/host/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "base/clock.h"

extern char** environ;

namespace profd::host {

Worker::Worker() {
  int to[2];
  int from[2];
  EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
  base::UniqueFd read_end(to[0]);
  base::UniqueFd write_end(from[1]);
  to_.Reset(to[1]);
  from_.Reset(from[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  std::string path = PROFD_HOST_TEST_WORKER;
  char* argv[] = {path.data(), nullptr};
  EXPECT_EQ(::posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv, environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  Tell("hello");
}

Worker::~Worker() { End(); }

void Worker::End() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

std::string Worker::Tell(const std::string& command) {
  const std::string line = command + "\n";
  EXPECT_EQ(::write(to_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  std::string answer;
  for (char next = 0; ::read(from_.get(), &next, 1) == 1 && next != '\n';) answer += next;
  EXPECT_FALSE(answer.empty()) << command;
  // It answers a moment before it waits for the next command.
  const auto runs = [this] {
    const std::string stat = ReadFile("/proc/" + std::to_string(pid_) + "/stat");
    const size_t name_end = stat.rfind(')');
    return name_end != std::string::npos && stat.substr(name_end).starts_with(") R");
  };
  while (runs()) std::this_thread::yield();
  return answer;
}

void FakeCtl::RunPosted() {
  std::vector<std::function<void()>> now;
  {
    const std::lock_guard lock(mutex_);
    now.swap(posted_);
  }
  for (const auto& closure : now) closure();
}

std::shared_ptr<const chunk::StreamSpec> FakeWriter::MakeSpec(const std::string& folder,
                                                              const std::string& file,
                                                              const chunk::StreamStatsPtr&) {
  auto spec = std::make_shared<chunk::StreamSpec>();
  spec->folder = folder;
  spec->file = file;
  return spec;
}

void FakeWriter::Drain() {
  chunk::Item item;
  while (pipe_.Pop(item)) {
    EXPECT_FALSE(ended_.contains(item.key.trace)) << "something follows the end mark";
    const std::pair key(item.key.trace, item.key.stream);
    switch (item.what) {
      case chunk::Item::What::kStream: {
        EXPECT_FALSE(files_.contains(key));
        const chunk::StreamSpec& spec = *item.spec;
        for (const auto& [other, file] : files_) {
          EXPECT_FALSE(other.first == key.first && file.name == spec.file)
              << "two streams of one name: " << file.name;
        }
        files_[key].folder = spec.folder;
        files_[key].name = spec.file;
        break;
      }
      case chunk::Item::What::kChunk: {
        ASSERT_TRUE(files_.contains(key));
        StoredFile& file = files_[key];
        const format::ChunkHeader& header = item.chunk->header;
        EXPECT_EQ(header.key, item.key);
        EXPECT_EQ(header.seq, file.chunks++);
        EXPECT_NE(header.first_time_ns, 0u);
        EXPECT_LE(header.first_time_ns, header.last_time_ns);
        const std::string_view text(reinterpret_cast<const char*>(item.chunk->data), header.used);
        EXPECT_TRUE(text.ends_with('\n'));
        file.text += text;
        file.records += header.records;
        pipe_.Return(item.chunk);
        break;
      }
      case chunk::Item::What::kLoss:
        ASSERT_TRUE(files_.contains(key));
        EXPECT_NE(item.loss.records, 0u);
        EXPECT_LE(item.loss.from_ns, item.loss.to_ns);
        files_[key].losses.push_back(item.loss);
        break;
      case chunk::Item::What::kEnd:
        ended_.insert(item.key.trace);
        break;
    }
  }
}

const StoredFile* FakeWriter::File(uint32_t trace, const std::string& name) const {
  for (const auto& [key, file] : files_) {
    if (key.first == trace && file.name == name) return &file;
  }
  return nullptr;
}

std::string FakeWriter::Text(uint32_t trace, const std::string& name) const {
  const StoredFile* file = File(trace, name);
  return file == nullptr ? std::string() : file->text;
}

std::vector<std::string> FakeWriter::Names(uint32_t trace) const {
  std::vector<std::string> names;
  for (const auto& [key, file] : files_) {
    if (key.first == trace) names.push_back(file.folder + "/" + file.name);
  }
  return names;
}

SampleRequest SamplerRig::Request(uint32_t trace, const std::vector<std::string>& kinds,
                                  std::vector<pid_t> pids) {
  SampleRequest request;
  request.trace = trace;
  request.first_stream = 10;
  request.pids = std::move(pids);
  request.pipe = &writer.pipe();
  request.make_spec = FakeWriter::MakeSpec;
  for (const std::string& kind : kinds) {
    const size_t at = kind.find('@');
    auto counters = std::make_shared<chunk::StreamStats>();
    stats[{trace, kind.substr(0, at)}] = counters;
    request.probes.push_back(
        {kind.substr(0, at), static_cast<uint32_t>(std::stoul(kind.substr(at + 1))), counters, nullptr});
  }
  return request;
}

base::Status SamplerRig::TryStart(SampleRequest request) {
  std::optional<base::Status> answer;
  sampler.Start(std::move(request), [&](base::Status status) { answer = std::move(status); });
  Until("an answer to Start()", [&] { return answer.has_value(); });
  return answer.value_or(base::Status(base::Code::kInternal, "no answer"));
}

void SamplerRig::Start(uint32_t trace, const std::vector<std::string>& kinds, std::vector<pid_t> pids) {
  const base::Status status = TryStart(Request(trace, kinds, std::move(pids)));
  ASSERT_TRUE(status.ok()) << status.message();
}

void SamplerRig::Stop(uint32_t trace) {
  bool stopped = false;
  sampler.Stop(trace, [&] { stopped = true; });
  Until("an answer to Stop()", [&] { return stopped; });
  writer.Drain();
  EXPECT_TRUE(writer.Ended(trace));
}

void SamplerRig::Until(const std::string& what, const std::function<bool()>& condition) {
  if (::testing::Test::HasFatalFailure()) return;  // one vain wait is enough
  const uint64_t give_up = base::MonotonicNs() + 60'000'000'000;
  while (true) {
    ctl.RunPosted();
    writer.Drain();
    if (condition()) return;
    ASSERT_LT(base::MonotonicNs(), give_up) << "waited in vain for " << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // between two looks at what threads wrote
  }
}

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<CpuBlock> ParseCpuBlocks(const std::string& text) {
  std::vector<CpuBlock> blocks;
  bool uptime_next = false;
  for (const std::string& line : Lines(text)) {
    const std::vector<std::string> words = Words(line);
    if (line.starts_with("time ")) {
      EXPECT_FALSE(uptime_next);
      blocks.push_back({.time_ns = std::stoull(words.at(1)), .uptime = {}, .threads = {}});
      uptime_next = true;
    } else if (uptime_next) {
      EXPECT_EQ(words.size(), 2u) << line;
      blocks.back().uptime = line;
      uptime_next = false;
    } else {
      EXPECT_EQ(words.size(), 52u) << line;
      const bool added = blocks.back().threads.emplace(std::stoi(words.at(0)), words).second;
      EXPECT_TRUE(added) << "twice in a block: " << line;
    }
  }
  return blocks;
}

std::vector<Block> ParseBlocks(const std::string& text) {
  std::vector<Block> blocks;
  std::istringstream in(text);
  const auto number_after = [&](const std::string& key) {
    std::string line;
    std::getline(in, line);
    EXPECT_TRUE(line.starts_with(key)) << line;
    return line.starts_with(key) ? std::stoull(line.substr(key.size())) : 0;
  };
  while (in.peek() != EOF) {
    Block block;
    block.time_ns = number_after("TimeStamp:");
    block.index = number_after("Index:");
    block.body.resize(number_after("DataLen:"));
    in.read(block.body.data(), static_cast<std::streamsize>(block.body.size()));
    EXPECT_TRUE(block.body.ends_with('\n'));
    EXPECT_EQ(in.get(), '\n') << "no empty line ends the block";
    blocks.push_back(std::move(block));
    if (::testing::Test::HasFailure()) break;
  }
  return blocks;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int64_t WrittenBytes(pid_t pid) {
  int64_t written = 0;
  for (const std::string& line : Lines(ReadFile("/proc/" + std::to_string(pid) + "/io"))) {
    const std::vector<std::string> words = Words(line);
    if (words.at(0) == "write_bytes:") written += std::stoll(words.at(1));
    if (words.at(0) == "cancelled_write_bytes:") written -= std::stoll(words.at(1));
  }
  return written;
}

}  // namespace profd::host
