#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "nsa/doctor/evidence.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/tuner/signals.hpp"

namespace nsa::cli {
namespace {

constexpr std::size_t kMaxLineBytes = 64 << 10;

struct Pipes {
  std::array<int, 2> output{-1, -1}, failure{-1, -1};
};

Pipes make_pipes() {
  Pipes pipes;
  if (pipe2(pipes.output.data(), O_CLOEXEC) != 0 || pipe2(pipes.failure.data(), O_CLOEXEC) != 0)
    throw EnvironmentError(std::string("cannot make a pipe: ") + strerror(errno));
  return pipes;
}

/// Between fork and exec only calls that are safe in a signal handler.
[[noreturn]] void run_command(char* const* argv, const Pipes& pipes, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  tuner::reset_signals();
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(pipes.output[1], STDOUT_FILENO);
  dup2(pipes.output[1], STDERR_FILENO);
  execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const auto written = write(pipes.failure[1], &error, sizeof error);
  _exit(127);
}

}  // namespace

DoctorChild::DoctorChild(const std::vector<std::string>& command) {
  expects(!command.empty(), "a command to start");
  const Pipes pipes = make_pipes();
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw EnvironmentError(std::string("cannot start a process: ") + strerror(errno));
  if (pid_ == 0) run_command(argv.data(), pipes, parent);
  setpgid(pid_, pid_);  // here too, so that the group exists whoever is first
  close(pipes.output[1]);
  close(pipes.failure[1]);
  int error = 0;
  const bool failed = read(pipes.failure[0], &error, sizeof error) == sizeof error;
  close(pipes.failure[0]);
  output_ = pipes.output[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
  if (!failed) return;
  waitpid(pid_, nullptr, 0);
  close(output_);
  throw InputError("cannot start " + doctor::clean(command.front()) + ": " + strerror(error));
}

DoctorChild::~DoctorChild() {
  signal_group(SIGKILL);
  if (!ended_) waitpid(pid_, nullptr, 0);
  if (output_ >= 0) close(output_);
}

void DoctorChild::signal_group(int signal) const { kill(-pid_, signal); }

void DoctorChild::pump(double seconds, const std::function<void(const std::string&)>& on_line) {
  pollfd fd{output_, POLLIN, 0};  // a closed one, -1, is left out by poll
  if (poll(&fd, 1, static_cast<int>(seconds * 1000)) > 0) read_some(on_line);
  if (ended_) return;
  look_for_end();
  if (!ended_) return;
  read_some(on_line);  // what was written last
  if (!line_.empty()) on_line(line_);
  line_.clear();
}

void DoctorChild::read_some(const std::function<void(const std::string&)>& on_line) {
  std::array<char, 64 << 10> buffer;
  while (output_ >= 0) {
    const ssize_t got = read(output_, buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      close(output_);
      output_ = -1;
      return;
    }
    for (ssize_t i = 0; i < got; ++i) {
      const char c = buffer[static_cast<std::size_t>(i)];
      if (c == '\n' || c == '\r') {  // progress bars go back to the start of their line
        if (!line_.empty()) on_line(line_);
        line_.clear();
      } else if (line_.size() < kMaxLineBytes) {
        line_ += c;
      }
    }
    if (static_cast<std::size_t>(got) < buffer.size()) return;
  }
}

void DoctorChild::look_for_end() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_ = true;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace nsa::cli
