// One child process and its pipes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "harness.hpp"
#include "nsa/schemas/error.hpp"
#include "process/child.hpp"
#include "text.hpp"

using namespace nsa::tuner;
using nsa::test::contains;
using nsa::test::own_children;

namespace {

std::vector<std::string> shell(const std::string& command) { return {"/bin/sh", "-c", command}; }
TimePoint in(double s) { return Clock::now() + seconds(s); }

}  // namespace

TEST_CASE("lines come out as they were sent in", "[tuner]") {
  Child child({"cat"}, std::nullopt);
  std::string line;
  child.send("one");
  child.send("two");
  REQUIRE(child.receive(line, in(5)) == Child::Event::line);
  CHECK(line == "one");
  REQUIRE(child.receive(line, in(5)) == Child::Event::line);
  CHECK(line == "two");
  CHECK(child.receive(line, in(0.02)) == Child::Event::deadline);
  child.close_input();
  CHECK(child.receive(line, in(5)) == Child::Event::end);
  CHECK(child.wait(in(5)) == std::string("exit code 0"));
}

TEST_CASE("a child ignores none of the signals that the program does", "[tuner]") {
  const auto of_pipes = signal(SIGPIPE, SIG_IGN), of_sizes = signal(SIGXFSZ, SIG_IGN);
  Child child({"grep", "SigIgn", "/proc/self/status"}, std::nullopt);
  signal(SIGPIPE, of_pipes);
  signal(SIGXFSZ, of_sizes);
  std::string line;
  REQUIRE(child.receive(line, in(5)) == Child::Event::line);
  REQUIRE(line.starts_with("SigIgn:\t"));
  const std::uint64_t ignored = std::stoull(line.substr(8), nullptr, 16);
  for (const int number : {SIGPIPE, SIGXFSZ}) CHECK((ignored >> (number - 1) & 1) == 0);
}

TEST_CASE("what a worker's shell has started ends with us, however we end", "[tuner]") {
  int pipe_of_pids[2];
  REQUIRE(pipe(pipe_of_pids) == 0);
  const pid_t harness = fork();
  if (harness == 0) {
    Child child(shell("sleep 977 </dev/null & echo $!; sleep 978"), std::nullopt);
    std::string line;
    child.receive(line, in(5));
    line += '\n';
    [[maybe_unused]] const auto written = write(pipe_of_pids[1], line.data(), line.size());
    kill(getpid(), SIGKILL);
  }
  char text[32] = {};
  REQUIRE(read(pipe_of_pids[0], text, sizeof text - 1) > 0);
  REQUIRE(waitpid(harness, nullptr, 0) == harness);
  const std::string running = "/proc/" + std::to_string(std::atoi(text)) + "/exe";
  std::error_code gone;  // a killed process that nobody has waited for yet has no program
  const auto runs = [&] { return !std::filesystem::read_symlink(running, gone).empty(); };
  const TimePoint end = in(5);
  while (runs() && Clock::now() < end) usleep(1000);
  CHECK_FALSE(runs());
  kill(std::atoi(text), SIGKILL);
  for (const int fd : pipe_of_pids) close(fd);
}

TEST_CASE("a request larger than the pipe reaches a child that reads slowly", "[tuner]") {
  Child child(shell("sleep 0.1; cat"), std::nullopt);
  const std::string big(1 << 20, 'x');
  child.send(big);
  std::string line;
  REQUIRE(child.receive(line, in(10)) == Child::Event::line);
  CHECK(line == big);
}

TEST_CASE("a child that never reads does not block us, and one that is gone raises no signal",
          "[tuner]") {
  Child deaf(shell("sleep 10"), std::nullopt);
  deaf.send(std::string(1 << 20, 'x'));
  std::string line;
  CHECK(deaf.receive(line, in(0.1)) == Child::Event::deadline);

  Child gone(shell("exec <&-; sleep 0.2; echo late"), std::nullopt);
  gone.send("hello");
  CHECK(gone.receive(line, in(5)) == Child::Event::line);
  CHECK(line == "late");
}

TEST_CASE("output without a newline ends at the limit instead of filling the memory", "[tuner]") {
  Child child({"cat", "/dev/zero"}, std::nullopt);
  std::string line;
  CHECK(child.receive(line, in(20)) == Child::Event::too_long);
}

TEST_CASE("only the end of what stderr printed is kept", "[tuner]") {
  Child child(shell("seq 1 100000 >&2; echo done"), std::nullopt);
  std::string line;
  REQUIRE(child.receive(line, in(10)) == Child::Event::line);
  const std::string tail = child.take_errors(in(1));
  CHECK(tail.size() <= kStderrTailBytes);
  CHECK(contains(tail, "100000"));
}

