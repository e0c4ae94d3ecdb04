// What the handler of Ctrl-C does, seen from outside: each case in a process of its own.
#include "../../tuner/cli/interrupt.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.hpp"

namespace nsa::test {
namespace {

constexpr int kWentOn = 7;

/// The exit code of a process that gets `signal` twice, `apart_ms` milliseconds between.
int exit_code_after_two(int signal, int apart_ms) {
  const pid_t child = fork();
  if (child == 0) {
    const std::atomic<bool>& stop = cli::stop_on_signals();
    raise(signal);
    usleep(static_cast<useconds_t>(apart_ms) * 1000);
    raise(signal);
    _exit(stop ? kWentOn : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a second Ctrl-C ends the program at once, one that was passed on twice does not",
          "[cli]") {
  CHECK(exit_code_after_two(SIGINT, 0) == kWentOn);  // as `timeout -s INT` does
  CHECK(exit_code_after_two(SIGINT, 500) == 130);
  CHECK(exit_code_after_two(SIGTERM, 500) == kWentOn);
}

}  // namespace nsa::test
