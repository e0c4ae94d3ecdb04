#include "process/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/signals.hpp"

namespace nsa::tuner {
namespace {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    throw EnvironmentError(fmt::format("cannot make a pipe for a worker: {}", strerror(errno)));
  return {Fd(fds[0]), Fd(fds[1])};
}

void limit(__rlimit_resource resource, std::uint64_t bytes) {
  rlimit current{};
  if (getrlimit(resource, &current) != 0) return;
  const rlim_t wanted = current.rlim_max == RLIM_INFINITY
                            ? static_cast<rlim_t>(bytes)
                            : std::min(static_cast<rlim_t>(bytes), current.rlim_max);
  const rlimit value{wanted, wanted};
  setrlimit(resource, &value);
}

/// Between fork and exec only calls that are safe in a signal handler.
[[noreturn]] void run_child(char* const* argv, char* const* envp, const Pipe& in, const Pipe& out,
                            const Pipe& err, const Pipe& failure,
                            std::optional<std::uint64_t> memory_limit, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the line above
  limit(RLIMIT_CORE, 0);
  // Private writable memory, not address space: arenas and CUDA reserve far more than they use.
  if (memory_limit) limit(RLIMIT_DATA, *memory_limit);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  reset_signals();
  dup2(in.read.get(), STDIN_FILENO);
  dup2(out.write.get(), STDOUT_FILENO);
  dup2(err.write.get(), STDERR_FILENO);
  execvpe(argv[0], argv, envp);
  const int error = errno;
  [[maybe_unused]] const auto written = write(failure.write.get(), &error, sizeof error);
  _exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// errno of a failed exec, or 0: the pipe closes by itself when exec succeeds.
int exec_error(const Pipe& failure) {
  int error = 0;
  ssize_t got;
  do {
    got = read(failure.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

Spawned spawn(const std::vector<std::string>& argv, std::optional<std::uint64_t> memory_limit,
              const probes::Variables& environment) {
  expects(!argv.empty(), "a program to start");
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe(), failure = make_pipe();
  const std::vector<std::string> all_variables = probes::environment_with(environment);
  const std::vector<char*> arguments = pointers(argv), variables = pointers(all_variables);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw EnvironmentError(fmt::format("cannot start a process: {}", strerror(errno)));
  if (pid == 0)
    run_child(arguments.data(), variables.data(), in, out, err, failure, memory_limit, parent);
  setpgid(pid, pid);  // here too, so that the group exists whoever is first
  failure.write.reset();
  if (const int error = exec_error(failure)) {
    waitpid(pid, nullptr, 0);
    throw EnvironmentError(fmt::format("cannot start {}: {}", argv.front(), strerror(error)));
  }
  for (const Fd* fd : {&in.write, &out.read, &err.read}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return {pid, std::move(in.write), std::move(out.read), std::move(err.read)};
}

}  // namespace nsa::tuner