TEST_CASE("how a child ended is told", "[tuner]") {
  Child exits(shell("exit 5"), std::nullopt);
  CHECK(exits.wait(in(5)) == std::string("exit code 5"));
  Child dies(shell("kill -SEGV $$"), std::nullopt);
  CHECK(contains(dies.wait(in(5)).value_or(""), "signal 11"));
  Child stays(shell("sleep 10"), std::nullopt);
  CHECK_FALSE(stays.wait(in(0.05)).has_value());
}

TEST_CASE("a program that does not exist is an error of the environment", "[tuner]") {
  CHECK_THROWS_AS(Child({"/no/such/program"}, std::nullopt), nsa::EnvironmentError);
  CHECK(own_children().empty());
}

TEST_CASE("grandchildren die with the group, and nothing is left to reap", "[tuner]") {
  std::string line;
  {
    Child child(shell("sleep 1000 & echo $!; wait"), std::nullopt);
    REQUIRE(child.receive(line, in(5)) == Child::Event::line);
  }
  CHECK(own_children().empty());
  const pid_t grandchild = static_cast<pid_t>(std::stol(line));
  const TimePoint deadline = in(5);  // init reaps it, not we
  while (kill(grandchild, 0) == 0 && Clock::now() < deadline) continue;
  CHECK(kill(grandchild, 0) != 0);
}

TEST_CASE("a descendant that left the group and the session dies with its worker", "[tuner]") {
  std::string line;
  {
    Child child(shell("setsid sh -c 'echo $$; exec sleep 1000' & wait"), std::nullopt);
    REQUIRE(child.receive(line, in(5)) == Child::Event::line);
  }
  const pid_t escaped = static_cast<pid_t>(std::stol(line));
  const TimePoint deadline = in(5);  // init reaps it, not we
  while (kill(escaped, 0) == 0 && Clock::now() < deadline) continue;
  CHECK(kill(escaped, 0) != 0);
}

TEST_CASE("a memory limit stops a child that takes more", "[tuner]") {
  const std::string take = "import sys; b = bytearray(400 << 20); print('took it')";
  std::string line;
  Child limited({"/usr/bin/env", "python3", "-c", take}, 200u << 20);
  CHECK(limited.receive(line, in(20)) == Child::Event::end);
  Child free({"/usr/bin/env", "python3", "-c", take}, std::nullopt);
  CHECK(free.receive(line, in(20)) == Child::Event::line);
}

TEST_CASE("the report of a hung process names its state and where the kernel waits", "[tuner]") {
  Child child(shell("sleep 1000; true"), std::nullopt);
  std::string report;
  // Until the shell has started its program and waits for it: the program may sleep already while
  // the shell still returns from vfork.
  const auto both_sleep = [&] {
    return contains(report, "sh, state S") && contains(report, "sleep, state S");
  };
  const TimePoint end = in(10);
  while (!both_sleep() && Clock::now() < end) report = hang_report(child);
  INFO(report);
  CHECK(contains(report, "sh, state S"));
  CHECK(contains(report, "sleep, state S"));
}

namespace {

/// The report of a process that answers the signal with `command`. It has no children, whose end
/// by the signal the shell would tell in between.
std::string report_of_answer(const std::string& command, const std::string& before = "") {
  Child child(shell(before + "trap '" + command + "' USR1; echo ready; while :; do :; done"),
              std::nullopt);
  std::string line;
  REQUIRE(child.receive(line, in(10)) == Child::Event::line);
  return hang_report(child);
}

}  // namespace

TEST_CASE("frames of a hung process are told by their symbols, other lines as they are",
          "[tuner]") {
  const std::string report = report_of_answer(
      "echo \"measuring (cold)\n./worker(_ZN3nsa5tuner5serveEv+0x1f) [0x55d0]\n"
      "/lib/libc.so.6(+0x3c050) [0x7f00]\n/opt/a(b)/worker(main+0x2) [0x55d1]\" >&2");
  INFO(report);
  CHECK(contains(report,
                 "host stack: measuring (cold) < nsa::tuner::serve() < libc.so.6+0x3c050 < main"));
}

TEST_CASE("no answer of a hung process keeps its report waiting", "[tuner]") {
  const TimePoint start = Clock::now();
  // Made before it is asked for: on a busy machine two programs may not start in the time that an
  // answer has.
  const std::string report =
      report_of_answer("echo \"$answer\" >&2", "answer=$(head -c 4000 /dev/zero | tr '\\0' '('); ");
  CHECK(contains(report, "host stack: (((("));
  CHECK(seconds_since(start) < 20);
}
