#include <csignal>
#include <random>
#include <set>

#include <poll.h>
#include <unistd.h>

#include "catch.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

constexpr int kKills = 200;
constexpr int kRows = 100000;  // more than a child can write before it is killed

/// Goes on with the open run and tells the parent, after each row, that it is stored.
int write_until_killed(const std::string& path, int acknowledge) {
  Store store = Store::open(path);
  const auto run = store.open_run(test::some_request());
  const auto finished = store.finished_jobs(run.run().id);
  for (int i = static_cast<int>(finished.size()); i < kRows; ++i) {
    if (!store.add(test::some_measurement(run.run().id, i))) return 2;  // measured twice
    if (write(acknowledge, "+", 1) != 1) return 1;
  }
  return 0;
}

/// Bytes that wait in the pipe after its writer has died.
std::int64_t drain(int fd) {
  std::int64_t total = 0;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;) total += n;
  return total;
}

}  // namespace

TEST_CASE(
    "kill -9 at 200 random instants costs at most the row in flight, and no resume repeats one",
    "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  std::mt19937 random(7);
  std::uniform_int_distribution<int> instant_us(0, 30000);
  std::int64_t stored = 0;
  std::set<std::string> runs;
  for (int k = 0; k < kKills; ++k) {
    int pipe_fds[2];
    REQUIRE(pipe(pipe_fds) == 0);
    const pid_t child = test::fork_child([&] { return write_until_killed(path, pipe_fds[1]); });
    close(pipe_fds[1]);
    // Every other child is known to be at work when it is hit; the rest are hit while they open.
    pollfd at_work{pipe_fds[0], POLLIN, 0};
    if (k % 2 == 1) REQUIRE(poll(&at_work, 1, 60000) == 1);
    usleep(static_cast<useconds_t>(instant_us(random)));
    kill(child, SIGKILL);
    REQUIRE(test::wait_for(child) == 1000 + SIGKILL);
    const std::int64_t acknowledged = drain(pipe_fds[0]);
    close(pipe_fds[0]);

    Store store = Store::open(path);
    const std::int64_t now = store.info().measurements;
    INFO("kill " << k << ": " << acknowledged << " acknowledged, " << now - stored << " stored");
    REQUIRE(now - stored >= acknowledged);
    REQUIRE(now - stored <= acknowledged + 1);
    stored = now;
    if (k % 20 == 19) REQUIRE(store.verify().empty());
    for (const Run& run : store.runs()) runs.insert(run.id);
  }
  CHECK(runs.size() == 1);     // each went on where the one before it was killed
  CHECK(stored > kKills / 4);  // the kills did meet writers at work
}
