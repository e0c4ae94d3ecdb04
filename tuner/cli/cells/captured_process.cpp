#include "captured_process.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "nsa/schemas/error.hpp"

namespace nsa::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// A file in memory that a program can write to without anybody reading along.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) throw EnvironmentError(std::string("memfd_create: ") + std::strerror(errno));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const noexcept { return fd_; }
  std::string text() const {
    std::string text(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    const ssize_t got = pread(fd_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int fd_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

pid_t start(const std::vector<std::string>& argv, const probes::Variables& variables, int out,
            int err) {
  const std::vector<std::string> environment = probes::environment_with(variables);
  const std::vector<char*> arguments = pointers(argv), envp = pointers(environment);
  const pid_t pid = fork();
  if (pid < 0) throw EnvironmentError(std::string("fork: ") + std::strerror(errno));
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvpe(arguments[0], arguments.data(), envp.data());
  dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], std::strerror(errno));
  _exit(127);
}

/// Whether it ended before the deadline, with its status.
bool wait_until(pid_t pid, Clock::time_point deadline, int& status) {
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return true;
    if (ended < 0 && errno != EINTR)
      throw EnvironmentError(std::string("waitpid: ") + std::strerror(errno));
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

Captured run_captured(const std::vector<std::string>& argv, const probes::Variables& variables,
                      double timeout_s) {
  expects(!argv.empty(), "a program to start");
  const MemoryFile out("stdout"), err("stderr");
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_s));
  const pid_t pid = start(argv, variables, out.fd(), err.fd());
  Captured captured;
  int status = 0;
  captured.timed_out = !wait_until(pid, deadline, status);
  if (captured.timed_out) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);  // it may not have its group yet
    waitpid(pid, &status, 0);
  }
  captured.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  captured.out = out.text();
  captured.err = err.text();
  return captured;
}

}  // namespace nsa::cli
