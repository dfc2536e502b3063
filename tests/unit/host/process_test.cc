#include "daemon/host/process/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "daemon/host/process/process_image.h"
#include "tests/unit/host/harness.h"

namespace profd::host {
namespace {

// The fields after the name of a real line.
const std::string kRest =
    " S 20880 20880 11394 0 -1 4194304 126 0 1 0 0 0 0 0 20 0 3 0 269230 2990080 397 18446744073709551615 1 "
    "2 3 0 0 0 "
    "0 6 0 1 0 0 17 0 0 0 0 0 0 1 2 3 4 5 6 7 0\n";

TEST(CleanStatLine, ReadsTheFields) {
  std::string line = "20892 (sleep)" + kRest;
  const std::string before = line;
  StatFields fields;
  ASSERT_TRUE(CleanStatLine(line.data(), line.size(), &fields));
  EXPECT_EQ(line, before);
  EXPECT_EQ(fields.comm, "sleep");
  EXPECT_EQ(fields.state, 'S');
  EXPECT_EQ(fields.parent, 20880);
  EXPECT_EQ(fields.threads, 3u);
  EXPECT_EQ(fields.start_ticks, 269230u);
  EXPECT_FALSE(fields.kernel_thread);
  EXPECT_FALSE(fields.Exited());
}

TEST(CleanStatLine, KeepsAHostileNameInOneWord) {
  const std::string names[] = {"a b", ") R 1 (", "line\nbreak", "tab\there", "\x01\x7f", "M\xc3\xa4rz",
                               "((",  "",        "))))"};
  for (const std::string& name : names) {
    std::string line = "7 (";
    line.append(name).append(")").append(kRest);
    StatFields fields;
    ASSERT_TRUE(CleanStatLine(line.data(), line.size(), &fields)) << name;
    EXPECT_EQ(Words(line).size(), 52u) << line;
    EXPECT_EQ(Lines(line).size(), 1u) << line;
    EXPECT_EQ(fields.comm.size(), name.size());
    EXPECT_EQ(fields.start_ticks, 269230u) << name;
  }
}

TEST(CleanStatLine, RefusesWhatIsNoStatLine) {
  const std::string lines[] = {"",      "1",       "1 (",           "1 (a",       "1 )a(",
                               "1 (a)", "1 (a) S", "1 (a) S 1 2 3", "1 (a) S x y"};
  for (std::string line : lines) {
    StatFields fields;
    EXPECT_FALSE(CleanStatLine(line.data(), line.size(), &fields)) << line;
  }
  // Cut anywhere before the start time it is none; longer it is one.
  const std::string whole = "20892 (sleep)" + kRest;
  const size_t start_time_ends = whole.find("269230") + 6;
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string line = whole.substr(0, size);
    StatFields fields;
    const bool read = CleanStatLine(line.data(), line.size(), &fields);
    if (size >= start_time_ends) {
      EXPECT_TRUE(read) << line;
    } else if (size <= start_time_ends - 6) {
      EXPECT_FALSE(read) << line;
    }
  }
}

TEST(ProcessFacts, OfAProcessItsThreadAndItsZombie) {
  Worker worker;
  worker.Tell("name 612062");  // "a b"
  const ProcessFacts facts = ReadProcessFacts(worker.pid());
  EXPECT_TRUE(facts.exists);
  EXPECT_TRUE(ProcessExists(worker.pid()));
  EXPECT_FALSE(facts.is_thread);
  EXPECT_EQ(facts.pid, worker.pid());
  EXPECT_EQ(facts.uid, ::getuid());
  EXPECT_EQ(facts.comm, "a_b");
  EXPECT_TRUE(facts.io_readable);
  EXPECT_GE(facts.start_ticks, ReadProcessFacts(::getpid()).start_ticks);

  const pid_t tid = worker.TellForPid("thread");
  const ProcessFacts thread = ReadProcessFacts(tid);
  EXPECT_TRUE(thread.exists);
  EXPECT_TRUE(thread.is_thread);

  const pid_t child = worker.TellForPid("fork");
  EXPECT_TRUE(ProcessExists(child));
  worker.Tell("kill-child");
  EXPECT_FALSE(ProcessExists(child)) << "a zombie runs no more";
  EXPECT_FALSE(ReadProcessFacts(child).exists);
  worker.Tell("end-child");
  EXPECT_FALSE(ProcessExists(child));
}

TEST(ProcessFacts, AProcessWhoseFirstThreadHasEndedRuns) {
  Worker worker;
  worker.Tell("thread");
  worker.Tell("end-leader");
  // The leader turns into a zombie a moment after its answer.
  while (ReadFile("/proc/" + std::to_string(worker.pid()) + "/stat").find(") Z ") == std::string::npos)
    ::usleep(1000);  // between two looks: nothing tells of a leader's end
  EXPECT_TRUE(ProcessExists(worker.pid()));
  EXPECT_TRUE(ReadProcessFacts(worker.pid()).exists);
}

TEST(ProcessFacts, NobodyHasAnImpossiblePid) {
  for (const pid_t pid : {0, -1, 1 << 30}) {
    EXPECT_FALSE(ProcessExists(pid)) << pid;
    EXPECT_FALSE(ReadProcessFacts(pid).exists) << pid;
  }
}

bool HasEnded(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

TEST(StartedWith, SeesWhatAProcessHasThatBecomesOneProgramAfterTheOther) {
  int ends[2];  // closed by the first exec, until which it is this program
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const char* const script = "if [ $1 -gt 0 ]; then exec /bin/sh -c \"$2\" sh $(($1 - 1)) \"$2\"; fi";
    ::setenv("PROFD_MARK", "1", 1);
    ::execl("/bin/sh", "sh", "-c", script, "sh", "300", script, nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  char nothing;
  ASSERT_EQ(::read(ends[0], &nothing, 1), 0);
  ::close(ends[0]);
  size_t looks = 0;
  for (;; ++looks) {
    const auto found = StartedWith(pid, "PROFD_MARK");
    if (HasEnded(pid)) break;
    ASSERT_EQ(found, "1") << looks;
  }
  EXPECT_GT(looks, 3U);
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(ProcessFacts, FindsOpenDevices) {
  Worker worker;
  EXPECT_TRUE(ReadProcessFacts(worker.pid()).open_devices.empty());
  if (worker.Tell("davinci 12") != "ok") GTEST_SKIP() << "no right to mount a private /dev";
  // Twice open, once reported; davinci_manager is no device.
  EXPECT_EQ(ReadProcessFacts(worker.pid()).open_devices, std::vector<uint32_t>{12});
}

}  // namespace
}  // namespace profd::host
