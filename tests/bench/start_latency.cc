// How long a start takes to be felt: from StartRequest on a warm channel to the first record of an attached
// process. The recorded process is this one: a thread of it says the time again and again, so the first time
// on disk is when recording began. Usage: start_latency ROUNDS, with a profd at PROFD_ADDRESS; prints one
// JSON line, ns.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "client/node/connection.h"
#include "format/events/agent_blocks.h"
#include "libagent/abi/record.h"
#include "profd/agent.h"

namespace {

using profd::base::RawNs;

// The value of the first counter record below `directory`, 0 when there is none.
uint64_t FirstTime(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/profd")) {
    if (!entry.path().filename().string().ends_with(".lanes.slice_0")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    profd::format::BlockReader reader(std::as_bytes(std::span(text)));
    for (profd::format::Block block; reader.Next(block);) {
      if (block.header.type != static_cast<uint16_t>(profd::format::BlockType::kLane)) continue;
      for (size_t at = 0; at < block.payload.size(); at += profd::abi::kRecordBytes) {
        profd::abi::Record record;
        std::memcpy(&record, block.payload.data() + at, sizeof record);
        if (record.kind == profd::abi::kCounter) return record.value;
      }
    }
  }
  return 0;
}

uint64_t Rank(const std::vector<uint64_t>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  const profd_name name = profd_intern("now");
  std::jthread speaker([name](const std::stop_token& quit) {
    while (!quit.stop_requested()) {
      profd_counter(name, static_cast<int64_t>(RawNs()));
      ::usleep(20);
    }
  });
  auto connection = profd::client::Connect({});
  if (!connection.ok()) {
    std::fprintf(stderr, "start_latency: %s\n", connection.status().message().c_str());
    return 1;
  }
  profd::client::ControlClient& control = *connection->control;
  profd::v1::SessionSpec spec;
  spec.add_pids(::getpid());
  spec.add_kinds()->set_kind("agent-counter");
  std::vector<uint64_t> first_record, reply, stop;
  for (int i = 0; i < rounds + 3; ++i) {
    const uint64_t asked = RawNs();
    const auto started = control.Start(spec).Now();
    const uint64_t answered = RawNs();
    if (!started.ok()) {
      if (i < 3) {  // not registered yet
        ::usleep(500'000);
        continue;
      }
      std::fprintf(stderr, "start_latency: %s\n", started.status().message().c_str());
      return 1;
    }
    ::usleep(20'000);
    profd::v1::StopRequest request;
    request.set_session((*started).session());
    const uint64_t stopping = RawNs();
    const auto stopped = control.Stop(request).Now();
    const uint64_t stopped_at = RawNs();
    if (!stopped.ok() || (*stopped).sessions_size() != 1) return 1;
    const uint64_t first = FirstTime((*stopped).sessions(0).directory());
    if (i < 3) continue;
    if (first == 0) {
      std::fprintf(stderr, "start_latency: no record in %s\n", (*stopped).sessions(0).directory().c_str());
      return 1;
    }
    first_record.push_back(first - asked);
    reply.push_back(answered - asked);
    stop.push_back(stopped_at - stopping);
  }
  speaker.request_stop();
  speaker.join();
  for (auto* times : {&first_record, &reply, &stop}) std::sort(times->begin(), times->end());
  std::printf(
      "{\"first_record_p50\": %lu, \"first_record_p99\": %lu, \"reply_p50\": %lu, \"stop_p50\": %lu}\n",
      Rank(first_record, 0.5), Rank(first_record, 0.99), Rank(reply, 0.5), Rank(stop, 0.5));
  return 0;
}
