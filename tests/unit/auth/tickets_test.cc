#include "daemon/auth/tickets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace profd::auth {
namespace {

Caller Self() { return {::getuid(), ::getgid(), ::getpid(), ""}; }

std::string Issue(Tickets& tickets) {
  base::Result<std::string> ticket = tickets.Issue({Self(), {}, base::UniqueFd(), 0});
  EXPECT_TRUE(ticket.ok());
  return *ticket;
}

TEST(Tickets, ServeTheirHolderOnly) {
  Tickets tickets;
  const std::string ticket = Issue(tickets);
  EXPECT_TRUE(tickets.CheckHolder(ticket, Self().uid).ok());
  EXPECT_EQ(tickets.CheckHolder(ticket, Self().uid + 1).code(), base::Code::kUnauthenticated);
  // Of one that is unknown Find() says so.
  EXPECT_TRUE(tickets.CheckHolder(std::string(64, 'a'), 0).ok());
}

TEST(Tickets, AreLongHexAndNeverTheSame) {
  Tickets tickets;
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string ticket = Issue(tickets);
    EXPECT_EQ(ticket.size(), 64U);
    EXPECT_EQ(ticket.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(ticket).second);
  }
}

TEST(Tickets, StandForTheirHolderUntilRevoked) {
  Tickets tickets;
  const std::string first = Issue(tickets);
  const std::string second = Issue(tickets);
  base::Result<Caller> caller = tickets.Find(first);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->uid, ::getuid());
  EXPECT_EQ(caller->pid, ::getpid());
  EXPECT_EQ(caller->user, UserName(::getuid()));
  tickets.Revoke(first);
  EXPECT_EQ(tickets.Find(first).status().code(), base::Code::kUnauthenticated);
  EXPECT_TRUE(tickets.Find(second).ok());
  tickets.Revoke(first);
}

TEST(Tickets, OfAgentsAndOfClientsAreNotTheSame) {
  Tickets tickets;
  const std::string client = Issue(tickets);
  base::Result<std::string> agent = tickets.Issue({Self(), {}, base::UniqueFd(), 5});
  ASSERT_TRUE(agent.ok());
  base::Result<Tickets::Agent> holder = tickets.FindAgent(*agent);
  ASSERT_TRUE(holder.ok());
  EXPECT_EQ(holder->seat, 5U);
  EXPECT_EQ(holder->caller.user, UserName(::getuid()));
  EXPECT_EQ(tickets.Find(*agent).status().code(), base::Code::kPermissionDenied);
  EXPECT_EQ(tickets.FindAgent(client).status().code(), base::Code::kPermissionDenied);
  EXPECT_EQ(tickets.FindAgent(std::string(64, 'a')).status().code(), base::Code::kUnauthenticated);
}

TEST(Tickets, EveryCharacterCounts) {
  Tickets tickets;
  const std::string ticket = Issue(tickets);
  for (size_t i = 0; i < ticket.size(); ++i) {
    std::string wrong = ticket;
    wrong[i] = wrong[i] == '0' ? '1' : '0';
    EXPECT_FALSE(tickets.Find(wrong).ok()) << i;
    tickets.Revoke(wrong);
  }
  for (const std::string& wrong :
       {std::string(), ticket.substr(0, 16), ticket.substr(0, 63), ticket + "0", std::string(64, '\0')}) {
    EXPECT_FALSE(tickets.Find(wrong).ok());
    tickets.Revoke(wrong);
  }
  EXPECT_TRUE(tickets.Find(ticket).ok());
}

TEST(Tickets, OutputDirectoryIsTakenOnce) {
  Tickets tickets;
  std::string folder = testing::TempDir() + "ticketsXXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  base::UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  const int fd = dir.get();
  const std::string ticket = *tickets.Issue({Self(), {}, std::move(dir)});
  base::Result<PassedDir> taken = tickets.TakeOutputDir(ticket);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->fd.get(), fd);
  EXPECT_EQ(taken->sender.uid, ::getuid());
  EXPECT_EQ(tickets.TakeOutputDir(ticket).status().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(::rmdir(folder.c_str()), 0);
}

TEST(Tickets, RevokingClosesTheOutputDirectory) {
  Tickets tickets;
  base::UniqueFd dir(::open("/", O_RDONLY | O_DIRECTORY));
  const int fd = dir.get();
  const std::string ticket = *tickets.Issue({Self(), {}, std::move(dir)});
  EXPECT_GE(::fcntl(fd, F_GETFD), 0);
  tickets.Revoke(ticket);
  EXPECT_LT(::fcntl(fd, F_GETFD), 0);
}

TEST(Tickets, ManyThreadsAtOnce) {
  Tickets tickets;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&tickets, &wrong, t] {
      for (int i = 0; i < 200; ++i) {
        Caller caller;
        caller.uid = ::getuid();
        caller.pid = t * 1000 + i;
        const std::string ticket = *tickets.Issue({caller, {}, base::UniqueFd()});
        base::Result<Caller> found = tickets.Find(ticket);
        if (!found.ok() || found->pid != caller.pid) ++wrong;
        tickets.Revoke(ticket);
        if (tickets.Find(ticket).ok()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace profd::auth
