#include "process/watchdog.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "process/marked.hpp"

namespace nsa::tuner {
namespace {

/// Pipes and locks that we hold would else stay open with it. False where the kernel cannot.
bool close_all_but(int fd) {
#ifdef SYS_close_range
  const auto from = static_cast<unsigned>(fd) + 1;
  return (fd == 0 || syscall(SYS_close_range, 0u, from - 2, 0u) == 0) &&
         syscall(SYS_close_range, from, ~0u, 0u) == 0;
#else
  return false;
#endif
}

/// After a fork only calls that are safe in a signal handler.
[[noreturn]] void watch(int alive, pid_t group, const char* mark) {
  setsid();
  prctl(PR_SET_NAME, "nsatune-watch");
  if (!close_all_but(alive)) _exit(0);
  char byte = 0;
  while (read(alive, &byte, 1) < 0 && errno == EINTR) {
  }
  kill(-group, SIGKILL);
  kill_marked(mark);
  _exit(0);
}

}  // namespace

Watchdog::Watchdog(pid_t group, const std::string& mark) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return;
  alive_ = fds[1];
  pid_ = fork();
  if (pid_ == 0) watch(fds[0], group, mark.c_str());
  close(fds[0]);
}

Watchdog::~Watchdog() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (alive_ >= 0) close(alive_);
}

}  // namespace nsa::tuner
