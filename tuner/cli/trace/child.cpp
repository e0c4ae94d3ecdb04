#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/signals.hpp"

namespace nsa::cli {
namespace {

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> child_pid{0};

/// From a process: handed on. From the terminal (the kernel): the child has got it too.
void forward(int number, siginfo_t* about, void*) {
  const int error = errno;
  const pid_t pid = child_pid.load();
  if (pid > 0 && about && about->si_code <= 0) kill(pid, number);
  errno = error;
}

/// While it lives, signals are handed on instead of ending us.
class Forwarding {
 public:
  Forwarding() {
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < kForwarded.size(); ++i)
      sigaction(kForwarded[i], &action, &before_[i]);
  }
  ~Forwarding() {
    child_pid = 0;
    for (std::size_t i = 0; i < kForwarded.size(); ++i)
      sigaction(kForwarded[i], &before_[i], nullptr);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  /// What the child gets: as if we were not there.
  void restore_in_child() const {
    for (std::size_t i = 0; i < kForwarded.size(); ++i)
      sigaction(kForwarded[i], &before_[i], nullptr);
  }

 private:
  std::array<struct sigaction, kForwarded.size()> before_{};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

int exit_code_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw EnvironmentError(std::string("waitpid: ") + std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_child(const ChildPlan& plan) {
  expects(!plan.argv.empty(), "a program to start");
  const std::vector<std::string> environment = probes::environment_with(plan.environment);
  const std::vector<char*> argv = pointers(plan.argv), envp = pointers(environment);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0)
    throw EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
  const Forwarding forwarding;
  const pid_t pid = fork();
  if (pid == 0) {
    forwarding.restore_in_child();
    tuner::end_on_failed_writes();
    if (plan.stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const auto written = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  close(failure[1]);
  child_pid = pid;
  int error = 0;
  ssize_t got = -1;
  while (pid > 0 && (got = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  close(failure[0]);
  if (pid < 0) throw EnvironmentError(std::string("cannot start a process: ") + strerror(errno));
  const int code = exit_code_of(pid);
  if (got == static_cast<ssize_t>(sizeof error))
    throw InputError(plan.argv.front() + ": cannot start it: " + std::strerror(error));
  return code;
}

}  // namespace nsa::cli
