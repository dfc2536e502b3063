// A program that uses gRPC and protobuf itself, with the agent in it: it is the agent's profd, too.
#include <cstdio>

#include "profd/agent.h"
#include "tests/unit/libagent/fake_daemon.h"

int main(int, char** argv) {
  profd::agent::testing::FakeDaemon daemon(argv[1]);
  const profd_name name = profd_intern("from a gRPC program");
  const auto peer = daemon.Accept();
  if (peer == nullptr || peer->Arm().code() != 0 || peer->Fire().code() != 0) return 1;
  for (int i = 0; i < 1000; ++i) profd_counter(name, i);
  if (peer->Stop().code() != 0) return 1;
  const auto events = profd::agent::testing::EventsOf(peer->region().DrainAll());
  std::printf("recorded %zu lost %lu\n", events.size(), peer->region().Lost());
  return 0;
}
